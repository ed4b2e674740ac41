/**
 * A strict JSON reader (RFC 8259) for configuration: refuses what parsers are known to disagree on. Beyond the grammar:
 * no duplicate keys, no key `__proto__`, no invalid UTF-8, no lone surrogates, no numbers that are not finite, and a
 * bounded depth. `JSON.parse` checks none of these, so this is a separate parser; management bodies are small and rare.
 * Keeps no state.
 */

export const DEPTH_MAX = 64;

export type JsonResult = { readonly value: unknown } | { readonly error: string };

const utf8 = new TextDecoder('utf-8', { fatal: true });
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const SPACE = /[ \t\n\r]*/y;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const WORDS: readonly (readonly [string, boolean | null])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

/** Parses one JSON text. Errors say what is wrong and where, as line and column. */
export function parseJson(bytes: Uint8Array): JsonResult {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { error: 'is not valid UTF-8' };
  }
  const cursor = { text, position: 0 };
  try {
    const value = readValue(cursor, 1);
    skipSpace(cursor);
    if (cursor.position < text.length) throw new SyntaxFault('has text after the end of the JSON value');
    return { value };
  } catch (error) {
    if (error instanceof SyntaxFault) return { error: `${error.message} at ${place(cursor)}` };
    throw error;
  }
}

interface Cursor {
  readonly text: string;
  position: number;
}

/** Thrown to leave the recursion; never leaves this file. */
class SyntaxFault extends Error {}

function readValue(cursor: Cursor, depth: number): unknown {
  if (depth > DEPTH_MAX) throw new SyntaxFault(`is nested deeper than ${DEPTH_MAX} levels`);
  skipSpace(cursor);
  switch (cursor.text[cursor.position]) {
    case undefined:
      throw new SyntaxFault('ends too early');
    case '{':
      return readObject(cursor, depth);
    case '[':
      return readArray(cursor, depth);
    case '"':
      return readString(cursor);
    default:
      return readScalar(cursor);
  }
}

function readObject(cursor: Cursor, depth: number): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  cursor.position++;
  if (consume(cursor, '}')) return object;
  do {
    skipSpace(cursor);
    if (cursor.text[cursor.position] !== '"') throw new SyntaxFault('lacks a key in double quotes');
    const start = cursor.position;
    const key = readString(cursor);
    if (key === '__proto__' || Object.hasOwn(object, key)) {
      cursor.position = start;
      const what = key === '__proto__' ? 'has the forbidden key' : 'has the duplicate key';
      throw new SyntaxFault(`${what} ${JSON.stringify(key.slice(0, 100))}`);
    }
    if (!consume(cursor, ':')) throw new SyntaxFault('lacks a ":"');
    object[key] = readValue(cursor, depth + 1);
  } while (consume(cursor, ','));
  if (!consume(cursor, '}')) throw new SyntaxFault('lacks a "," or "}"');
  return object;
}

function readArray(cursor: Cursor, depth: number): unknown[] {
  const array: unknown[] = [];
  cursor.position++;
  if (consume(cursor, ']')) return array;
  do {
    array.push(readValue(cursor, depth + 1));
  } while (consume(cursor, ','));
  if (!consume(cursor, ']')) throw new SyntaxFault('lacks a "," or "]"');
  return array;
}

function readString(cursor: Cursor): string {
  const { text, position: start } = cursor;
  let end = start + 1;
  for (let code = text.charCodeAt(end); code !== QUOTE; code = text.charCodeAt(end)) {
    if (end >= text.length) throw new SyntaxFault('has a string that does not end');
    end += code === BACKSLASH ? 2 : 1;
  }
  let value: unknown;
  try {
    value = JSON.parse(text.slice(start, end + 1));
  } catch {
    throw new SyntaxFault('has a string with a bad escape or a raw control character');
  }
  if (typeof value !== 'string' || !value.isWellFormed()) {
    throw new SyntaxFault('has a string with a lone surrogate');
  }
  cursor.position = end + 1;
  return value;
}

function readScalar(cursor: Cursor): boolean | number | null {
  for (const [word, value] of WORDS) {
    if (!cursor.text.startsWith(word, cursor.position)) continue;
    cursor.position += word.length;
    return value;
  }
  const start = cursor.position;
  const digits = match(cursor, NUMBER);
  if (digits === undefined) throw new SyntaxFault('has an unexpected character');
  const number = Number(digits);
  if (!Number.isFinite(number)) {
    cursor.position = start;
    throw new SyntaxFault('has a number that is out of range');
  }
  return number;
}

/** Skips white space, then the character if it follows. */
function consume(cursor: Cursor, character: string): boolean {
  skipSpace(cursor);
  if (cursor.text[cursor.position] !== character) return false;
  cursor.position++;
  return true;
}

function skipSpace(cursor: Cursor): void {
  match(cursor, SPACE);
}

function match(cursor: Cursor, sticky: RegExp): string | undefined {
  sticky.lastIndex = cursor.position;
  const found = sticky.exec(cursor.text)?.[0];
  if (found !== undefined) cursor.position += found.length;
  return found;
}

function place(cursor: Cursor): string {
  const before = cursor.text.slice(0, cursor.position);
  const line = before.split('\n').length;
  return `line ${line}, column ${cursor.position - before.lastIndexOf('\n')}`;
}
