/** API key (contract part 2 "API key", part 5): what a client writes, and what it reads. */
import { Type, type Static } from 'typebox';
import { IMPORTED_CHARS_MAX, IMPORTED_CHARS_MIN } from '../../model/imported-token.ts';
import { B64_TOKEN_PATTERN, SHA256_HEX_PATTERN } from '../../model/patterns.ts';
import { closed, dateTime, nullable } from '../../model/schema-pieces.ts';
import { ScopesSchema } from '../../policy/parts/scopes/schema.ts';
import { displayName, id, NamedRateLimitSchema, recordFields } from './common.ts';

/** Limit of the time that a rotated value stays valid: 30 days. */
const ROTATION_OVERLAP_SECS_MAX = 2_592_000;

const name = displayName('Name of the key, for people.');
const isActive = Type.Boolean({
  default: true,
  description: 'Whether the key is accepted. A disabled key is refused like an unknown one.',
});
const expiresAt = nullable(dateTime('When the key stops working. null: never.'));
const rateLimit = nullable(NamedRateLimitSchema);

export const ApiKeyInputSchema = Type.Object(
  {
    name,
    scopes: Type.Optional(ScopesSchema),
    is_active: Type.Optional(isActive),
    expires_at: Type.Optional(expiresAt),
    rate_limit: Type.Optional(rateLimit),
  },
  { ...closed, title: 'TokenInput' },
);
export type ApiKeyInput = Static<typeof ApiKeyInputSchema>;

const importedToken = Type.String({
  minLength: IMPORTED_CHARS_MIN,
  maxLength: IMPORTED_CHARS_MAX,
  pattern: B64_TOKEN_PATTERN,
  writeOnly: true,
  description:
    'An existing value for the key, from another system, with at least 128 random bits. Needs the role `admin`. Without this field, the gateway generates a value.',
});

/** The fields of a creation; an existing key gets new values only by rotation. */
export const ApiKeyCreationSchema = Type.Object(
  { ...ApiKeyInputSchema.properties, token: Type.Optional(importedToken) },
  { ...closed, title: 'TokenCreation' },
);
export type ApiKeyCreation = Static<typeof ApiKeyCreationSchema>;

/** Longest reference to a value. */
const REFERENCE_CHARS_MAX = 1_024;

/** The value of a key in a declared configuration: by reference, or as its hash. */
export const DeclaredKeyValueSchema = Type.Object(
  {
    // No pattern: editors check files that contain a reference here. `importedTokenError` checks the value.
    token: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: REFERENCE_CHARS_MAX,
        writeOnly: true,
        description:
          'An existing value for the key, as a reference such as `${env:MOBILE_KEY}`. Needs the role `admin` at the management API.',
      }),
    ),
    token_sha256: Type.Optional(
      Type.String({
        pattern: SHA256_HEX_PATTERN,
        writeOnly: true,
        description:
          'SHA-256 of an existing value with at least 128 random bits, as 64 lower-case hexadecimal digits, in place of `token`. Needs the role `admin` at the management API.',
      }),
    ),
  },
  closed,
);
export type DeclaredKeyValue = Static<typeof DeclaredKeyValueSchema>;

const servedFields = {
  ...recordFields,
  app_id: id('Id of the app that the key gives access to.'),
  name,
  scopes: ScopesSchema,
  token_prefix: Type.String({
    readOnly: true,
    description:
      'Start of the token, by which it can be recognised. For a value from another system: the start of its SHA-256.',
  }),
  is_active: isActive,
  expires_at: expiresAt,
  previous_expires_at: nullable(
    dateTime(
      'End of the time in which the value before the last rotation is also accepted. null: it is not accepted.',
    ),
  ),
  last_used_at: nullable(
    dateTime('Time of the last request that was accepted with the key. Updated within a few seconds.'),
  ),
  rate_limit: rateLimit,
};

export const ApiKeySchema = Type.Object(servedFields, { ...closed, title: 'Token' });

export const CreatedApiKeySchema = Type.Object(
  { ...servedFields, token: Type.String({ description: 'The key itself. It is shown only once.' }) },
  { ...closed, title: 'CreatedToken' },
);

export const RotateInputSchema = Type.Object(
  {
    overlap_secs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: ROTATION_OVERLAP_SECS_MAX,
        default: 0,
        description: 'Seconds for which the old value stays valid.',
      }),
    ),
  },
  { ...closed, title: 'RotateInput' },
);
export type RotateInput = Static<typeof RotateInputSchema>;
