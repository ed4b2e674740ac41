/**
 * Writes one piece of a request body to the backend, with the client's framing. A small piece is written as text,
 * together with other waiting text; a large one is written from the memory into which it was read.
 */
import { chunkHeader } from '../../http/bodies/chunked-decoder.ts';
import { latin1Text } from '../../http/latin1.ts';
import type { ClientConnection } from '../interfaces/client-connection.ts';
import { TEXT_BODY_BYTES_MAX } from '../options.ts';
import type { UpstreamConnection } from './upstream-connection.ts';

/** False when the backend reads too slowly. */
export function writeBodyPiece(
  upstream: UpstreamConnection,
  connection: ClientConnection,
  buffer: Buffer,
  from: number,
  to: number,
): boolean {
  const { isChunked } = connection.body;
  if (to - from <= TEXT_BODY_BYTES_MAX) {
    const text = latin1Text(buffer, from, to);
    return upstream.writeText(isChunked ? `${chunkHeader(to - from)}${text}\r\n` : text);
  }
  const release = connection.retain(buffer);
  upstream.cork();
  if (isChunked) upstream.writeText(chunkHeader(to - from));
  let isWritable = upstream.writeFrom(buffer, from, to, release);
  if (isChunked) isWritable = upstream.writeText('\r\n');
  upstream.uncork();
  return isWritable;
}
