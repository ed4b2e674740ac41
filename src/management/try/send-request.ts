/**
 * Sends one request to the gateway's own listener over its own connection, and collects the response, up to a
 * limited number of bytes and milliseconds. Never throws: a failed connection is an outcome, as it is for a client.
 */
import { toMicroseconds } from '../../lib/clock.ts';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { request } from '../../lib/node-http.ts';
import { TRY_BODY_MAX, TRY_TIMEOUT_DEFAULT_MS, type TryInput, type TryOutcome } from './try-schema.ts';

/** Where the gateway itself takes traffic. */
export interface OwnListener {
  /** An IP address of this machine. */
  readonly address: string;
  readonly port: number;
  readonly isSecure: boolean;
  /** Whether connections of that address must begin with a PROXY header. */
  readonly isAnnounced: (address: string) => boolean;
}

/** The outcome without what only the records of the workers know. */
export type Received = Omit<TryOutcome, 'denial'>;

const HEAD_BYTES_MAX = 262_144;

export async function sendRequest(
  listener: OwnListener,
  input: TryInput,
  nowMs: () => number,
): Promise<Received> {
  const startMs = nowMs();
  const socket = connectTo(listener, input.host ?? 'localhost');
  // The request reports errors of the socket. An error after its end has no other listener than this one.
  socket.on('error', () => undefined);
  const sent = open(socket, input);
  const answer = new Collected(socket);
  const timeoutMs = input.timeout_ms ?? TRY_TIMEOUT_DEFAULT_MS;
  const timer = setTimeout(() => answer.expire(sent, timeoutMs), timeoutMs);
  try {
    await answer.collect(sent, input.body);
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
  const url = urlOf(listener, input.path);
  return { url, ...answer.outcome, duration_ms: toMicroseconds(nowMs() - startMs) };
}

function urlOf({ address, port, isSecure }: OwnListener, path: string): string {
  const host = isIP(address) === 6 ? `[${address}]` : address;
  return `${isSecure ? 'https' : 'http'}://${host}:${port}${path}`;
}

/** The certificate is not verified: it is this gateway's own, and names the public host. */
function connectTo({ address, port, isSecure, isAnnounced }: OwnListener, host: string): Socket {
  const plain = connectPlain({ host: address, port });
  // A machine reaches itself from the address that it connects to.
  if (isAnnounced(address)) plain.write('PROXY UNKNOWN\r\n');
  if (!isSecure) return plain;
  const name = host.replace(/:\d*$/, '');
  const servername = isIP(name.replaceAll(/^\[|\]$/g, '')) === 0 ? name : '';
  const options = { socket: plain, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] };
  return connectTls({ ...options, servername });
}

function open(
  socket: Socket,
  { method, path, host = 'localhost', headers = [], body }: TryInput,
): ClientRequest {
  const isBare = body === undefined && /^(?:GET|HEAD|OPTIONS|DELETE|TRACE)$/i.test(method);
  const fields = [
    ['Host', host],
    ...headers,
    ['Connection', 'close'],
    ...(isBare ? [] : [['Content-Length', String(Buffer.byteLength(body ?? ''))]]),
  ];
  return request({
    // Without an agent, which would open its own connection.
    createConnection: () => socket,
    method,
    path,
    headers: fields.flat(),
    setHost: false,
    maxHeaderSize: HEAD_BYTES_MAX,
  });
}

/** The bytes that have arrived so far. */
class Collected {
  readonly #socket: Socket;
  #response: IncomingMessage | undefined;
  #body = Buffer.alloc(0);
  #truncated = false;
  #problem: string | undefined;
  #address: string | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.once('connect', () => (this.#address = socket.localAddress));
  }

  async collect(sent: ClientRequest, body: string | undefined): Promise<void> {
    try {
      this.#response = await new Promise<IncomingMessage>((resolve, reject) => {
        sent.once('response', resolve).once('error', reject);
        sent.once('upgrade', () => reject(new Error('the answer switches protocols')));
        sent.end(body);
      });
      for await (const chunk of this.#response as AsyncIterable<Buffer>) {
        const room = TRY_BODY_MAX - this.#body.length;
        this.#body = Buffer.concat([this.#body, chunk.subarray(0, room)]);
        this.#truncated = chunk.length > room;
        if (this.#truncated) return;
      }
    } catch (error) {
      this.#truncated = this.#response !== undefined;
      this.#problem ??= reasonOf(error);
    }
  }

  expire(sent: ClientRequest, timeoutMs: number): void {
    this.#problem = `the time-out of ${timeoutMs} ms has passed`;
    sent.destroy();
  }

  get outcome(): Omit<Received, 'url' | 'duration_ms'> {
    const response = this.#response;
    const text = textOf(this.#body, this.#truncated);
    const pairs = pairsOf(response?.rawHeaders ?? []);
    return {
      status: response?.statusCode ?? null,
      headers: pairs,
      body: text ?? this.#body.toString('base64'),
      body_encoding: text === undefined ? 'base64' : 'text',
      truncated: this.#truncated,
      problem: this.#problem ?? null,
      request_id: pairs.find(([name]) => name?.toLowerCase() === 'x-request-id')?.[1] ?? null,
      client_address: this.#address ?? this.#socket.localAddress ?? null,
    };
  }
}

/** undefined when the bytes are not text. A cut may be within a character, which is then left out. */
function textOf(bytes: Buffer, isCut: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}

function pairsOf(raw: readonly string[]): string[][] {
  const pairs: string[][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] ?? '', raw[at + 1] ?? '']);
  return pairs;
}

/** The last error of a chain says why; a code alone is for programs. */
function reasonOf(error: unknown): string {
  const { message, code } = error as { readonly message?: unknown; readonly code?: unknown };
  if (code === 'ECONNRESET' || code === 'ECONNREFUSED' || code === 'EPIPE')
    return `the connection ended (${code})`;
  return typeof message === 'string' && message !== '' ? message : 'the connection ended';
}
