/**
 * Backends that we did not write, as judges of what the gateway sends: each tells every request that it read, in
 * order, as its request line and, where it says so, the length of the body. Python and node:http are always there;
 * nginx and HAProxy where they are installed.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as http from 'node:http';
import * as net from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, requireProgram } from './programs.ts';

export interface ReadRequest {
  /** undefined for a request that it refused and does not tell more of. */
  readonly line: string | undefined;
  /** undefined where the origin does not tell. */
  readonly bodyBytes: number | undefined;
}

export interface ReadingOrigin {
  readonly port: number;
  /** What it has read so far. Requests that it refused are among them, with the request line as it came. */
  requests(): ReadRequest[];
  close(): Promise<void>;
}

/** More than the gateway passes on. */
const HEAD_BYTES_MAX = 128 * 1024;
const READY_MS_MAX = 10_000;

export const readingOrigins: readonly (readonly [name: string, start: () => Promise<ReadingOrigin>])[] = [
  ['node:http', startNode],
  ['python3', startPython],
  ...(findProgram('nginx') === undefined ? [] : [['nginx', startNginx] as const]),
  ...(findProgram('haproxy') === undefined ? [] : [['haproxy', startHaproxy] as const]),
];

async function startNode(): Promise<ReadingOrigin> {
  const read: ReadRequest[] = [];
  const server = http.createServer(
    { insecureHTTPParser: false, maxHeaderSize: HEAD_BYTES_MAX },
    (request, response) => {
      let bodyBytes = 0;
      request.on('data', (chunk: Buffer) => (bodyBytes += chunk.length));
      request.on('end', () => {
        read.push({ line: `${request.method} ${request.url} HTTP/${request.httpVersion}`, bodyBytes });
        response.end('ok');
      });
    },
  );
  server.on('clientError', (error: Error & { rawPacket?: Buffer }, socket) => {
    const line = error.rawPacket?.toString('latin1').split('\r\n')[0];
    // A connection that just ends has sent no request.
    if (line !== undefined) read.push({ line, bodyBytes: undefined });
    socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    requests: () => read,
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

async function startPython(): Promise<ReadingOrigin> {
  const script = join(import.meta.dirname, 'strict_origin.py');
  const child = spawn(requireProgram('python3'), [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = collectLines(child);
  await ready(() => lines().length > 0, 'python3');
  const [first, ...rest] = [JSON.parse(lines()[0] ?? '') as { port: number }];
  return {
    port: first.port,
    requests: () => [
      ...rest,
      ...lines()
        .slice(1)
        .map((line) => JSON.parse(line) as ReadRequest),
    ],
    close: () => stop(child),
  };
}

async function startNginx(): Promise<ReadingOrigin> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-nginx-'));
  const port = await freePort();
  const logFile = join(folder, 'access.log');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ');
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
    events { worker_connections 1024; }
    http {
      ${temporary}
      log_format lines escape=json '{"line":"$request"}';
      access_log ${logFile} lines;
      large_client_header_buffers 8 64k; client_header_buffer_size 64k; client_max_body_size 0;
      keepalive_requests 100000;
      server { listen 127.0.0.1:${port}; location / { return 200 ok; } }
    }`,
  );
  const child = spawn(requireProgram('nginx'), ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: 'ignore',
  });
  await ready(() => accepts(port), 'nginx');
  return {
    port,
    requests: () => jsonLines(readFileSync(logFile, 'utf8')).filter(({ line }) => line !== ''),
    close: async () => {
      await stop(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startHaproxy(): Promise<ReadingOrigin> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-haproxy-'));
  const port = await freePort();
  writeFileSync(
    join(folder, 'haproxy.cfg'),
    `global
      log stdout len 65535 format raw local0
      tune.bufsize 131072
      tune.http.logurilen 65535
      tune.http.maxhdr 1000
    defaults
      mode http
      log global
      option http-buffer-request
      option dontlognull
      log-format "%HM %HU %HV"
      timeout client 20s
      timeout server 20s
      timeout connect 5s
    frontend origin
      bind 127.0.0.1:${port}
      http-request return status 200 content-type text/plain string ok\n`,
  );
  const child = spawn(requireProgram('haproxy'), ['-db', '-f', join(folder, 'haproxy.cfg')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const lines = collectLines(child);
  await ready(() => accepts(port), 'haproxy');
  return {
    port,
    requests: () =>
      lines().map((line) => ({
        // It escapes what could break a line of its log.
        line: line.startsWith('<BADREQ>')
          ? undefined
          : line.replace(/#([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
        bodyBytes: undefined,
      })),
    close: async () => {
      await stop(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function jsonLines(text: string): ReadRequest[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({ line: (JSON.parse(line) as { line: string }).line, bodyBytes: undefined }));
}

function collectLines(child: ChildProcess): () => string[] {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return () => text.split('\n').slice(0, -1);
}

async function ready(look: () => boolean | Promise<boolean>, name: string): Promise<void> {
  const endMs = performance.now() + READY_MS_MAX;
  while (!(await look())) {
    if (performance.now() > endMs) throw new Error(`${name} did not start within ${READY_MS_MAX} ms`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  await exited;
}
