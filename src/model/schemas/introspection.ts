/** What `POST /api/v1/tokens/introspect` takes and answers. Member names are RFC 7662's where it has them. */
import { Type, type Static } from 'typebox';
import { nullable } from '../policy.ts';
import { ApiKeySchema } from './api-key.ts';
import { closed, dateTime } from './common.ts';

/** Longer texts are taken, so that whatever was found in a log can be asked about, but they are no tokens. */
export const INTROSPECTED_TOKEN_CHARS_MAX = 512;

export const IntrospectInputSchema = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: 65_536, description: 'The value to look up.' }) },
  { ...closed, title: 'TokenIntrospectionInput' },
);
export type IntrospectInput = Static<typeof IntrospectInputSchema>;

/**
 * `malformed`: nothing that a key could have as its value, or one of the gateway's own form whose checksum does not fit,
 * so that it was mistyped or cut off; `unknown`: well formed, and no key of this gateway (any more); `replaced`: rotated out, the overlap is over.
 */
export const INACTIVE_REASONS = ['malformed', 'unknown', 'disabled', 'expired', 'replaced'] as const;
export type InactiveReason = (typeof INACTIVE_REASONS)[number];

const known = {
  is_current_value: Type.Boolean({ description: 'False for the value before the last rotation.' }),
  valid_until: nullable(
    dateTime('When this value stops working: the expiry, or the end of the overlap; null: never.'),
  ),
  app_slug: Type.String({ description: 'Of the app that the token opens.' }),
  app_name: Type.String(),
  ...ApiKeySchema.properties,
};

export const IntrospectionSchema = Type.Object(
  {
    active: Type.Boolean({ description: 'Whether a request with the value is let in at this moment.' }),
    reason: nullable(
      Type.Union(
        INACTIVE_REASONS.map((reason) => Type.Literal(reason)),
        { title: 'TokenInactiveReason', description: 'Why it is not active.' },
      ),
    ),
    ...Type.Partial(Type.Object(known)).properties,
  },
  {
    ...closed,
    title: 'TokenIntrospection',
    description: 'A value that is no token of this gateway has `active` and `reason` only.',
  },
);
