/** Texts of names: whether different attributes can be taken for each other. */
import { describe, expect, it } from 'vitest';
import { DerReader } from './der.ts';
import { distinguishedName } from './distinguished-name.ts';

const value = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, body.length]), body]);
};
/** A name whose only attribute is CN, of a kind of string. */
const commonName = (kind: number, text: Buffer): string => {
  const type = value(0x06, Buffer.from('550403', 'hex'));
  const attribute = value(0x31, value(0x30, type, value(kind, text)));
  return distinguishedName(new DerReader(attribute));
};

describe('the text of a name', () => {
  it.each([
    ['UTF-8', 0x0c, Buffer.from('J\u00fcrgen'), 'CN=J\u00fcrgen'],
    ['separators', 0x0c, Buffer.from('a,O=b+c'), 'CN=a\\,O\\=b\\+c'],
    ['zero bytes', 0x0c, Buffer.from('a\0b'), 'CN=a\\00b'],
    ['two bytes for each character', 0x1e, Buffer.from('0061', 'hex'), 'CN=a'],
    // What would replace these bytes is the same for all of them.
    ['no UTF-8', 0x0c, Buffer.from('61ff', 'hex'), 'CN=#0c61ff'],
    ['other bytes that are no UTF-8', 0x0c, Buffer.from('61fe', 'hex'), 'CN=#0c61fe'],
    ['half of a pair', 0x1e, Buffer.from('d800', 'hex'), 'CN=#1ed800'],
    ['no text', 0x02, Buffer.from([1]), 'CN=#0201'],
  ])('of %s', (_what, kind, text, expected) => {
    expect(commonName(kind, text)).toBe(expected);
  });
});
