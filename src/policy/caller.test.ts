import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headerLines } from '../model/reason.ts';
import { MISSING_CLAIM } from './parts/auth/auth-reasons.ts';
import { tokenStart } from './parts/auth/bearer.ts';
import { BoundedCache } from './parts/auth/bounded-cache.ts';
import { FIELD_VALUE_CHARS_MAX, fieldLine, fieldText, scopesLine } from './caller.ts';

describe('fieldText', () => {
  it.each([
    ['plain', 'plain'],
    ['two words', 'two words'],
    [' ends ', '%20ends%20'],
    ['auth0|user@example.com', 'auth0|user@example.com'],
    ['100%', '100%25'],
    ['a\r\nX: b', 'a%0D%0AX: b'],
    ['\u0000\t\u007f', '%00%09%7F'],
    ['é€😀', '%C3%A9%E2%82%AC%F0%9F%98%80'],
    ['\ud800', '%EF%BF%BD'],
    ['', ''],
    [' ', '%20'],
  ])('%j is %s', (text, value) => {
    expect(fieldText(text)).toBe(value);
  });

  it('is a field value for every text, and tells any two texts apart', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const value = fieldText(text);
        expect(value).toMatch(/^([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?$/);
        expect(decodeURIComponent(value)).toBe(text.toWellFormed());
      }),
    );
  });
});

describe('fieldLine and scopesLine', () => {
  it('leave out what is too long instead of cutting it', () => {
    expect(fieldLine('X', 'a'.repeat(FIELD_VALUE_CHARS_MAX))).toHaveLength(FIELD_VALUE_CHARS_MAX + 5);
    expect(fieldLine('X', 'a'.repeat(FIELD_VALUE_CHARS_MAX + 1))).toBe('');
    expect(fieldLine('X', 'ü'.repeat(FIELD_VALUE_CHARS_MAX / 2))).toBe('');
  });

  it('list whole scopes only', () => {
    const scope = 's'.repeat(256);
    const line = scopesLine(Array.from({ length: 200 }, () => scope));
    expect(line).toBe(`X-Headgate-Scopes: ${Array.from({ length: 15 }, () => scope).join(' ')}\r\n`);
    expect(scopesLine(['a b', 'c"d', 'e\\f', 'ü', '', 'g\r\n', 'ok'])).toBe('X-Headgate-Scopes: ok\r\n');
    expect(scopesLine([])).toBe('');
  });
});

describe('tokenStart', () => {
  it.each([
    ['Bearer x', 7],
    ['BEARER    x', 10],
    ['Bearer', 6],
    ['Bearer\tx', 0],
    ['Bearerx', 0],
    ['Bear', 0],
    ['', 0],
    ['Basic x', 0],
    [' Bearer x', 0],
    // 0x22 | 0x20 must not pass for a letter.
    ['\u0042\u0005arer x', 0],
  ])('%j: %i', (value, start) => {
    expect(tokenStart(value)).toBe(start);
  });
});

describe('challenges', () => {
  it('quote what they are given', () => {
    const challenge = { realm: 'a"b\\c\r\n', field: undefined };
    expect(headerLines({ kind: MISSING_CLAIM, data: { challenge, claim: 'd' } })).toBe(
      'WWW-Authenticate: Bearer realm="a\\"b\\\\c??", error="insufficient_scope", error_description="The token lacks the claim \\"d\\""\r\n',
    );
  });
});

describe('BoundedCache', () => {
  it('keeps the newest entries within both limits', () => {
    const cache = new BoundedCache<number>(3, 10);
    for (let index = 0; index < 5; index++) cache.set(`k${index}`, index);
    expect(cache.size).toBe(3);
    expect([cache.get('k1'), cache.get('k2'), cache.get('k4')]).toEqual([undefined, 2, 4]);
    cache.set('12345678', 9);
    expect([cache.get('k3'), cache.get('k4'), cache.get('12345678')]).toEqual([undefined, 4, 9]);
    cache.set('longer than everything', 1);
    expect(cache.get('longer than everything')).toBeUndefined();
    cache.set('k4', 5);
    expect(cache.get('k4')).toBe(5);
    expect(cache.size).toBe(2);
    cache.clear();
    expect(cache.size).toBe(0);
  });

  it('makes room by a sixteenth at most, of the oldest', () => {
    const cache = new BoundedCache<number>(64, 10_000);
    for (let index = 0; index < 1_000; index++) {
      cache.set(`key ${index}`, index);
      expect(cache.size).toBeLessThanOrEqual(64);
      for (let kept = Math.max(0, index - 59); kept <= index; kept++)
        expect(cache.get(`key ${kept}`)).toBe(kept);
    }
  });

  it('keeps the entry that came last, however long its key', () => {
    const cache = new BoundedCache<number>(64, 160);
    cache.set('short', 1);
    cache.set('l'.repeat(160), 2);
    expect([cache.size, cache.get('l'.repeat(160))]).toEqual([1, 2]);
  });

  it('answers like a map that forgets its oldest entry, after any operations', () => {
    const keys = fc.constantFrom(
      '',
      'a',
      'b',
      'xa',
      'ya',
      'x12',
      'y12',
      'longer-key',
      'longer-kex',
      'z'.repeat(31),
    );
    const command = fc.record({ name: fc.constantFrom('set', 'get', 'delete', 'clear'), key: keys });
    fc.assert(
      fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
        const cache = new BoundedCache<number>(4, 30);
        let twin: { key: string; value: number }[] = [];
        commands.forEach(({ name, key }, value) => {
          if (name === 'clear') {
            cache.clear();
            twin = [];
          } else if (name === 'delete') {
            cache.delete(key);
            twin = twin.filter((entry) => entry.key !== key);
          } else if (name === 'set') {
            cache.set(key, value);
            if (key.length <= 30) twin = [...twin.filter((entry) => entry.key !== key), { key, value }];
            while (twin.length > 4 || twin.reduce((sum, entry) => sum + entry.key.length, 0) > 30)
              twin.shift();
          }
          expect(cache.get(key)).toBe(twin.find((entry) => entry.key === key)?.value);
          expect(cache.size).toBe(twin.length);
        });
      }),
    );
  });
});
