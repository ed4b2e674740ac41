/** Requests to a collector, as one that is well, slow, full, picky or dead gets and answers them. */
import { readFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createServerOfHttp2 } from 'node:http2';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import { Collector } from './collector.ts';
import { AT_ONCE, CALM, bodyOf } from './export-body.ts';
import type { ConnectionStart, Signal } from './export-messages.ts';

const certificate = (name: string): string =>
  readFileSync(new URL(`../../../test/support/tls/${name}.pem`, import.meta.url), 'utf8');
/** More than the system takes without the peer reading it. */
const LARGE = bodyOf(Buffer.alloc(16 * 2 ** 20, 'a span'), 9);
const WHOLE = Buffer.alloc(700_000, 'a span');
const BODY = bodyOf(WHOLE, 9);
const SHORT = bodyOf(Buffer.from('a span'), 9);

interface Got {
  readonly request: IncomingMessage;
  readonly body: Buffer;
}

const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

/** @param answer gets each request when all of it has come */
async function serve(
  answer: (response: ServerResponse, got: Got[]) => void,
): Promise<{ url: string; got: Got[] }> {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    void bytesOf(request).then((body) => {
      got.push({ request, body });
      answer(response, got);
    });
  });
  return { url: `http://127.0.0.1:${await listen(server)}/v1/traces`, got };
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function collectorOf(
  url: string,
  extra: Partial<ConnectionStart> = {},
  onWarning?: (warning: string) => void,
  signal: Signal = 'traces',
): Collector {
  const plain = {
    headers: {},
    timeoutMs: 5_000,
    compression: 'none',
    ca: undefined,
    cert: undefined,
    key: undefined,
  };
  const collector = new Collector(signal, url, { ...plain, ...extra } as ConnectionStart, onWarning);
  closers.push(() => collector.close());
  return collector;
}

const NOTHING_FAILED = { failed: 0, problem: '' };

describe('a body', () => {
  it('is sent in steps, on one connection, with its length and the fields that are set', async () => {
    const { url, got } = await serve((response) => void response.writeHead(200).end());
    const collector = collectorOf(url, { headers: { 'X-Api-Key': 'k', 'content-type': 'text/plain' } });
    const parts: number[] = [];
    const counted = {
      ...BODY,
      parts: (start: number, end: number) => {
        parts.push(end - start);
        const middle = (start + end) >> 1;
        return [...BODY.parts(start, middle), ...BODY.parts(middle, end)];
      },
    };
    expect(await collector.export(counted)).toEqual(NOTHING_FAILED);
    expect(await collector.export(BODY, () => AT_ONCE)).toEqual(NOTHING_FAILED);
    expect(Math.max(...parts)).toBe(CALM.stepBytes);
    expect(parts).toHaveLength(Math.ceil(BODY.length / CALM.stepBytes));
    expect(got.every(({ body }) => body.equals(WHOLE))).toBe(true);
    expect(got[1]?.request.socket).toBe(got[0]?.request.socket);
    expect(got[0]?.request.headers).toMatchObject({
      'content-length': String(BODY.length),
      'content-type': 'application/x-protobuf',
      'user-agent': 'Headgate',
      'x-api-key': 'k',
    });
  });

  it('is compressed in steps', async () => {
    const { url, got } = await serve((response) => void response.writeHead(200).end());
    expect(await collectorOf(url, { compression: 'gzip' }).export(BODY)).toEqual(NOTHING_FAILED);
    expect(got[0]?.request.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(got[0]?.body ?? '').equals(WHOLE)).toBe(true);
  });

  it('is sent again, whole, when the collector is busy', async () => {
    const { url, got } = await serve((response, { length }) => {
      response.writeHead(length < 3 ? 503 : 200, { 'Retry-After': '0' }).end();
    });
    expect(await collectorOf(url).export(BODY)).toEqual(NOTHING_FAILED);
    expect(got.map(({ body }) => body.length)).toEqual([BODY.length, BODY.length, BODY.length]);
  });
});

describe('a collector', () => {
  it.each([
    ['does not want it', 400, {}, { problem: 'the collector answers 400' }],
    [
      'has no time before the export is given up',
      429,
      { 'Retry-After': '60' },
      { problem: 'the collector answers 429: it asks to wait 60 s', waitMs: 60_000 },
    ],
  ])('that %s is asked once', async (_what, status, headers, told) => {
    const { url, got } = await serve((response) => void response.writeHead(status, headers).end('secret'));
    const outcome = { failed: 9, ...told };
    expect(await collectorOf(url).export(BODY)).toEqual(outcome);
    expect(got).toHaveLength(1);
  });

  it('that answers with a status that is not final has accepted nothing', async () => {
    const server = createServer(
      ({ socket }) => void socket.end('HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n'),
    );
    const outcome = { failed: 9, problem: 'the collector answers 0' };
    expect(await collectorOf(`http://127.0.0.1:${await listen(server)}`).export(BODY)).toEqual(outcome);
  });

  it('that takes a part says so', async () => {
    const answer = new ProtobufWriter();
    const start = answer.begin(1);
    answer.varint(1, 4);
    answer.string(2, 'too old');
    answer.end(start);
    const { url } = await serve((response) => void response.writeHead(200).end(answer.bytes));
    const problem = 'the collector refused some spans: too old';
    expect(await collectorOf(url).export(BODY)).toEqual({ failed: 4, problem });
  });

  it.each([
    ['traces', { rejectedSpans: '4', errorMessage: 'too old' }, 'spans'],
    ['metrics', { rejectedDataPoints: 4, errorMessage: 'too old' }, 'points of metrics'],
    ['logs', { rejectedLogRecords: '4', errorMessage: 'too old' }, 'log records'],
  ] as const)('that takes a part of %s says so in JSON', async (signal, partialSuccess, items) => {
    const { url } = await serve((response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ partialSuccess }));
    });
    const problem = `the collector refused some ${items}: too old`;
    expect(await collectorOf(url, {}, undefined, signal).export(BODY)).toEqual({ failed: 4, problem });
  });

  it.each([
    ['null', ''],
    ['{"partialSuccess":null}', ''],
    ['{"partialSuccess":{"rejectedSpans":"-3"}}', ''],
    ['{"partialSuccess":{"rejectedSpans":"many","errorMessage":7}}', ''],
    ['{"partialSuccess":{"rejectedSpans":1e300}}', ''],
    ['{"partialSuccess":', ''],
    [
      '{"partialSuccess":{"errorMessage":"this endpoint goes away in May"}}',
      'this endpoint goes away in May',
    ],
  ])('that accepts everything and answers %s in JSON has accepted it', async (text, warning) => {
    const { url } = await serve((response) => {
      response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' }).end(text);
    });
    const warnings: string[] = [];
    const collector = collectorOf(url, {}, (each) => void warnings.push(each));
    expect(await collector.export(BODY)).toEqual(NOTHING_FAILED);
    expect(warnings).toEqual(warning === '' ? [] : [warning]);
  });

  it.each([
    ['{"code":3,"message":"bad span"}', 'the collector answers 400: bad span'],
    ['{"message":"secret of another program"}', 'the collector answers 400'],
  ])('that refuses with %s in JSON: a status says why', async (text, problem) => {
    const { url } = await serve((response) => {
      response.writeHead(400, { 'Content-Type': 'application/json' }).end(text);
    });
    expect(await collectorOf(url).export(BODY)).toEqual({ failed: 9, problem });
  });

  it('that takes all of it and warns is heard, but not at each export', async () => {
    const answer = new ProtobufWriter();
    const start = answer.begin(1);
    answer.string(2, 'this endpoint goes away in May');
    answer.end(start);
    const { url } = await serve((response) => void response.writeHead(200).end(answer.bytes));
    const warnings: string[] = [];
    const collector = collectorOf(url, {}, (warning) => void warnings.push(warning));
    for (const _ of [1, 2]) expect(await collector.export(SHORT)).toEqual(NOTHING_FAILED);
    expect(warnings).toEqual(['this endpoint goes away in May']);
  });

  it('that answers before it has read everything: its answer counts, and it gets a new connection', async () => {
    const sockets = new Set<unknown>();
    const server = createServer((request, response) => {
      sockets.add(request.socket);
      response.writeHead(413).end();
    });
    const collector = collectorOf(`http://127.0.0.1:${await listen(server)}`);
    for (let count = 0; count < 2; count++)
      expect(await collector.export(LARGE)).toEqual({ failed: 9, problem: 'the collector answers 413' });
    expect(sockets.size).toBe(2);
  });

  it.each(['reads nothing', 'answers nothing'])('that %s costs the time of an export', async (what) => {
    const server = createServer((request) => void (what === 'answers nothing' && request.resume()));
    const url = `http://127.0.0.1:${await listen(server)}`;
    const startedMs = performance.now();
    const outcome = await collectorOf(url, { timeoutMs: 150 }).export(LARGE);
    expect(outcome).toEqual({ failed: 9, problem: 'the collector takes longer than 150 ms' });
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });

  it('that is dead fails it at once where there is no time to ask again', async () => {
    const server = createServer();
    const url = `http://127.0.0.1:${await listen(server)}`;
    server.close();
    const outcome = await collectorOf(url, { timeoutMs: 500 }).export(BODY);
    expect(outcome).toMatchObject({ failed: 9, problem: expect.stringContaining('ECONNREFUSED') });
  });

  it('is trusted by its certificate, and trusts ours', async () => {
    const [cert, key, ca] = [certificate('backend'), certificate('backend-key'), certificate('ca')];
    const server = createSecureServer({ cert, key, ca, requestCert: true }, (request, response) => {
      void bytesOf(request).then(() => response.writeHead(200).end());
    });
    const url = `https://127.0.0.1:${await listen(server)}`;
    const own = { cert: certificate('other'), key: certificate('other-key') };
    expect(await collectorOf(url, { ca, ...own }).export(BODY)).toEqual(NOTHING_FAILED);
    expect(await collectorOf(url, { ca: own.cert }).export(BODY)).toMatchObject({ failed: 9 });
  });

  it('sees a renewed certificate from the next export on, and the renewed authorities are trusted', async () => {
    const [cert, key, ca] = [certificate('backend'), certificate('backend-key'), certificate('ca')];
    const presented: (string | undefined)[] = [];
    const sockets = new Set<unknown>();
    const server = createSecureServer({ cert, key, ca, requestCert: true }, (request, response) => {
      sockets.add(request.socket);
      presented.push((request.socket as TLSSocket).getPeerX509Certificate()?.serialNumber);
      void bytesOf(request).then(() => response.writeHead(200).end());
    });
    const url = `https://127.0.0.1:${await listen(server)}`;
    const of = (name: string) => ({ cert: certificate(name), key: certificate(`${name}-key`) });
    const plain = { headers: {}, timeoutMs: 5_000, compression: 'none' } as const;
    const collector = collectorOf(url, { ca, ...of('other') });
    for (let count = 0; count < 2; count++) expect(await collector.export(BODY)).toEqual(NOTHING_FAILED);
    collector.renew({ ...plain, ca, ...of('backend') });
    expect(await collector.export(BODY)).toEqual(NOTHING_FAILED);
    const serial = (name: string): string => new X509Certificate(certificate(name)).serialNumber;
    expect(presented).toEqual(['other', 'other', 'backend'].map(serial));
    expect(sockets.size, 'the connection of before is not used any more').toBe(2);
    collector.renew({ ...plain, ca: certificate('other'), ...of('backend') });
    expect(await collector.export(BODY)).toMatchObject({ failed: 9 });
  });

  it.each([
    ['requires a certificate', 'TLSv1.3', 'the server requires a certificate from its clients'],
    [
      'requires a certificate by TLS 1.2',
      'TLSv1.2',
      'the server refuses the TLS handshake: perhaps the server requires a certificate from its clients',
    ],
  ] as const)('that %s says so in words', async (_what, maxVersion, problem) => {
    const [cert, key, ca] = [certificate('backend'), certificate('backend-key'), certificate('ca')];
    const server = createSecureServer({ cert, key, ca, requestCert: true, maxVersion });
    const url = `https://127.0.0.1:${await listen(server)}`;
    const advice = 'set GATEWAY_OTEL__CLIENT_CERT_FILE and GATEWAY_OTEL__CLIENT_KEY_FILE';
    const outcome = { failed: 9, problem: `${problem}: ${advice}` };
    expect(await collectorOf(url, { ca }).export(SHORT)).toEqual(outcome);
  });

  it('without TLS at an https URL says so in words', async () => {
    const { url } = await serve((response) => void response.end());
    expect(await collectorOf(url.replace('http:', 'https:')).export(SHORT)).toEqual({
      failed: 9,
      problem: 'the server does not answer in TLS: its URL may have to begin with http://',
    });
  });

  it('for gRPC says that it has another port', async () => {
    const server = createServerOfHttp2((request) => void request.resume());
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    closers.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const { problem } = await collectorOf(`http://127.0.0.1:${port}/v1/traces`).export(SHORT);
    expect(problem).toContain('if its port is for gRPC');
  });

  it('that redirects has accepted nothing, and the problem says where it redirects to', async () => {
    const { url, got } = await serve((response) => {
      response.writeHead(307, { Location: '/elsewhere/v1/traces?key=secret' }).end();
    });
    const { failed, problem } = await collectorOf(url).export(BODY);
    expect(failed).toBe(9);
    const target = url.replace('/v1', '/elsewhere/v1');
    expect(problem).toBe(
      `the collector answers 307: redirects are not followed: set the whole URL ${target} in GATEWAY_OTEL__TRACES_ENDPOINT`,
    );
    expect(got).toHaveLength(1);
  });

  it('that answers with a web page has accepted nothing', async () => {
    const { url } = await serve((response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Sign in</title>');
    });
    const problem = 'the collector answers 200: with a web page, so it accepts no traces at this URL';
    expect(await collectorOf(url).export(BODY)).toEqual({ failed: 9, problem });
  });
});
