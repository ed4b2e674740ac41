/**
 * Whatever the gateway takes for one request, its backend takes for one request too, with the method and the path
 * that were authorised and the same body, byte for byte: the accepted cases of the conformance corpus, generated heads
 * with bodies that look like requests, and generated requests of HTTP/2, are sent through the gateway to HTTP servers
 * that we did not write. With RESERIALISE_SEED=n what is generated comes from the seed that a failure named.
 */
import * as http from 'node:http';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { TLS_PAIR } from '../../support/clients/http2-client.ts';
import {
  connectFrames,
  END_STREAM,
  FRAME,
  frame,
  GET,
  headers,
  number32,
} from '../../support/clients/http2-frames.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { readBody, readingOrigins, type ReadRequest } from '../../support/backends/reading-origins.ts';
import {
  corpusRequests,
  generatedRequests,
  generatedStreams,
  type SoundBytes,
  type SoundStream,
} from '../../support/data/sound-requests.ts';

const SEED = Number(process.env['RESERIALISE_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const READ_MS_MAX = 5_000;
/** Of all streams of a connection. */
const ANSWERS_BYTES_MAX = 10_000_000;
const LAST = '/the-last-one';
const LAST_BYTES = {
  bytes: Buffer.from(`GET ${LAST} HTTP/1.1\r\nHost: a\r\n\r\n`),
  bodies: [Buffer.alloc(0)],
};
const LAST_STREAM = {
  fields: [...GET.slice(0, 3), [':path', LAST]] as const,
  pieces: [],
  trailers: undefined,
};

const closers = closeAfterEach();

/** A gateway in front of an origin, and what it authorised. */
interface Passage {
  readonly proxy: TestProxy;
  readonly authorised: ReadRequest[];
  /** Bodies of the requests that are sent next, in their order. */
  bodies: Buffer[];
  /** Requests whose bodies the gateway took for shorter or longer than they were. */
  readonly miscounted: string[];
}

async function startPassage(backendPort: number, secure: boolean): Promise<Passage> {
  const authorised: ReadRequest[] = [];
  const proxy = await startProxy(
    oneRoute({
      backendPort,
      app: { gateway_path: '/', allow_encoded_slashes: true },
      version: { gateway_path: '/' },
      revision: { circuit_breaker: { failures: 1_000_000 } },
    }),
    {
      ...(secure ? { tls: TLS_PAIR } : {}),
      // Each client ends its side behind its last request, so that the gateway reads to the end of it.
      options: { halfClose: true },
      observer: {
        exchangeEnded: ({ attempts, method, path, query, bytesIn }) => {
          const body = passage.bodies.shift();
          if (attempts === undefined) return;
          const line = `${method} ${path}${query} HTTP/1.1`;
          authorised.push({ line, body: body === undefined ? undefined : readBody(body) });
          if (bytesIn !== body?.length) passage.miscounted.push(line);
        },
      },
    },
  );
  const passage: Passage = { proxy, authorised, bodies: [], miscounted: [] };
  closers.push(() => proxy.close());
  return passage;
}

/** Each on a connection of its own. */
async function sendBytes(passage: Passage, requests: readonly SoundBytes[]): Promise<void> {
  for (const { bytes, bodies } of requests) {
    const client = await connectRaw(passage.proxy.port);
    passage.bodies = [...bodies];
    client.write(bytes);
    client.socket.end();
    await client.closed();
    client.end();
  }
}

/** All on one connection, one after the other. */
async function sendStreams(passage: Passage, requests: readonly SoundStream[]): Promise<void> {
  const client = await connectFrames(passage.proxy.port);
  client.send(frame(FRAME.windowUpdate, 0, 0, number32(ANSWERS_BYTES_MAX)));
  for (const [index, { fields, pieces, trailers }] of requests.entries()) {
    const stream = 2 * index + 1;
    passage.bodies = [Buffer.concat(pieces)];
    client.send(
      headers(stream, fields, pieces.length === 0 ? END_STREAM : 0),
      ...pieces.map((piece, at) => {
        const isLast = at === pieces.length - 1 && trailers === undefined;
        return frame(FRAME.data, isLast ? END_STREAM : 0, stream, piece);
      }),
      ...(trailers === undefined ? [] : [headers(stream, trailers)]),
    );
    const isEnd = (type: number): boolean => type === FRAME.data || type === FRAME.headers;
    const end = await client.next(
      (one) =>
        one.stream === stream &&
        (one.type === FRAME.rstStream || (isEnd(one.type) && (one.flags & END_STREAM) !== 0)),
      `the end of ${JSON.stringify(fields)}`,
    );
    expect(end.type, JSON.stringify(fields)).not.toBe(FRAME.rstStream);
  }
  client.close();
}

describe.each(readingOrigins)('%s reads', (name, start, bodyBytesMax) => {
  const corpus = async (passage: Passage): Promise<void> =>
    sendBytes(
      passage,
      corpusRequests().filter(({ bytes }) => reads(name, bytes)),
    );
  const generated = async (passage: Passage): Promise<void> =>
    sendBytes(
      passage,
      generatedRequests(SEED).filter(({ bytes }) => reads(name, bytes)),
    );
  const streams = async (passage: Passage): Promise<void> =>
    sendStreams(
      passage,
      generatedStreams(SEED).filter(({ fields }) => readsMethod(name, methodOf(fields))),
    );

  it.each([
    ['the accepted requests of the corpus', corpus, false],
    [`generated requests of seed ${SEED}`, generated, false],
    [`generated requests of HTTP/2 of seed ${SEED}`, streams, true],
  ])('%s as what was authorised', async (_name, send, secure) => {
    const origin = await start();
    closers.push(() => origin.close());
    const passage = await startPassage(origin.port, secure);
    const { authorised, proxy } = passage;
    await send(passage);
    expect(authorised.length).toBeGreaterThan(20);
    const endMs = performance.now() + READ_MS_MAX;
    const untilRead = async (): Promise<void> => {
      while (origin.requests().length < authorised.length && performance.now() < endMs) {
        await new Promise((done) => setTimeout(done, 10));
      }
    };
    await untilRead();
    // One more, behind everything that the connections may still hold.
    await (secure ? sendStreams(passage, [LAST_STREAM]) : sendBytes(passage, [LAST_BYTES]));
    expect(authorised.at(-1)?.line).toBe(`GET ${LAST} HTTP/1.1`);
    await untilRead();
    const comparable = ({ line, body }: ReadRequest): ReadRequest => ({
      line,
      body: body === undefined || body.bytes > bodyBytesMax ? undefined : body,
    });
    expect(origin.requests().map(comparable)).toEqual(authorised.map(comparable));
    expect(passage.miscounted).toEqual([]);
    expect(proxy.defects).toEqual([]);
  });
});

function reads(origin: string, bytes: Buffer): boolean {
  const text = bytes.toString('latin1');
  if (origin === 'haproxy' && isHandshake(text)) return false;
  return readsMethod(origin, /^(?:\r\n)?([^ ]*)/.exec(text)?.[1] ?? '');
}

/** node:http refuses methods that it does not know, or does not answer them at all; nginx all but upper-case names. */
function readsMethod(origin: string, method: string): boolean {
  if (origin === 'nginx') return /^[A-Z_-]+$/.test(method) && method !== 'TRACE';
  return origin !== 'node:http' || http.METHODS.includes(method);
}

/**
 * HAProxy refuses a WebSocket handshake without its key (RFC 6455 section 4.1); the gateway leaves that to backends.
 */
function isHandshake(text: string): boolean {
  return /^upgrade:[ \t]*websocket/im.test(text);
}

function methodOf(fields: SoundStream['fields']): string {
  return fields.find(([name]) => name === ':method')?.[1] ?? '';
}
