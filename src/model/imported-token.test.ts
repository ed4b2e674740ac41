import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  IMPORTED_CHARS_MAX,
  importedDisplayPrefix,
  importedTokenError,
  mayBeImported,
} from './imported-token.ts';
import { API_KEY_PREFIX, createToken, hasValidChecksum, tokenHash } from './token.ts';

/** 26 characters; the last one is partly padding. */
const base32 = (value: Buffer): string =>
  BigInt(`0x${value.toString('hex')}00`)
    .toString(32)
    .padStart(27, '0')
    .slice(0, 26);
const drawn = createToken(API_KEY_PREFIX, randomBytes(32));

describe('an imported key value', () => {
  it.each([
    ['32 hexadecimal digits', '9f86d081884c7d659a2feaa0c55ad015'],
    ['the same in upper case', '9F86D081884C7D659A2FEAA0C55AD015'],
    ['22 characters of base64url', 'q5DzPHUhfKo_mrW3uT0-xA'],
    ['base64 with its padding', 'q5DzPHUhfKo/mrW3uT0+xA=='],
    ['base32', 'QWX3JZ7KD2LMPV5RTA4ECHNY6S'],
    ['a prefix and base62', 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'],
    ['hexadecimal digits in groups', '9f86-d081-884c-7d65-9a2f-eaa0-c55a-d015'],
    ['the longest value', randomBytes(150).toString('base64url')],
    ['a key of another Headgate', drawn],
  ])('accepts %s', (_name, token) => {
    expect(importedTokenError(token)).toBeUndefined();
  });

  it.each([
    ['is short', 'q5DzPHUhfKo_mrW3uT0-x', 'must have 22 to 200 characters'],
    ['is empty', '', 'must have 22 to 200 characters'],
    ['is too long', randomBytes(151).toString('base64url'), 'must have 22 to 200 characters'],
    ['has a space', 'q5DzPHUhfKo_mrW3uT0 -xA', 'must contain only letters'],
    ['has a comma', 'q5DzPHUhfKo_mrW3uT0,-xA', 'must contain only letters'],
    ['has padding in the middle', 'q5DzPHUhfKo=mrW3uT0xAbcQ', 'must contain only letters'],
    ['is not ASCII', 'q5DzPHUhfKo_mrW3uT0-xÄ', 'must contain only letters'],
    [
      'has too few hexadecimal digits',
      '9f86d081884c7d659a2feaa0c55ad01',
      '31 such characters have at most 124',
    ],
    ['has too few characters of base36', 'q5dzphuhfko7mrw3ut04xa91', '24 such characters have at most 124'],
    ['counts its padding in', '9f86d081884c7d659a2feaa0c55ad01==', '31 such characters have at most 124'],
    ['is a UUID', '3f2b8c1e-7a94-4d05-b6e1-90c2ad47f8b3', 'a UUID has at most 122'],
    ['consists of digits only', '7305918264028374659182736450918273645', 'only one kind'],
    ['consists of lower case only', 'correcthorsebatterystaplecorrect', 'only one kind'],
    ['is one character', `${'a'.repeat(40)}1A`, 'repeats itself'],
    ['repeats a word', 'Passw0rdPassw0rdPassw0rdPassw0rd', 'repeats itself'],
    ['repeats its half', '9f86d081884c7d659f86d081884c7d65', 'repeats itself'],
    ['counts up', '0123456789abcdefghijABCDEFGHIJKL', 'repeats itself'],
    ['counts down', '9876543210zyxwvutsrqponmlkjihgfe', 'repeats itself'],
    ['has few different characters', '0a10aa01a0aa0110a1a010aa10a01a010a1', 'repeats itself'],
    ['looks like an admin token', `hga_${drawn.slice(4)}`, 'must not start with "hga_"'],
    ['is a mistyped key', drawn.slice(0, -1) + (drawn.endsWith('A') ? 'B' : 'A'), 'checksum is wrong'],
    ['begins like a key', `hgk_${randomBytes(40).toString('base64url')}`, 'must not start with "hgk_"'],
    ['is a JWT', 'eyJhbGciOiJIUzI1NiJ9.e30.q5DzPHUhfKo_mrW3uT0-xA', 'form of a JWT'],
  ])('refuses a value that %s', (_name, token, reason) => {
    const error = importedTokenError(token);
    expect(error).toContain(reason);
    expect(token === '' || !error?.includes(token)).toBe(true);
  });

  it('accepts nearly all random values of 128 bits in every alphabet', () => {
    const refused = Array.from({ length: 1_000 }, () => randomBytes(16)).flatMap((value) =>
      [value.toString('hex'), value.toString('base64url'), value.toString('base64'), base32(value)].filter(
        (token) => importedTokenError(token) !== undefined,
      ),
    );
    // By chance a text has no upper case or no digit, and so seems to have a smaller alphabet: 1 in 40,000.
    expect(refused.length, refused.join(' ')).toBeLessThan(5);
  });

  it('handles any text, and accepted values are worth a look-up', () => {
    const isConsistent = (token: string): boolean =>
      importedTokenError(token) !== undefined || mayBeImported(token) || hasValidChecksum(token);
    const property = fc.property(fc.string({ maxLength: 300, unit: 'binary' }), isConsistent);
    expect(fc.check(property, { numRuns: 2_000 }).failed).toBe(false);
  });

  it('refuses a very long text at once', () => {
    const token = 'aB3'.repeat(1_000_000);
    const startedMs = performance.now();
    expect(importedTokenError(token)).toBe(`must have 22 to ${IMPORTED_CHARS_MAX} characters`);
    expect(mayBeImported(token)).toBe(false);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });
});

describe('the display prefix of a value', () => {
  it('contains eight digits of the hash and nothing of the value itself', () => {
    const token = '9f86d081884c7d659a2feaa0c55ad015';
    expect(importedDisplayPrefix(token)).toBe(`sha256:${tokenHash(token).slice(0, 8)}`);
  });

  it("is the start of the value for the gateway's own keys", () => {
    expect(importedDisplayPrefix(drawn)).toBe(drawn.slice(0, 12));
  });
});
