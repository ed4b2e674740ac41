import { expect, test } from 'vitest';
import { secretBytes } from './ids.ts';
import { formatKeyText, KEY_BYTES, KEYS_MAX, parseKeysText } from './secret-key-text.ts';

test('each format of a key is accepted', () => {
  for (let round = 0; round < 200; round++) {
    const key = secretBytes(KEY_BYTES);
    const texts = [
      formatKeyText(key),
      `${key.toString('base64url')}=`,
      key.toString('hex'),
      key.toString('hex').toUpperCase(),
      `${formatKeyText(key)}\n`,
    ];
    for (const text of texts) expect(parseKeysText(text), text).toEqual([key]);
  }
});

test.each([',', ', ', ' , ', '\n', ' ', ',\n', '\r\n'])(
  'several keys keep their order (separator %j)',
  (separator) => {
    const keys = Array.from({ length: KEYS_MAX }, () => secretBytes(KEY_BYTES));
    const texts = keys.map((key, index) => (index % 2 === 0 ? formatKeyText(key) : key.toString('hex')));
    expect(parseKeysText(texts.join(separator))).toEqual(keys);
  },
);

const KEY = 'a'.repeat(43);

test.each([
  ['nothing', ''],
  ['31 bytes in hexadecimal', 'a'.repeat(62)],
  ['33 bytes in hexadecimal', 'a'.repeat(66)],
  ['64 characters that are not hexadecimal digits', 'g'.repeat(64)],
  ['31 bytes in base64url', 'a'.repeat(42)],
  ['33 bytes in base64url', 'a'.repeat(44)],
  ['other base64', `${'a'.repeat(42)}+`],
  ['a password', 'correct horse battery staple'],
  ['an empty item', `${KEY},,${'b'.repeat(43)}`],
  ['a comma at the end', `${KEY},`],
  ['a key and something else', `${KEY},secret`],
  ['the same key twice', `${KEY},${Buffer.from(KEY, 'base64url').toString('hex')}`],
  ['too many keys', Array.from({ length: KEYS_MAX + 1 }, () => formatKeyText(secretBytes(KEY_BYTES))).join()],
])('%s is not a list of keys', (_, text) => {
  expect(parseKeysText(text)).toBeUndefined();
});
