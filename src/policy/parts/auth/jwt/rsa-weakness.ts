/**
 * Finds RSA public keys (JWKs, RFC 7517) that must not be trusted, since others can sign for them: too short, with an
 * exponent that does not hide the message, or with factors of a known weak form. Pure; the time grows with the key's
 * length.
 */
import { hasRocaMark } from '../../../../x509/roca.ts';

/** RFC 7518 section 3.3. */
const RSA_BITS_MIN = 2048;
/** OpenSSL verifies with no longer key. */
const RSA_BITS_MAX = 16_384;

/** Why the key is weak, as the end of a sentence about it; undefined if it is not weak or not an RSA key. */
export function rsaWeakness({ kty, n, e }: Readonly<Record<string, unknown>>): string | undefined {
  if (kty !== 'RSA' || typeof n !== 'string' || typeof e !== 'string') return undefined;
  const modulus = integerOf(n);
  const exponent = integerOf(e);
  if (modulus === undefined || exponent === undefined) return `must have at most ${RSA_BITS_MAX} bits`;
  const bits = modulus.toString(2).length;
  if (bits < RSA_BITS_MIN) return `must have at least ${RSA_BITS_MIN} bits, it has ${bits}`;
  if (exponent < 3n || exponent % 2n === 0n) return 'must have an odd exponent of 3 or more';
  if (modulus % 2n === 0n || hasRocaMark(modulus))
    return 'has weak factors (ROCA, CVE-2017-15361): make a new key';
  return undefined;
}

/** undefined if it has more than `RSA_BITS_MAX` bits. */
function integerOf(base64url: string): bigint | undefined {
  if (base64url.length > RSA_BITS_MAX / 4) return undefined;
  const hex = Buffer.from(base64url, 'base64url').toString('hex');
  const value = hex === '' ? 0n : BigInt(`0x${hex}`);
  return value >> BigInt(RSA_BITS_MAX) === 0n ? value : undefined;
}
