/** The handshake that the gateway makes with a backend for a WebSocket over HTTP/2 (RFC 6455 section 4.1). */
import { createHash } from 'node:crypto';
import { secretBytes } from '../../../lib/ids.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const KEY_BYTES = 16;

export const newWebsocketKey = (): string => secretBytes(KEY_BYTES).toString('base64');

/** What a backend answers to a key: proof that it has read it. */
export const websocketAccept = (key: string): string =>
  createHash('sha1')
    .update(key + GUID)
    .digest('base64');
