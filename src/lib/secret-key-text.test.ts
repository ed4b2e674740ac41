import { expect, test } from 'vitest';
import { secretBytes } from './ids.ts';
import { formatKeyText, KEY_BYTES, parseKeyText } from './secret-key-text.ts';

test('each format of a key is accepted', () => {
  for (let round = 0; round < 200; round++) {
    const key = secretBytes(KEY_BYTES);
    const texts = [
      formatKeyText(key),
      `${key.toString('base64url')}=`,
      key.toString('hex'),
      key.toString('hex').toUpperCase(),
    ];
    for (const text of texts) expect(parseKeyText(text)?.equals(key), text).toBe(true);
  }
});

test.each([
  ['nothing', ''],
  ['31 bytes in hexadecimal', 'a'.repeat(62)],
  ['33 bytes in hexadecimal', 'a'.repeat(66)],
  ['64 characters that are not hexadecimal digits', 'g'.repeat(64)],
  ['31 bytes in base64url', 'a'.repeat(42)],
  ['33 bytes in base64url', 'a'.repeat(44)],
  ['other base64', `${'a'.repeat(42)}+`],
  ['a line end', `${'a'.repeat(43)}\n`],
  ['a space', ` ${'a'.repeat(43)}`],
  ['a password', 'correct horse battery staple'],
])('%s is not a key', (_, text) => {
  expect(parseKeyText(text)).toBeUndefined();
});
