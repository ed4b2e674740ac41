/**
 * The text of a subject or issuer (RFC 4514): attributes from the last to the first, `CN=web,O=Example`. Two names have
 * the same text only if they have the same attributes: what could be read as a separator is escaped, and attributes
 * without a short name have their number. Pure.
 */
import { isUtf8 } from 'node:buffer';
import { TAG, type DerReader, type DerValue } from './der.ts';

/** The names of RFC 4514 section 3, and two more that are common in client certificates. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  '550403': 'CN',
  '550407': 'L',
  '550408': 'ST',
  '55040a': 'O',
  '55040b': 'OU',
  '550406': 'C',
  '550409': 'STREET',
  '0992268993f22c640119': 'DC',
  '0992268993f22c640101': 'UID',
  '550405': 'serialNumber',
  '2a864886f70d010901': 'emailAddress',
};
const UTF8_STRING = 0x0c;
const BMP_STRING = 0x1e;
/** PrintableString, T61String, IA5String and VisibleString: their bytes are mostly ASCII. */
const BYTE_STRINGS: ReadonlySet<number> = new Set([0x13, 0x14, 0x16, 0x1a, 0x12]);

/** @param name the contents of a Name */
export function distinguishedName(name: DerReader): string {
  const sets: string[] = [];
  while (!name.isAtEnd) {
    const set = name.enter(TAG.set);
    const attributes: string[] = [];
    while (!set.isAtEnd) {
      const attribute = set.enter(TAG.sequence);
      const type = attribute.hex(attribute.take(TAG.oid));
      const value = attribute.takeAny();
      attributes.push(`${SHORT_NAMES[type] ?? `OID.${type}`}=${valueText(attribute, value)}`);
    }
    sets.push(attributes.join('+'));
  }
  return sets.toReversed().join(',');
}

function valueText(reader: DerReader, value: DerValue): string {
  const bytes = reader.bytes.subarray(value.start, value.end);
  // Invalid text is not decoded: replacement characters could make it equal to other text.
  if (value.tag === UTF8_STRING && isUtf8(bytes)) return escaped(bytes.toString('utf8'));
  if (BYTE_STRINGS.has(value.tag)) return escaped(bytes.toString('latin1'));
  if (value.tag === BMP_STRING && bytes.length % 2 === 0) {
    const text = Buffer.from(bytes).swap16().toString('utf16le');
    if (text.isWellFormed()) return escaped(text);
  }
  // RFC 4514 section 2.4; UniversalString and everything that is no text.
  return `#${value.tag.toString(16).padStart(2, '0')}${reader.hex(value)}`;
}

/** Escapes a value as RFC 4514 section 2.4 says; control characters become hexadecimal digits. */
function escaped(text: string): string {
  let value = '';
  const characters = Array.from(text);
  for (const [index, character] of characters.entries()) {
    const code = character.codePointAt(0) as number;
    const isEnd = index === 0 || index === characters.length - 1;
    if (code < 0x20 || code === 0x7f) value += `\\${code.toString(16).padStart(2, '0')}`;
    else if (',+"\\<>;='.includes(character)) value += `\\${character}`;
    else if ((character === ' ' && isEnd) || (character === '#' && index === 0)) value += `\\${character}`;
    else value += character;
  }
  return value;
}
