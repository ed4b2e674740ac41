/**
 * Backends that we did not write, as judges of what the gateway sends: each tells every request that it read, in
 * order, as its request line and, where it says so, the length of the body. nginx, HAProxy and Apache httpd are
 * installed where the tests may do so, see install-program.ts.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installedProgram } from './install-program.ts';
import { accepts, collectLines, freePort, ready, stop } from './origin-process.ts';
import { requireProgram } from './programs.ts';
import { startApache } from './reading-apache.ts';

export interface ReadRequest {
  /** The request line; for a request that it refused anything that no request line is. */
  readonly line: string;
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

export const readingOrigins: readonly (readonly [name: string, start: () => Promise<ReadingOrigin>])[] = [
  ['node:http', startNode],
  ['python3', startPython],
  ['nginx', startNginx],
  ['haproxy', startHaproxy],
  ['apache', startApache],
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
  const child = spawn(installedProgram('haproxy', 'haproxy'), ['-db', '-f', join(folder, 'haproxy.cfg')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const lines = collectLines(child);
  await ready(() => accepts(port), 'haproxy');
  return {
    port,
    requests: () =>
      lines().map((line) => ({
        // It escapes what could break a line of its log. A request that it refuses is told as <BADREQ>.
        line: line.replace(/#([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
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
