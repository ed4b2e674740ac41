/**
 * Writes header sections in HPACK (RFC 7541) with the static table alone: what is written depends on no connection, so
 * that the part of a section that requests have in common is encoded once for all of them. Nothing enters a dynamic
 * table, in which clients could find out about each other's fields by the lengths of their own (section 7.1). Text is
 * one character per byte. Pure functions.
 */
import { STATIC_FIELDS } from './static-table.ts';

/** Must begin the first section of a connection, and the next one after the peer has set a size (section 4.2). */
export const EMPTY_TABLE = '\x20';

/** Written so that intermediaries do not index them either (section 7.1.3). */
const SECRETS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'set-cookie',
  'x-api-key',
]);

const INDEX_OF_NAME = new Map<string, number>();
const INDEX_OF_FIELD = new Map<string, number>();
for (const [at, [name, value]] of STATIC_FIELDS.entries()) {
  if (!INDEX_OF_NAME.has(name)) INDEX_OF_NAME.set(name, at + 1);
  INDEX_OF_FIELD.set(`${name}:${value}`, at + 1);
}

/** An integer of section 5.1. @param mask mask of the bits that the number has in its first byte */
function numberText(first: number, mask: number, value: number): string {
  if (value < mask) return String.fromCharCode(first | value);
  let text = String.fromCharCode(first | mask);
  let rest = value - mask;
  for (; rest >= 128; rest = Math.floor(rest / 128)) text += String.fromCharCode((rest % 128) | 128);
  return text + String.fromCharCode(rest);
}

/** A string literal, without Huffman. */
export function encodeText(text: string): string {
  return numberText(0, 0x7f, text.length) + text;
}

/** @param name in lower case */
export function encodeField(name: string, value: string): string {
  const index = INDEX_OF_FIELD.get(`${name}:${value}`);
  if (index !== undefined) return String.fromCharCode(0x80 | index);
  return encodeName(name) + encodeText(value);
}

/** The pseudo-field of a response. @param status three digits */
export function encodeStatus(status: string): string {
  const index = INDEX_OF_FIELD.get(`:status:${status}`);
  return index === undefined ? `\x08${encodeText(status)}` : String.fromCharCode(0x80 | index);
}

/** The pseudo-field of a request. */
export function encodeMethod(method: string): string {
  if (method === 'GET') return '\x82';
  return method === 'POST' ? '\x83' : `\x02${encodeText(method)}`;
}

export function encodePath(path: string): string {
  return path === '/' ? '\x84' : `\x04${encodeText(path)}`;
}

/** A literal without indexing, up to its value. */
export function encodeName(name: string): string {
  const first = SECRETS.has(name) ? 0x10 : 0;
  const index = INDEX_OF_NAME.get(name);
  return index === undefined ? String.fromCharCode(first) + encodeText(name) : numberText(first, 0x0f, index);
}

/** @param fields names and values alternating */
export function encodeFields(fields: readonly string[]): string {
  let text = '';
  for (let index = 0; index < fields.length; index += 2)
    text += encodeField(fields[index] as string, fields[index + 1] as string);
  return text;
}
