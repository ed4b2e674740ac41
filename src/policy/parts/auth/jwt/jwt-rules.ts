/**
 * Rules of the `auth.jwt` settings: one source of keys, algorithms of that source's kind only (RFC 8725 sections
 * 3.1 and 3.2), public keys that can be imported, and header names that a claim may be written to.
 */
import { createPublicKey } from 'node:crypto';
import { foldedName } from '../../../../lib/folded-name.ts';
import { escapeToken } from '../../../../lib/text/json-pointer.ts';
import type { FieldError } from '../../../../model/errors.ts';
import type { JwtSettings } from '../schema.ts';
import { rsaWeakness } from './rsa-weakness.ts';

/** RFC 7518 section 3.2: an HMAC key is at least as long as its hash. */
const SECRET_BYTES_MIN: Readonly<Record<string, number>> = { HS256: 32, HS384: 48, HS512: 64 };
const CURVES = ['P-256', 'P-384', 'P-521', 'Ed25519'] as const;
/** RFC 7518 section 6: of elliptic curve, RSA and symmetric keys. */
export const PRIVATE_JWK_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'] as const;

/** Names of request fields that carry framing, routing or credentials; a claim must not be written to them. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'content-encoding',
  'cookie',
  'date',
  'expect',
  'client-cert',
  'client-cert-chain',
  'deprecation',
  'forwarded',
  'host',
  'keep-alive',
  'origin',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'server',
  'sunset',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'x-real-ip',
  'x-request-id',
  'traceparent',
  'tracestate',
]);
const RESERVED_PREFIXES = [
  'x-headgate-',
  'x-forwarded-',
  'access-control-',
  'ratelimit',
  'x-ratelimit',
  'sec-',
] as const;

export function isSymmetric(algorithm: string): boolean {
  return algorithm.startsWith('HS');
}

/** True for names that `claims_to_headers` must not use, including names that a server could read as one of them. */
export function isReservedHeader(name: string): boolean {
  const normal = foldedName(name);
  return RESERVED_HEADERS.has(normal) || RESERVED_PREFIXES.some((prefix) => normal.startsWith(prefix));
}

/** @param pointer RFC 6901 pointer of the settings, e.g. `/default_policy/auth/jwt` */
export function jwtSettingsErrors(jwt: JwtSettings, pointer: string): FieldError[] {
  return [...sourceErrors(jwt, pointer), ...jwksErrors(jwt, pointer), ...headerErrors(jwt, pointer)];
}

function sourceErrors(jwt: JwtSettings, pointer: string): FieldError[] {
  const errors: FieldError[] = [];
  const sources = (['jwks_uri', 'jwks', 'secret'] as const).filter((name) => jwt[name] !== undefined);
  for (const name of sources.slice(1)) {
    errors.push({ pointer: `${pointer}/${name}`, detail: `cannot be combined with ${sources[0]}` });
  }
  const url = jwt.jwks_uri === undefined ? undefined : URL.parse(jwt.jwks_uri);
  if (url === null || (url !== undefined && (url.username !== '' || url.password !== ''))) {
    errors.push({ pointer: `${pointer}/jwks_uri`, detail: 'must be a URL without user name and password' });
  }
  const algorithms: readonly string[] = jwt.algorithms ?? [];
  const symmetric = algorithms.filter(isSymmetric);
  const usesSecret = sources.length === 0 ? symmetric.length > 0 : sources[0] === 'secret';
  algorithms.forEach((algorithm, index) => {
    if (isSymmetric(algorithm) === usesSecret) return;
    const kind = usesSecret ? 'a shared secret' : 'public keys';
    const detail = `"${algorithm}" cannot be used with ${kind}: symmetric and asymmetric keys cannot be mixed`;
    errors.push({ pointer: `${pointer}/algorithms/${index}`, detail });
  });
  if (jwt.secret === undefined) return errors;
  const secretBytesMin = Math.max(32, ...symmetric.map((algorithm) => SECRET_BYTES_MIN[algorithm] ?? 32));
  if (Buffer.byteLength(jwt.secret, 'utf8') < secretBytesMin) {
    errors.push({
      pointer: `${pointer}/secret`,
      detail: `must have at least ${secretBytesMin} bytes for the algorithms in use`,
    });
  }
  return errors;
}

function jwksErrors(jwt: JwtSettings, pointer: string): FieldError[] {
  const errors: FieldError[] = [];
  jwt.jwks?.keys.forEach((key, index) => {
    const detail = publicKeyError(key);
    if (detail !== undefined) errors.push({ pointer: `${pointer}/jwks/keys/${index}`, detail });
  });
  return errors;
}

/** Why a JWK (RFC 7517) cannot verify signatures, or undefined when it can. */
function publicKeyError(jwk: Readonly<Record<string, unknown>>): string | undefined {
  const secret = PRIVATE_JWK_MEMBERS.find((member) => Object.hasOwn(jwk, member));
  if (secret !== undefined) return `must be a public key, but it has the private member "${secret}"`;
  if (jwk['use'] !== undefined && jwk['use'] !== 'sig') return 'must have "use" absent or "sig"';
  if (jwk['kid'] !== undefined && typeof jwk['kid'] !== 'string') return 'must have a string as "kid"';
  try {
    createPublicKey({ key: jwk, format: 'jwk' });
    if (!fitsAlgorithm(jwk)) return 'is of a kind that none of the algorithms can use';
    return rsaWeakness(jwk);
  } catch {
    return 'is not a public key of a known type (RSA, EC or OKP)';
  }
}

/** RSA for RS and PS, the curves of ES256, ES384 and ES512, and Ed25519 for EdDSA (Ed448 and the rest are not). */
function fitsAlgorithm({ kty, crv }: Readonly<Record<string, unknown>>): boolean {
  return kty === 'RSA' || CURVES.some((curve) => curve === crv);
}

function headerErrors(jwt: JwtSettings, pointer: string): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [claim, header] of Object.entries(jwt.claims_to_headers ?? {})) {
    const at = `${pointer}/claims_to_headers/${escapeToken(claim)}`;
    const normal = foldedName(header);
    if (isReservedHeader(header)) {
      errors.push({ pointer: at, detail: `cannot use the header "${header}": the gateway manages it` });
    } else if (seen.has(normal)) {
      errors.push({ pointer: at, detail: `cannot use the header "${header}": another claim already does` });
    }
    seen.add(normal);
  }
  return errors;
}
