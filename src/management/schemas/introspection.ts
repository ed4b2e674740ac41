/** The body and the answer of `POST /api/v1/tokens/introspect`. Member names are RFC 7662's if it defines them. */
import { Type, type Static } from 'typebox';
import { closed, dateTime, nullable, oneOf } from '../../model/schema-pieces.ts';
import { ApiKeySchema } from './api-key.ts';

/** A longer text is accepted, so that text from a log can be checked, but it is never a token. */
export const INTROSPECTED_TOKEN_CHARS_MAX = 512;

export const IntrospectInputSchema = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: 65_536, description: 'The value to look up.' }) },
  { ...closed, title: 'TokenIntrospectionInput' },
);
export type IntrospectInput = Static<typeof IntrospectInputSchema>;

/**
 * `malformed`: the text cannot be the value of a key, or its checksum is wrong (mistyped or cut off); `unknown`: well
 * formed, but not a key of this gateway; `replaced`: it was rotated, and the overlap is over.
 */
const INACTIVE_REASONS = ['malformed', 'unknown', 'disabled', 'expired', 'replaced'] as const;
export type InactiveReason = (typeof INACTIVE_REASONS)[number];

const known = {
  is_current_value: Type.Boolean({ description: 'False for the value before the last rotation.' }),
  valid_until: nullable(
    dateTime(
      'When this value stops working: its expiry, or the end of the overlap after a rotation. null: never.',
    ),
  ),
  app_slug: Type.String({ description: 'Slug of the app that the token gives access to.' }),
  app_name: Type.String({ description: 'Name of the app that the token gives access to.' }),
  ...ApiKeySchema.properties,
};

export const IntrospectionSchema = Type.Object(
  {
    active: Type.Boolean({ description: 'Whether a request with the value would be accepted now.' }),
    reason: nullable(
      oneOf(INACTIVE_REASONS, {
        title: 'TokenInactiveReason',
        description: 'Why the value is not active. null: it is active.',
      }),
    ),
    ...Type.Partial(Type.Object(known)).properties,
  },
  {
    ...closed,
    title: 'TokenIntrospection',
    description: 'For a value that is not a token of this gateway: `active` and `reason` only.',
  },
);
