/**
 * Debian's pebble, an ACME authority for tests, behind a relay of ours that counts orders and can fail: installed
 * through apt where it is missing and that is possible, else the test fails with the command to run.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort, ready } from '../backends/origin-process.ts';
import { installedProgram } from './install-program.ts';
import { plainEnvironment } from './programs.ts';

const TLS = resolve(import.meta.dirname, '../tls');
const CERTIFICATE = join(TLS, 'backend.pem');
const KEY = join(TLS, 'backend-key.pem');
/** Of the relay's certificate. */
export const DIRECTORY_CA_FILE = join(TLS, 'ca.pem');

/** `lost` loses the request, `unheard` the answer; both end the connection. */
export type Fate = 'pass' | 'lost' | 'unheard' | 'error' | 'junk' | 'huge' | 'silent' | 'limited';

export interface RelayedRequest {
  readonly method: string;
  /** Such as `/order-plz`. */
  readonly path: string;
}

export interface PebbleOptions {
  /** Where pebble looks for answers to challenges. */
  readonly httpPort?: number;
  readonly tlsPort?: number;
  readonly dnsServer: string;
  /** Life of certificates in seconds. */
  readonly validitySecs?: number;
  /** Per cent of good nonces that are refused. */
  readonly nonceRejects?: number;
  /** Per cent of authorizations that are used again. */
  readonly authorizationReuse?: number;
  /** Keys of external accounts by their ids; without one of them there is no account. */
  readonly externalAccounts?: Readonly<Record<string, string>>;
}

export interface Pebble {
  /** GATEWAY_ACME__DIRECTORY. */
  readonly directory: string;
  /** PEM: what certificates are verified with. */
  root(): Promise<string>;
  /** What becomes of the next requests. */
  fate: (request: RelayedRequest) => Fate;
  /** All requests that came, in their order. */
  readonly requests: RelayedRequest[];
  /** Names of the orders that pebble has made, one for each. */
  readonly orders: string[];
  /** Added to the directory; a path of the relay with what it answers. */
  readonly extra: Map<string, () => object>;
  output(): string;
  close(): Promise<void>;
}

export const ORDER_PATH = '/order-plz';
const HUGE_BYTES = 4 * 1_048_576;

export async function startPebble(options: PebbleOptions): Promise<Pebble> {
  const program = installedProgram('pebble', 'pebble');
  const folder = mkdtempSync(join(tmpdir(), 'headgate-pebble-'));
  const [port, managementPort] = [await freePort(), await freePort()];
  const config = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: CERTIFICATE,
    privateKey: KEY,
    httpPort: options.httpPort ?? 1,
    tlsPort: options.tlsPort ?? 1,
    certificateValidityPeriod: options.validitySecs ?? 0,
    ...(options.externalAccounts !== undefined && {
      externalAccountBindingRequired: true,
      externalAccountMACKeys: options.externalAccounts,
    }),
  };
  writeFileSync(join(folder, 'pebble.json'), JSON.stringify({ pebble: config }));
  const child = spawn(program, ['-config', join(folder, 'pebble.json'), '-dnsserver', options.dnsServer], {
    cwd: folder,
    env: {
      ...plainEnvironment(folder),
      PEBBLE_VA_NOSLEEP: '1',
      PEBBLE_WFE_ORDERS_PER_PAGE: '5',
      PEBBLE_WFE_NONCEREJECT: String(options.nonceRejects ?? 5),
      PEBBLE_AUTHZREUSE: String(options.authorizationReuse ?? 0),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  await ready(async () => (await get(port, '/dir').catch(() => '')) !== '', 'pebble');
  const pebble: Pebble = {
    directory: '',
    root: () => get(managementPort, '/roots/0'),
    fate: () => 'pass',
    requests: [],
    orders: [],
    extra: new Map(),
    output: () => output,
    close: async () => {
      relay.closeAllConnections();
      relay.close();
      await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  const relay = https.createServer({ cert: readFileSync(CERTIFICATE), key: readFileSync(KEY) });
  relay.on('request', (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => void answer(pebble, port, request, body, response));
    request.on('error', () => undefined);
  });
  await new Promise<void>((done) => relay.listen(0, '127.0.0.1', done));
  const directory = `https://localhost:${(relay.address() as AddressInfo).port}/dir`;
  return Object.assign(pebble, { directory });
}

async function answer(
  pebble: Pebble,
  port: number,
  request: IncomingMessage,
  body: string,
  response: ServerResponse,
): Promise<void> {
  const { method = '', url: path = '', headers } = request;
  pebble.requests.push({ method, path });
  const fate = pebble.fate({ method, path });
  if (fate === 'silent') return;
  const extra = [...pebble.extra].find(([start]) => path.startsWith(start));
  if (extra !== undefined) return void response.end(JSON.stringify(extra[1]()));
  if (fate === 'lost') return void request.socket.destroy();
  if (fate === 'error') return void response.writeHead(503, { 'retry-after': '0' }).end('busy');
  if (fate === 'junk') return void response.end('<html>');
  if (fate === 'huge') return void response.end(Buffer.alloc(HUGE_BYTES, 0x20));
  if (fate === 'limited') {
    const problem = { type: 'urn:ietf:params:acme:error:rateLimited', detail: 'too many orders' };
    response.writeHead(429, { 'content-type': 'application/problem+json', 'retry-after': '2' });
    return void response.end(JSON.stringify(problem));
  }
  const found = await forward(port, method, path, headers, body);
  if (path === ORDER_PATH && found.status === 201)
    for (const { value } of (JSON.parse(found.body) as { identifiers: { value: string }[] }).identifiers)
      pebble.orders.push(value);
  if (fate === 'unheard') return void request.socket.destroy();
  const isDirectory = path === '/dir' && pebble.extra.size > 0;
  const { host = '' } = headers;
  const additions = [...pebble.extra.keys()].map((start) => [start.slice(1), `https://${host}${start}`]);
  const text = isDirectory
    ? JSON.stringify({ ...JSON.parse(found.body), ...Object.fromEntries(additions) })
    : found.body;
  const { 'content-length': _length, ...fields } = found.headers;
  response.writeHead(found.status, fields).end(text);
}

function forward(
  port: number,
  method: string,
  path: string,
  headers: IncomingHttpHeaders,
  body: string,
): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> {
  return new Promise((done, fail) => {
    const sent = https.request(
      { port, host: '127.0.0.1', method, path, headers, rejectUnauthorized: false, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () =>
          done({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        );
      },
    );
    sent.on('error', fail);
    sent.end(body);
  });
}

function get(port: number, path: string): Promise<string> {
  return forward(port, 'GET', path, {}, '').then(({ body }) => body);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((done) => child.once('exit', done));
  child.kill('SIGKILL');
  await exited;
}
