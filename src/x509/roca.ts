/**
 * ROCA (CVE-2017-15361): a library of Infineon made primes of the form k * M + (65537^a mod M), where M is a product of
 * small primes. The modulus of such a key is a power of 65537 modulo every one of these primes, which is true for about
 * one in some hundred million other keys. Nemec et al., "The Return of Coppersmith's Attack", 2017, section 5.1. Pure.
 */

const GENERATOR = 65_537;
const PRIMES_MAX = 167;
/** The powers of 65537 modulo each prime. */
const RESIDUES: readonly (readonly [prime: bigint, powers: ReadonlySet<number>])[] = oddPrimes().map(
  (prime) => [BigInt(prime), powersModulo(prime)],
);
const PRODUCT = RESIDUES.reduce((product, [prime]) => product * prime, 1n);

/** Whether the modulus of an RSA key has the mark of ROCA, and so can be factored; the time grows with its length. */
export function hasRocaMark(modulus: bigint): boolean {
  // One long division in place of one for each prime: key sets of 500 keys are read between requests.
  const rest = modulus % PRODUCT;
  return RESIDUES.every(([prime, powers]) => powers.has(Number(rest % prime)));
}

function oddPrimes(): number[] {
  const primes: number[] = [];
  for (let candidate = 3; candidate <= PRIMES_MAX; candidate += 2)
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  return primes;
}

function powersModulo(prime: number): ReadonlySet<number> {
  const powers = new Set<number>();
  for (let power = 1; !powers.has(power); power = (power * GENERATOR) % prime) powers.add(power);
  return powers;
}
