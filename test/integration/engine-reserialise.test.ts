/**
 * Whatever the gateway takes for one request, its backend takes for one request too, with the method and the path
 * that were authorised and the same body: the accepted cases of the conformance corpus and generated heads, with
 * bodies that look like requests, are sent through the gateway to HTTP servers that we did not write.
 */
import * as http from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { RequestHead } from '../../src/http/request-head.ts';
import { BodyFraming } from '../../src/http/framing.ts';
import { readCases } from '../conformance/read-cases.ts';
import { someRequest } from '../fuzz/messages.ts';
import { Random } from '../fuzz/random.ts';
import { DEFAULT_OPTIONS, oneRoute, startProxy } from '../support/proxy.ts';
import { connectRaw } from '../support/raw-client.ts';
import { readingOrigins, type ReadRequest } from '../support/reading-origins.ts';

const GENERATED = 250;
const SEED = Number(process.env['RESERIALISE_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const READ_MS_MAX = 5_000;
const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** The corpus's requests that are accepted, each with what follows it. */
function corpusRequests(): Buffer[] {
  return readCases('request')
    .filter((entry) => entry.expect.outcome === 'accept')
    .map((entry) => entry.rawBytes);
}

/** Generated heads that the parser accepts, with a body of the length that they announce. */
function generatedRequests(seed: number): Buffer[] {
  const random = new Random(seed);
  const head = new RequestHead();
  const found: Buffer[] = [];
  while (found.length < GENERATED) {
    const text = someRequest(random);
    const end = text.indexOf('\r\n\r\n');
    if (end < 0 || head.parse(text.slice(0, end + 2), DEFAULT_OPTIONS) !== undefined) continue;
    if (head.contentLength > 1_000_000) continue;
    const body =
      head.framing === BodyFraming.chunked
        ? `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\nX-Trailer: ${random.below(10)}\r\n\r\n`
        : HIDDEN.repeat(Math.ceil(Math.max(head.contentLength, 0) / HIDDEN.length)).slice(
            0,
            Math.max(head.contentLength, 0),
          );
    found.push(Buffer.from(`${text.slice(0, end + 4)}${body}`, 'latin1'));
  }
  return found;
}

describe.each(readingOrigins)('%s reads', (name, start) => {
  it.each([
    ['the accepted requests of the corpus', corpusRequests],
    [`generated requests of seed ${SEED}`, () => generatedRequests(SEED)],
  ])('%s as what was authorised', async (_name, requests) => {
    const origin = await start();
    closers.push(() => origin.close());
    const authorised: ReadRequest[] = [];
    const proxy = await startProxy(
      oneRoute({
        backendPort: origin.port,
        app: { gateway_path: '/', allow_encoded_slashes: true },
        version: { gateway_path: '/' },
        revision: { circuit_breaker: { failures: 1_000_000 } },
      }),
      {
        observer: {
          exchangeEnded: ({ forwarding, method, path, query, bytesIn }) => {
            if (forwarding === undefined) return;
            authorised.push({ line: `${method} ${path}${query} HTTP/1.1`, bodyBytes: bytesIn });
          },
        },
      },
    );
    closers.push(() => proxy.close());
    for (const bytes of requests()) {
      if (name === 'node:http' && !nodeKnowsMethod(bytes)) continue;
      if (name === 'haproxy' && isIncompleteHandshake(bytes)) continue;
      const client = await connectRaw(proxy.port);
      client.write(bytes);
      client.socket.end();
      await client.closed();
      client.end();
    }
    expect(authorised.length).toBeGreaterThan(20);
    const endMs = performance.now() + READ_MS_MAX;
    while (origin.requests().length < authorised.length && performance.now() < endMs) {
      await new Promise((done) => setTimeout(done, 10));
    }
    // One more, behind everything that the connections may still hold.
    const client = await connectRaw(proxy.port);
    client.write('GET /the-last-one HTTP/1.1\r\nHost: a\r\n\r\n');
    expect((await client.response()).status).toBe(200);
    client.end();
    while (origin.requests().length < authorised.length && performance.now() < endMs) {
      await new Promise((done) => setTimeout(done, 10));
    }
    const read = origin.requests();
    expect(read.map((one) => comparable(one, name))).toEqual(authorised.map((one) => comparable(one, name)));
    expect(proxy.defects).toEqual([]);
  });
});

/** node:http refuses other methods, or does not answer them at all. */
function nodeKnowsMethod(bytes: Buffer): boolean {
  return http.METHODS.includes(/^(?:\r\n)?([^ ]*)/.exec(bytes.toString('latin1'))?.[1] ?? '');
}

/** HAProxy refuses a WebSocket handshake without its key (RFC 6455 section 4.1); the gateway leaves that to backends. */
function isIncompleteHandshake(bytes: Buffer): boolean {
  return /^upgrade:[ \t]*websocket/im.test(bytes.toString('latin1'));
}

/** A request as far as that origin tells of it. */
function comparable(one: ReadRequest, origin: string): ReadRequest {
  const tellsBody = origin === 'python3' || origin === 'node:http';
  return { line: one.line, bodyBytes: tellsBody ? one.bodyBytes : undefined };
}
