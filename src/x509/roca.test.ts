/** Against a slow twin, which divides the whole modulus by each prime. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { rocaModulus } from '../../test/support/data/roca.ts';
import { hasRocaMark } from './roca.ts';

const PRIMES = [
  3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
].concat([101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167]);
const POWERS = new Map(
  PRIMES.map((prime) => {
    const powers = new Set<bigint>();
    for (let power = 1n; !powers.has(power); power = (power * 65_537n) % BigInt(prime)) powers.add(power);
    return [BigInt(prime), powers] as const;
  }),
);
const slowTwin = (modulus: bigint): boolean =>
  [...POWERS].every(([prime, powers]) => powers.has(modulus % prime));

const numberOf = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`);
const withMark = numberOf(Buffer.from(rocaModulus(), 'base64url'));
/** Has the mark for all primes but the last, so that all of them are looked at. */
const nearly = (bits: number): bigint => {
  const product = PRIMES.slice(0, -1).reduce((product, prime) => product * BigInt(prime), 1n);
  const others = (1n << BigInt(bits - 1)) / product;
  const candidates = Array.from({ length: 500 }, (_, index) => (others + BigInt(index)) * product + 1n);
  return candidates.find((each) => !slowTwin(each)) ?? 0n;
};

describe('hasRocaMark', () => {
  it('agrees with the slow twin on numbers with the mark, nearly with it, and random ones', () => {
    expect(hasRocaMark(withMark)).toBe(true);
    expect(hasRocaMark(nearly(2048))).toBe(false);
    for (let round = 0; round < 2_000; round++) {
      // Short numbers have the mark now and then.
      const modulus = round % 2 === 0 ? numberOf(randomBytes(256)) : BigInt(round);
      expect(hasRocaMark(modulus), String(modulus)).toBe(slowTwin(modulus));
    }
  });

  it('of a long key takes much less time than a division by each prime', () => {
    const modulus = nearly(8192);
    const fastest = (check: (modulus: bigint) => boolean): number =>
      Math.min(
        ...Array.from({ length: 30 }, () => {
          const startMs = performance.now();
          for (let times = 0; times < 20; times++) check(modulus);
          return performance.now() - startMs;
        }),
      );
    fastest(hasRocaMark);
    expect(fastest(hasRocaMark) * 3).toBeLessThan(fastest(slowTwin));
  });
});
