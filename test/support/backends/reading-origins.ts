/**
 * Backends that we did not write, as judges of what the gateway sends: each tells every request that it read, in
 * order, as its request line and, where it says so, what the body was. nginx, HAProxy and Apache httpd are installed
 * where the tests may do so, see install-program.ts.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installedProgram } from '../programs/install-program.ts';
import { accepts, collectLines, freePort, ready, stop } from './origin-process.ts';
import { requireProgram } from '../programs/programs.ts';
import { startApache } from './reading-apache.ts';

export interface ReadRequest {
  /** The request line; for a request that it refused anything that no request line is. */
  readonly line: string;
  /** undefined where the origin does not tell, and for a request that it refused. */
  readonly body: ReadBody | undefined;
}

export interface ReadBody {
  readonly bytes: number;
  /** SHA-256 of its content, without any framing, in hexadecimal digits. */
  readonly digest: string;
}

export interface ReadingOrigin {
  readonly port: number;
  /** What it has read so far. Requests that it refused are among them, with the request line as it came. */
  requests(): ReadRequest[];
  close(): Promise<void>;
}

/** More than the gateway passes on. */
const HEAD_BYTES_MAX = 128 * 1024;
/** What HAProxy buffers of a request, head and body, to tell of it. */
const HAPROXY_BUFFER_BYTES = 256 * 1024;

/** @property bodyBytesMax up to this length the origin tells of bodies; none at all: -1 */
export const readingOrigins: readonly (readonly [
  name: string,
  start: () => Promise<ReadingOrigin>,
  bodyBytesMax: number,
])[] = [
  ['node:http', startNode, Infinity],
  ['python3', startPython, Infinity],
  ['nginx', startNginx, Infinity],
  ['haproxy', startHaproxy, HAPROXY_BUFFER_BYTES / 2],
  ['apache', startApache, -1],
];

export function readBody(content: Buffer): ReadBody {
  return { bytes: content.length, digest: createHash('sha256').update(content).digest('hex') };
}

async function startNode(): Promise<ReadingOrigin> {
  const read: ReadRequest[] = [];
  const server = http.createServer(
    { insecureHTTPParser: false, maxHeaderSize: HEAD_BYTES_MAX },
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const line = `${request.method} ${request.url} HTTP/${request.httpVersion}`;
        read.push({ line, body: readBody(Buffer.concat(chunks)) });
        response.end('ok');
      });
    },
  );
  server.on('clientError', (error: Error & { rawPacket?: Buffer }, socket) => {
    const line = error.rawPacket?.toString('latin1').split('\r\n')[0];
    // A connection that just ends has sent no request.
    if (line !== undefined) read.push({ line, body: undefined });
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

/** It reads the whole of a request only to pass it on; so it does, to a server of its own that does not count. */
async function startNginx(): Promise<ReadingOrigin> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-nginx-'));
  const port = await freePort();
  const logFile = join(folder, 'access.log');
  const answering = join(folder, 'answering');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ');
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log;
    events { worker_connections 1024; }
    http {
      ${temporary}
      log_format lines escape=json '{"status":"$status","line":"$request","body":"$request_body"}';
      large_client_header_buffers 8 64k; client_header_buffer_size 64k; client_max_body_size 0;
      client_body_buffer_size 2m; client_body_in_single_buffer on;
      keepalive_requests 100000;
      server { listen 127.0.0.1:${port}; access_log ${logFile} lines; location / { proxy_pass http://unix:${answering}; } }
      server { listen unix:${answering}; access_log off; location / { return 200 ok; } }
    }`,
  );
  const child = spawn(
    installedProgram('nginx', 'nginx-light'),
    ['-p', folder, '-c', join(folder, 'nginx.conf')],
    {
      stdio: 'ignore',
    },
  );
  await ready(() => accepts(port), 'nginx');
  return {
    port,
    requests: () => readNginxLog(readFileSync(logFile, 'latin1')),
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
      tune.bufsize ${HAPROXY_BUFFER_BYTES}
      tune.http.logurilen 65535
      tune.http.maxhdr 1000
    defaults
      mode http
      log global
      option http-buffer-request
      option dontlognull
      log-format "%[var(txn.bytes)] %[var(txn.digest)] %HM %HU %HV"
      timeout client 20s
      timeout server 20s
      timeout connect 5s
    frontend origin
      bind 127.0.0.1:${port}
      http-request set-var(txn.bytes) req.body_size
      http-request set-var(txn.digest) req.body,sha2(256),hex,lower
      http-request return status 200 content-type text/plain string ok\n`,
  );
  const child = spawn(installedProgram('haproxy', 'haproxy'), ['-db', '-f', join(folder, 'haproxy.cfg')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const lines = collectLines(child);
  await ready(() => accepts(port), 'haproxy');
  return {
    port,
    requests: () => lines().map(readHaproxyLine),
    close: async () => {
      await stop(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function readHaproxyLine(entry: string): ReadRequest {
  const [, bytes, digest, line] = /^(\S+) (\S+) (.*)$/.exec(entry) ?? [];
  return {
    // It escapes what could break a line of its log. A request that it refuses is told as <BADREQ>.
    line: (line ?? entry).replace(/#([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(parseInt(hex, 16)),
    ),
    body: digest === undefined || digest === '-' ? undefined : { bytes: Number(bytes), digest },
  };
}

/** A request that it refuses has an empty line when not even its first line could be read. */
function readNginxLog(text: string): ReadRequest[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((entry) => JSON.parse(entry) as { status: string; line: string; body: string })
    .map(({ status, line, body }) =>
      status === '200'
        ? { line, body: readBody(Buffer.from(body, 'latin1')) }
        : { line: `${line} (${status})`, body: undefined },
    );
}
