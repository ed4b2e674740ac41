/**
 * Finds RSA public keys (JWKs, RFC 7517) that must not be trusted, since others can sign for them: too short, with an
 * exponent that does not hide the message, or with factors of a known weak form. Pure; the time grows with the key's
 * length.
 *
 * ROCA (CVE-2017-15361): a library of Infineon made primes of the form k * M + (65537^a mod M), where M is a product of
 * small primes. The modulus of such a key is a power of 65537 modulo every one of these primes, which is true for about
 * one in some hundred million other keys. Nemec et al., "The Return of Coppersmith's Attack", 2017, section 5.1.
 */

/** RFC 7518 section 3.3. */
const RSA_BITS_MIN = 2048;
/** OpenSSL verifies with no longer key. */
const RSA_BITS_MAX = 16_384;
const ROCA_GENERATOR = 65_537;
const ROCA_PRIMES_MAX = 167;
/** The powers of the generator, by prime. */
const ROCA_RESIDUES: readonly (readonly [prime: bigint, powers: ReadonlySet<number>])[] = oddPrimes().map(
  (prime) => [BigInt(prime), powersModulo(prime)],
);

/** Why the key is weak, as the end of a sentence about it; undefined if it is not weak or not an RSA key. */
export function rsaWeakness({ kty, n, e }: Readonly<Record<string, unknown>>): string | undefined {
  if (kty !== 'RSA' || typeof n !== 'string' || typeof e !== 'string') return undefined;
  const modulus = integerOf(n);
  const exponent = integerOf(e);
  if (modulus === undefined || exponent === undefined) return `must have at most ${RSA_BITS_MAX} bits`;
  const bits = modulus.toString(2).length;
  if (bits < RSA_BITS_MIN) return `must have at least ${RSA_BITS_MIN} bits, it has ${bits}`;
  if (exponent < 3n || exponent % 2n === 0n) return 'must have an odd exponent of 3 or more';
  if (modulus % 2n === 0n || isRoca(modulus))
    return 'has weak factors (ROCA, CVE-2017-15361): make a new key';
  return undefined;
}

function isRoca(modulus: bigint): boolean {
  return ROCA_RESIDUES.every(([prime, powers]) => powers.has(Number(modulus % prime)));
}

/** undefined if it has more than `RSA_BITS_MAX` bits. */
function integerOf(base64url: string): bigint | undefined {
  if (base64url.length > RSA_BITS_MAX / 4) return undefined;
  const hex = Buffer.from(base64url, 'base64url').toString('hex');
  const value = hex === '' ? 0n : BigInt(`0x${hex}`);
  return value >> BigInt(RSA_BITS_MAX) === 0n ? value : undefined;
}

function oddPrimes(): number[] {
  const primes: number[] = [];
  for (let candidate = 3; candidate <= ROCA_PRIMES_MAX; candidate += 2)
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  return primes;
}

function powersModulo(prime: number): ReadonlySet<number> {
  const powers = new Set<number>();
  for (let power = 1; !powers.has(power); power = (power * ROCA_GENERATOR) % prime) powers.add(power);
  return powers;
}
