/**
 * A Git server: bare repositories behind `git http-backend`, which is run for each request as RFC 3875 (CGI)
 * describes. Bodies are streamed both ways and the request's framing is written down, for tests of what a Git
 * client really sends. Every client may push: access is the gateway's business.
 */
import { spawn } from 'node:child_process';
import * as http from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';

export interface GitRequest {
  readonly method: string;
  readonly url: string;
  readonly contentEncoding: string | undefined;
  readonly transferEncoding: string | undefined;
  readonly contentLength: string | undefined;
  readonly protocol: string | undefined;
  /** Body bytes as they came, still compressed. */
  bytes: number;
}

export interface GitBackend {
  readonly port: number;
  readonly requests: GitRequest[];
  close(): Promise<void>;
}

/** @param folder holds the repositories */
export async function startGitBackend(git: string, folder: string, home: string): Promise<GitBackend> {
  const requests: GitRequest[] = [];
  const server = http.createServer((request, response) => {
    const seen = describe(request);
    requests.push(seen);
    request.on('data', (chunk: Buffer) => (seen.bytes += chunk.length));
    serve(request, response, spawn(git, ['http-backend'], { env: variables(request, folder, home) }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}

function describe(request: http.IncomingMessage): GitRequest {
  const { headers } = request;
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    contentEncoding: headers['content-encoding'],
    transferEncoding: headers['transfer-encoding'],
    contentLength: headers['content-length'],
    protocol: headers['git-protocol'] as string | undefined,
    bytes: 0,
  };
}

/** Meta-variables of RFC 3875 section 4.1, and those of git-http-backend(1). */
function variables(request: http.IncomingMessage, folder: string, home: string): Record<string, string> {
  const url = new URL(request.url ?? '/', 'http://backend');
  const { headers } = request;
  const optional = {
    CONTENT_TYPE: headers['content-type'],
    CONTENT_LENGTH: headers['content-length'],
    HTTP_CONTENT_ENCODING: headers['content-encoding'],
    GIT_PROTOCOL: headers['git-protocol'] as string | undefined,
  };
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_PROJECT_ROOT: folder,
    GIT_HTTP_EXPORT_ALL: '1',
    GATEWAY_INTERFACE: 'CGI/1.1',
    SERVER_PROTOCOL: 'HTTP/1.1',
    REQUEST_METHOD: request.method ?? '',
    PATH_INFO: decodeURIComponent(url.pathname),
    QUERY_STRING: url.search.slice(1),
    REMOTE_ADDR: request.socket.remoteAddress ?? '',
    // With a user named, receive-pack is allowed without being configured in each repository.
    REMOTE_USER: 'tester',
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  };
}

function serve(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  child: ReturnType<typeof spawn>,
): void {
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error('the pipes were not made');
  // The program may end without having read everything, and the client may leave: both end the exchange.
  pipeline(request, stdin, () => undefined);
  response.on('close', () => child.kill());
  stderr.resume();
  let head = Buffer.alloc(0);
  const onHeadData = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    stdout.off('data', onHeadData);
    stdout.pause();
    writeHead(response, head.subarray(0, end).toString('latin1'));
    response.write(head.subarray(end + 4));
    pipeline(stdout, response, () => undefined);
  };
  stdout.on('data', onHeadData);
  child.once('close', () => {
    if (response.headersSent) return;
    response.writeHead(500).end('git http-backend gave no answer');
  });
}

/** RFC 3875 section 6.3: `Status` is the status line, everything else is passed on. */
function writeHead(response: http.ServerResponse, text: string): void {
  let status = 200;
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).trim();
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
  response.writeHead(status);
}
