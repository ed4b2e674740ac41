/** Schema of the policy part `auth`, and its type. */
import { Type, type Static } from 'typebox';
import { JWT_ALGORITHMS } from '../../../model/auth/jwt-algorithms.ts';
import { HTTP_URL_PATTERN, TOKEN_PATTERN } from '../../../model/patterns.ts';
import { closed, oneOf } from '../../../model/schema-pieces.ts';
import { MtlsSettingsSchema } from './mtls/mtls-schema.ts';

/** As many as the fields that a request has at most by default. */
const CLAIM_HEADERS_MAX = 100;

const JwtSettingsSchema = Type.Object(
  {
    issuer: Type.Optional(
      Type.String({ minLength: 1, maxLength: 2048, description: 'The `iss` that a token must have.' }),
    ),
    audiences: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), {
        maxItems: 50,
        description: 'A token must have one of these in `aud`.',
      }),
    ),
    jwks_uri: Type.Optional(
      Type.String({
        format: 'uri',
        pattern: HTTP_URL_PATTERN,
        maxLength: 2048,
        description: 'URL from which the gateway fetches the public keys (RFC 7517).',
      }),
    ),
    jwks: Type.Optional(
      Type.Object(
        { keys: Type.Array(Type.Record(Type.String(), Type.Unknown()), { maxItems: 100 }) },
        { ...closed, description: 'The public keys themselves (RFC 7517).' },
      ),
    ),
    secret: Type.Optional(
      Type.String({
        minLength: 32,
        maxLength: 4096,
        writeOnly: true,
        description: 'The key of HMAC signatures. Served as `********`, stored encrypted.',
      }),
    ),
    algorithms: Type.Optional(
      Type.Array(oneOf(JWT_ALGORITHMS), {
        minItems: 1,
        uniqueItems: true,
        description:
          'Algorithms that a token may use. Default: all asymmetric ones for public keys, HS256 for a secret.',
      }),
    ),
    leeway_secs: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 600, description: 'Tolerance for `exp` and `nbf`.' }),
    ),
    claims_to_headers: Type.Optional(
      Type.Record(
        Type.String({ minLength: 1, maxLength: 256 }),
        Type.String({ pattern: TOKEN_PATTERN, maxLength: 256 }),
        {
          maxProperties: CLAIM_HEADERS_MAX,
          description:
            'Claims, each with the request header that carries it to the backend. Clients cannot send these headers.',
        },
      ),
    ),
  },
  {
    ...closed,
    description: 'How a JWT is verified. Fields that are left out come from `GATEWAY_JWT__*`.',
  },
);

export const AuthSchema = Type.Object(
  {
    auth_type: oneOf(['api_key', 'jwt', 'mtls', 'none'], {
      description: 'The kind of credential; `mtls` is a client certificate.',
    }),
    required: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'False: a request without a valid credential passes as anonymous.',
      }),
    ),
    required_claims: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
        maxItems: 50,
        uniqueItems: true,
        description: 'Claims that a JWT must have and that are not null (403).',
      }),
    ),
    in: Type.Optional(
      Type.String({
        pattern: TOKEN_PATTERN,
        maxLength: 256,
        default: 'Authorization',
        description:
          'Request header that carries the credential. In `Authorization` the credential follows `Bearer`; any other header contains only the token.',
      }),
    ),
    forward_credentials: Type.Optional(
      Type.Boolean({
        description:
          'Whether the backend gets the credential. Default: false for an API key, true for a verified JWT.',
      }),
    ),
    jwt: Type.Optional(JwtSettingsSchema),
    mtls: Type.Optional(MtlsSettingsSchema),
  },
  { ...closed, description: 'Which callers are allowed, and how they authenticate.' },
);

export type AuthPolicy = Static<typeof AuthSchema>;
export type JwtSettings = Static<typeof JwtSettingsSchema>;
