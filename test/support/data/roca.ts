/**
 * A modulus with the mark of ROCA (CVE-2017-15361); not the product of two primes, which no check of the mark needs.
 */

/** @returns base64url, 2048 bits */
export function rocaModulus(): string {
  let product = 2n;
  for (let candidate = 3n; candidate <= 167n; candidate += 2n) if (isPrime(candidate)) product *= candidate;
  let power = 1n;
  for (let exponent = 0; exponent < 12_345; exponent++) power = (power * 65_537n) % product;
  const modulus = power + product * ((1n << 2047n) / product + 1n);
  return Buffer.from(modulus.toString(16).padStart(512, '0'), 'hex').toString('base64url');
}

function isPrime(candidate: bigint): boolean {
  for (let divisor = 3n; divisor * divisor <= candidate; divisor += 2n)
    if (candidate % divisor === 0n) return false;
  return true;
}
