import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { rocaModulus } from '../../../../../test/support/data/roca.ts';
import { rsaWeakness } from './rsa-weakness.ts';

const keyOf = (modulusLength: number) =>
  generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });
const sound = keyOf(2048);
/** An odd number, without the mark of ROCA, of so many bits. */
const modulusOf = (bits: number): string => {
  const bytes = Buffer.alloc(bits / 8, 0xa5);
  return bytes.toString('base64url');
};

describe('rsaWeakness', () => {
  it('finds nothing in a usual key or a key of another kind', () => {
    expect(rsaWeakness(sound)).toBeUndefined();
    for (const e of ['Aw', 'AQAB', 'Af____8']) expect(rsaWeakness({ ...sound, e })).toBeUndefined();
    expect(rsaWeakness({ ...sound, n: modulusOf(8192) })).toBeUndefined();
    expect(rsaWeakness({ kty: 'EC', crv: 'P-256', n: rocaModulus() })).toBeUndefined();
  });

  it('finds no ROCA weakness in other numbers', () => {
    const bytes = Buffer.from(String(sound['n']), 'base64url');
    for (let step = 0; step < 300; step++) {
      bytes.writeUInt32BE((step * 7_919 + 12_345) >>> 0, 100);
      expect(rsaWeakness({ ...sound, n: bytes.toString('base64url') })).toBeUndefined();
    }
  });

  it.each([
    ['the mark of ROCA', { ...sound, n: rocaModulus() }, 'ROCA'],
    ['1024 bits', keyOf(1024), 'at least 2048 bits, it has 1024'],
    ['an exponent of 1', { ...sound, e: 'AQ' }, 'odd exponent'],
    ['an even exponent', { ...sound, e: 'AQAC' }, 'odd exponent'],
    ['a modulus that takes long', { ...sound, n: modulusOf(8200) }, 'at most 8192 bits'],
    ['a very long text', { ...sound, n: 'A'.repeat(1_000_000) }, 'at most 8192 bits'],
    ['an exponent that takes long', { ...sound, e: 'AgAAAAE' }, 'exponent of at most 33 bits'],
    ['an exponent as long as the modulus', { ...sound, e: sound['n'] }, 'exponent of at most 33 bits'],
  ])('refuses %s', (_what, key, reason) => expect(rsaWeakness(key)).toContain(reason));
});
