/**
 * Writes the header section of an HTTP/2 response (RFC 9113 section 8.3.2) as an HTTP/1.1 head, so that the strict
 * parser of responses reads it and the rest of the gateway sees one kind of head. Pure functions. Framing that HTTP/2
 * does not state is added: a response with content of unknown length is chunked, one that ends with its head is empty.
 */
import { CONNECTION_FIELDS } from '../../../http/fields/field-lists.ts';

/** Statuses whose responses have no content, whatever their fields say. */
const isBodiless = (status: string): boolean => status === '204' || status === '304' || status < '200';

/**
 * @param fields names and values alternating, one character per byte
 * @param method of the request
 * @param endStream whether the response consists of the header section only
 * @returns the status line and the field lines, without the empty line; undefined if the section is malformed
 */
export function responseText(
  fields: readonly string[],
  method: string,
  endStream: boolean,
): string | undefined {
  const status = fields[1];
  if (fields[0] !== ':status' || status === undefined || status.length !== 3) return undefined;
  let text = `HTTP/1.1 ${status} \r\n`;
  let hasLength = false;
  for (let index = 2; index < fields.length; index += 2) {
    const name = fields[index] as string;
    if (CONNECTION_FIELDS.has(name) || name.charCodeAt(0) === 0x3a) return undefined;
    if (name === 'content-length') hasLength = true;
    text += `${name}: ${fields[index + 1]}\r\n`;
  }
  if (hasLength || isBodiless(status) || method === 'HEAD') return text;
  return `${text}${endStream ? 'content-length: 0' : 'transfer-encoding: chunked'}\r\n`;
}

/** A trailer section as lines, each ending in CRLF; undefined if it has pseudo-fields. */
export function trailerText(fields: readonly string[]): string | undefined {
  let text = '';
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] as string;
    if (CONNECTION_FIELDS.has(name) || name.charCodeAt(0) === 0x3a) return undefined;
    text += `${name}: ${fields[index + 1]}\r\n`;
  }
  return text;
}
