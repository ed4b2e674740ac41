/** Settings of JWTs: defaults for fields that a policy leaves out. */
import { JWT_ALGORITHMS, type JwtAlgorithm } from '../../model/auth/jwt-algorithms.ts';
import { integer, list, text, url, type Parsed, type Setting } from '../settings-values.ts';

const anyText = (value: string): Parsed<string> => ({ value });

function algorithm(name: string): Parsed<JwtAlgorithm> {
  const found = JWT_ALGORITHMS.find((candidate) => candidate === name);
  return found === undefined
    ? { expected: `names from ${JWT_ALGORITHMS.join(', ')}, separated by commas` }
    : { value: found };
}

export const JWT_SETTINGS = {
  GATEWAY_JWT__ISSUER: text('text', {
    default: undefined,
    description: 'Required `iss` of a JWT, where the policy does not set it.',
  }),
  GATEWAY_JWT__AUDIENCES: list('texts, comma-separated', anyText, {
    default: [],
    defaultText: 'any',
    description: 'Accepted values of `aud` of a JWT, where the policy does not set it.',
  }),
  GATEWAY_JWT__JWKS_URI: url(['https:', 'http:'], {
    default: undefined,
    description: 'URL of the public keys for JWTs, where the policy has no keys.',
  }),
  GATEWAY_JWT__SECRET: text('text', {
    default: undefined,
    secret: true,
    description:
      'Shared secret for JWTs (HS256, HS384, HS512), where the policy has no keys: 32 to 4096 characters. It cannot be combined with `GATEWAY_JWT__JWKS_URI`.',
    pattern: /^[^]{32,4096}$/,
    expected: '32 to 4096 characters',
  }),
  GATEWAY_JWT__ALGORITHMS: list('names, comma-separated', algorithm, {
    default: [],
    defaultText: 'all that fit the kind of key',
    description: 'Accepted signature algorithms, where the policy does not set it. The token never chooses.',
  }),
  GATEWAY_JWT__LEEWAY_SECS: integer(
    { min: 0, max: 600 },
    {
      default: 30,
      description: 'Tolerance for `exp` and `nbf` in seconds, where the policy does not set it.',
    },
  ),
} as const satisfies Record<string, Setting<unknown>>;
