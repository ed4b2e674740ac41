/** A client of HTTP/2 for tests: node's own, with everything that a stream brought in one record. */
import { readFileSync } from 'node:fs';
import * as http2 from 'node:http2';
import { join } from 'node:path';

const pem = (name: string): string => readFileSync(join(import.meta.dirname, '../tls', name), 'utf8');
export const CA = pem('ca.pem');
/** For localhost, 127.0.0.1 and backend.test. */
export const TLS_PAIR = { cert: pem('backend.pem'), key: pem('backend-key.pem') };

export interface Http2Client {
  readonly session: http2.ClientHttp2Session;
  close(): Promise<void>;
}

export interface Http2Response {
  readonly status: number;
  readonly headers: http2.IncomingHttpHeaders;
  readonly interim: readonly http2.IncomingHttpHeaders[];
  readonly trailers: http2.IncomingHttpHeaders;
  readonly body: Buffer;
  /** Of RST_STREAM; 0 when there was none. */
  readonly code: number;
}

export interface Http2Options extends http2.SecureClientSessionOptions {
  /** Without TLS, with prior knowledge. */
  readonly isPlain?: boolean;
}

export async function connectHttp2(
  port: number,
  { isPlain = false, ...options }: Http2Options = {},
): Promise<Http2Client> {
  const session = isPlain
    ? http2.connect(`http://127.0.0.1:${port}`, options)
    : http2.connect(`https://localhost:${port}`, { ca: CA, ...options });
  session.on('error', () => undefined);
  await new Promise<void>((done, fail) => {
    session.once('connect', () => done());
    session.once('close', () => fail(new Error('The connection was refused')));
  });
  return {
    session,
    close: async () => {
      if (session.destroyed) return;
      const closed = new Promise((done) => session.once('close', done));
      session.destroy();
      await closed;
    },
  };
}

export interface RequestOptions {
  readonly body?: Buffer;
  /** The body is written in pieces of this size. */
  readonly pieceBytes?: number;
  readonly trailers?: http2.OutgoingHttpHeaders;
  /** The body is not written before a 100 has come. */
  readonly waitForContinue?: boolean;
}

/** Resolves when the stream is closed, however it ends. */
export function request(
  client: Http2Client,
  headers: http2.OutgoingHttpHeaders,
  { body, pieceBytes = Infinity, trailers, waitForContinue = false }: RequestOptions = {},
): Promise<Http2Response> {
  const stream = client.session.request(headers, {
    endStream: body === undefined,
    ...(trailers === undefined ? {} : { waitForTrailers: true }),
  });
  stream.on('error', () => undefined);
  if (trailers !== undefined) stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  const send = (): void => {
    if (body === undefined) return;
    for (let from = 0; from < body.length; from += pieceBytes)
      stream.write(body.subarray(from, Math.min(body.length, from + pieceBytes)));
    stream.end();
  };
  if (waitForContinue) stream.once('continue', send);
  else send();
  const interim: http2.IncomingHttpHeaders[] = [];
  const chunks: Buffer[] = [];
  let responseHeaders: http2.IncomingHttpHeaders = {};
  let receivedTrailers: http2.IncomingHttpHeaders = {};
  stream.on('headers', (fields) => interim.push(fields));
  stream.on('response', (fields) => (responseHeaders = fields));
  stream.on('trailers', (fields) => (receivedTrailers = fields));
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((done) =>
    stream.once('close', () =>
      done({
        status: Number(responseHeaders[':status'] ?? 0),
        headers: responseHeaders,
        interim,
        trailers: receivedTrailers,
        body: Buffer.concat(chunks),
        code: stream.rstCode ?? 0,
      }),
    ),
  );
}
