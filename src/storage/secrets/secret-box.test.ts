import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { secretBytes } from '../../lib/ids.ts';
import { KEY_BYTES } from '../../lib/secret-key-text.ts';
import { createSecretBox, isSealed } from './secret-box.ts';

const key = secretBytes(KEY_BYTES);
const box = createSecretBox([key], 'the test');
const PLACE = '01890000-0000-7000-8000-000000000001';

describe('a sealed text', () => {
  test('opens to the original text, also in another box with the same key', () => {
    const again = createSecretBox([Buffer.from(key)], 'another');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.string(), (text, place) => {
        const sealed = box.seal(text, place);
        expect(isSealed(sealed)).toBe(true);
        expect(again.open(sealed, place)).toEqual({ text });
      }),
    );
  });

  test('that looks sealed is sealed again', () => {
    const once = box.seal('secret', PLACE);
    const twice = box.seal(once, PLACE);
    expect(twice).not.toBe(once);
    expect(box.open(twice, PLACE)).toEqual({ text: once });
  });

  test('has the documented form and does not contain its text', () => {
    const sealed = box.seal('a secret that must not be seen anywhere', PLACE);
    const [, payload = ''] = /^enc:v1:[A-Za-z0-9_-]{8}:([A-Za-z0-9_-]+)$/.exec(sealed) ?? [];
    const bytes = Buffer.from(payload, 'base64url');
    expect(bytes.length).toBe(12 + 'a secret that must not be seen anywhere'.length + 16);
    expect(bytes.includes('secret')).toBe(false);
  });

  test('never has the same nonce twice, nor the same ciphertext', () => {
    const sealed = Array.from({ length: 5_000 }, () => box.seal('the same secret', PLACE));
    const payloads = sealed.map((text) => Buffer.from(text.split(':')[3] ?? '', 'base64url'));
    expect(new Set(payloads.map((bytes) => bytes.subarray(0, 12).toString('hex'))).size).toBe(5_000);
    expect(new Set(payloads.map((bytes) => bytes.subarray(12).toString('hex'))).size).toBe(5_000);
  });
});

describe('a sealed text does not open', () => {
  test('with another key, which is reported as such', () => {
    const sealed = box.seal('secret', PLACE);
    const oneBit = Buffer.from(key);
    oneBit[31] = (oneBit[31] ?? 0) ^ 1;
    for (const other of [oneBit, secretBytes(KEY_BYTES)]) {
      expect(createSecretBox([other], 'other').open(sealed, PLACE)).toEqual({ problem: 'other_key' });
    }
  });

  test('with another key that claims the same key id', () => {
    const other = createSecretBox([secretBytes(KEY_BYTES)], 'other');
    const [keyId, payload] = [box.seal('x', PLACE).split(':')[2], other.seal('x', PLACE).split(':')[3]];
    expect(box.open(`enc:v1:${keyId}:${payload}`, PLACE)).toEqual({ problem: 'damaged' });
  });

  test('in another place', () => {
    expect(box.open(box.seal('secret', PLACE), PLACE.replace(/1$/, '2'))).toEqual({ problem: 'damaged' });
  });

  test('with any bit changed', () => {
    const sealed = box.seal('secret', PLACE);
    const [head, payload = ''] = [sealed.slice(0, sealed.lastIndexOf(':') + 1), sealed.split(':')[3]];
    const bytes = Buffer.from(payload, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(box.open(head + changed.toString('base64url'), PLACE), `bit ${bit}`).toEqual({
        problem: 'damaged',
      });
    }
  });

  test('when it is truncated anywhere', () => {
    const sealed = box.seal('secret', PLACE);
    for (let length = 0; length < sealed.length; length++) {
      expect(box.open(sealed.slice(0, length), PLACE), sealed.slice(0, length)).toEqual({
        problem: 'damaged',
      });
    }
  });

  test.each([
    '',
    'plain',
    'enc:v1:',
    'enc:v1:aaaaaaaa:',
    'enc:v2:aaaaaaaa:bbbb',
    'enc:v1:aaaaaaaa:bb bb',
    'ENC:V1:a:b',
  ])('when it is %j', (text) => {
    expect(box.open(text, PLACE)).toEqual({ problem: 'damaged' });
  });
});

test('does not treat plain text as sealed', () => {
  for (const text of ['', 'secret', 'enc', 'enc:', 'enc:v', 'enc:v:', ' enc:v1:x', 'Enc:v1:x', 'enc:vx:']) {
    expect(isSealed(text), text).toBe(false);
  }
  expect(isSealed('enc:v2:of a newer program'), 'and what a newer program wrote is').toBe(true);
});

test.each([0, 16, 31, 33])('a key of %i bytes is a programmer error', (count) => {
  expect(() => createSecretBox([secretBytes(count)], 'short')).toThrow(/has 32 bytes/);
});
