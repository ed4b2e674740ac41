import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { rocaModulus } from '../../../../../test/support/data/roca.ts';
import { rsaWeakness } from './rsa-weakness.ts';

const keyOf = (modulusLength: number) =>
  generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });
const sound = keyOf(2048);

describe('rsaWeakness', () => {
  it('finds nothing in a usual key or a key of another kind', () => {
    expect(rsaWeakness(sound)).toBeUndefined();
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
    ['more bits than OpenSSL takes', { ...sound, n: 'A'.repeat(1_000_000) }, 'at most 16384 bits'],
  ])('refuses %s', (_what, key, reason) => expect(rsaWeakness(key)).toContain(reason));
});
