/** The handshake that the gateway makes with a backend for a WebSocket over HTTP/2 (RFC 6455 section 4.1). */
import { createHash } from 'node:crypto';
import { fieldsOfLines } from '../../../http/fields/field-lists.ts';
import { secretBytes } from '../../../lib/ids.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const KEY_BYTES = 16;

export const newWebsocketKey = (): string => secretBytes(KEY_BYTES).toString('base64');

/** The answer of a backend to a key, which proves that the backend has read the key. */
const websocketAccept = (key: string): string =>
  createHash('sha1')
    .update(key + GUID)
    .digest('base64');

/**
 * The fields of a 101 for a 200 over HTTP/2, where there is no key to answer; undefined when the backend's
 * answer to the key is wrong.
 * @param lines each with its CRLF
 */
export function switchFields(lines: string, key: string): string[] | undefined {
  const fields = fieldsOfLines(lines);
  const kept: string[] = [];
  let accept = '';
  for (let index = 0; index < fields.length; index += 2) {
    const value = fields[index + 1] as string;
    if (fields[index] === 'sec-websocket-accept') accept = value;
    else kept.push(fields[index] as string, value);
  }
  return accept === websocketAccept(key) ? kept : undefined;
}
