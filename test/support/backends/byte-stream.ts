/**
 * Long bodies that are never kept: made as they are asked for, and reduced to their length and checksum as they
 * arrive. Every block differs from every other, so that lost, doubled and swapped parts all change the checksum,
 * which is CRC-32: a cryptographic hash would take longer than everything else.
 */
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { crc32 } from 'node:zlib';

const BLOCK_BYTES = 256 * 1024;

export interface Digest {
  readonly bytes: number;
  readonly crc32: number;
}

/** `bytes` of a body that is the same each time. */
export function bodyOf(bytes: number): Readable {
  return Readable.from(blocks(bytes), { objectMode: false, highWaterMark: BLOCK_BYTES });
}

function* blocks(bytes: number): Generator<Buffer> {
  // An odd multiplier visits every byte value; the index in front tells the blocks apart.
  const pattern = Buffer.alloc(BLOCK_BYTES);
  for (let at = 0; at < BLOCK_BYTES; at++) pattern[at] = (at * 167 + (at >>> 8) * 13) & 0xff;
  for (let start = 0; start < bytes; start += BLOCK_BYTES) {
    const block = Buffer.from(pattern.subarray(0, Math.min(BLOCK_BYTES, bytes - start)));
    block.writeUIntBE(start, 0, 6);
    yield block;
  }
}

export async function digestOf(stream: Readable): Promise<Digest> {
  let bytes = 0;
  let checksum = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    checksum = crc32(chunk, checksum);
  }
  return { bytes, crc32: checksum };
}

export interface ByteStreamOrigin {
  readonly port: number;
  /** Body bytes written so far, over all downloads. */
  produced(): number;
  /** Downloads under way. */
  downloads(): number;
  close(): Promise<void>;
}

/**
 * `GET /sized/<bytes>` and `GET /chunked/<bytes>` send a body of that length, with the framing named; a body
 * that is sent to any path is answered with its digest and the framing in which it came.
 */
export async function startByteStreamOrigin(): Promise<ByteStreamOrigin> {
  let produced = 0;
  let downloads = 0;
  const server = http.createServer((request, response) => {
    const [, framing, bytes] = (request.url ?? '').split('/');
    if (request.method !== 'GET') return void answerDigest(request, response);
    if (framing === 'sized') response.setHeader('content-length', bytes ?? '');
    response.setHeader('content-type', 'application/octet-stream');
    const body = bodyOf(Number(bytes));
    body.on('data', (chunk: Buffer) => (produced += chunk.length));
    downloads += 1;
    pipeline(body, response, () => (downloads -= 1));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    produced: () => produced,
    downloads: () => downloads,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}

async function answerDigest(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  try {
    const digest = await digestOf(request);
    const framing = request.headers['transfer-encoding'] ?? request.headers['content-length'];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...digest, framing }));
  } catch {
    response.destroy();
  }
}
