import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  ADMIN_TOKEN_PREFIX,
  API_KEY_PREFIX,
  createToken,
  hasValidChecksum,
  TOKEN_LENGTH,
  tokenDisplayPrefix,
  tokenHash,
} from './token.ts';

describe('tokens', () => {
  it.each([API_KEY_PREFIX, ADMIN_TOKEN_PREFIX] as const)(
    'have the documented format with prefix %s',
    (prefix) => {
      const token = createToken(prefix, randomBytes(32));
      expect(token).toMatch(new RegExp(`^${prefix}[A-Za-z0-9_-]{49}$`));
      expect(token).toHaveLength(TOKEN_LENGTH);
      expect(hasValidChecksum(token)).toBe(true);
    },
  );

  it('never change for the same secret, because stored keys depend on it', () => {
    expect(createToken(API_KEY_PREFIX, Buffer.alloc(32))).toBe(`hgk_${'A'.repeat(43)}gu47ZL`);
  });

  it('are invalid after any change of one character', () => {
    const token = createToken(API_KEY_PREFIX, randomBytes(32));
    for (let index = 0; index < token.length; index++) {
      const other = token[index] === 'x' ? 'y' : 'x';
      expect(hasValidChecksum(token.slice(0, index) + other + token.slice(index + 1))).toBe(false);
    }
  });

  it.each([
    ['empty', ''],
    ['truncated', createToken(API_KEY_PREFIX, Buffer.alloc(32, 1)).slice(0, -1)],
    ['longer', `${createToken(API_KEY_PREFIX, Buffer.alloc(32, 1))}A`],
    ['another prefix', `hgx_${createToken(API_KEY_PREFIX, Buffer.alloc(32, 1)).slice(4)}`],
    ['the prefix of the other kind', `hga_${createToken(API_KEY_PREFIX, Buffer.alloc(32, 1)).slice(4)}`],
    ['not ASCII', 'ü'.repeat(TOKEN_LENGTH)],
  ])('are not valid when %s', (_name, token) => {
    expect(hasValidChecksum(token)).toBe(false);
  });

  it('are stored as SHA-256 and shown by their first characters', () => {
    expect(tokenHash('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(tokenDisplayPrefix(createToken(API_KEY_PREFIX, Buffer.alloc(32)))).toBe('hgk_AAAAAAAA');
  });

  it('are found whole by the documented pattern for secret scanners, which matches nothing else', () => {
    const docs = readFileSync(new URL('../../docs/reference/api-keys.md', import.meta.url), 'utf8');
    const pattern = new RegExp(
      /^\\bhg.+$/m.exec(docs)?.[0] ?? 'the pattern is not in docs/reference/api-keys.md',
      'g',
    );
    const tokens = Array.from({ length: 200 }, (_, index) =>
      createToken(index % 2 === 0 ? API_KEY_PREFIX : ADMIN_TOKEN_PREFIX, randomBytes(32)),
    );
    const text = tokens
      .map((token) => `key="${token}", url=https://x.test/?k=${token}&y Bearer ${token}\n`)
      .join('');
    expect(text.match(pattern)).toEqual(tokens.flatMap((token) => [token, token, token]));
    const others = `hgk_short xhgk_${'A'.repeat(49)} hgk_${'A'.repeat(50)} HGK_${'A'.repeat(49)}`;
    expect(others.match(pattern)).toBeNull();
  });

  it('require exactly 32 secret bytes', () => {
    expect(() => createToken(API_KEY_PREFIX, Buffer.alloc(31))).toThrow('32 secret bytes');
  });
});
