/**
 * Finds RSA public keys (JWKs, RFC 7517) that must not be used. Others can sign for some: too short, with an exponent
 * that does not hide the message, or with factors of a known weak form. With others a signature takes up to a hundred
 * times longer to verify, and every client of one app may send a token that is verified with all of its keys, on
 * threads that all apps share. Pure; the time grows with the key's length.
 */
import { hasRocaMark } from '../../../../x509/roca.ts';

/** RFC 7518 section 3.3. */
const RSA_BITS_MIN = 2048;
/** The same as for certificates. With 16,384 bits OpenSSL takes four times as long. */
const RSA_BITS_MAX = 8192;
/** The time grows with these, too. Nearly all keys have the exponent 65537; BoringSSL takes no longer one either. */
const EXPONENT_BITS_MAX = 33;

/** Why the key is not used, as the end of a sentence about it; undefined if it may be used or is not an RSA key. */
export function rsaWeakness({ kty, n, e }: Readonly<Record<string, unknown>>): string | undefined {
  if (kty !== 'RSA' || typeof n !== 'string' || typeof e !== 'string') return undefined;
  const modulus = integerOf(n);
  const exponent = integerOf(e);
  if (modulus === undefined || exponent === undefined) return `must have at most ${RSA_BITS_MAX} bits`;
  if (exponent >> BigInt(EXPONENT_BITS_MAX) !== 0n)
    return `must have an exponent of at most ${EXPONENT_BITS_MAX} bits; 65537 is usual`;
  if (modulus >> BigInt(RSA_BITS_MIN - 1) === 0n)
    return `must have at least ${RSA_BITS_MIN} bits, it has ${modulus.toString(2).length}`;
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
