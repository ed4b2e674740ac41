/**
 * A peer: the proxy that one writes with what Node.js has, `node:http` in front and undici's dispatcher behind, in
 * the fastest form that is still correct: bodies are streamed with back-pressure, hop-by-hop fields are dropped. It has
 * no policy at all.
 */
import * as http from 'node:http';
import { Pool, type Dispatcher } from 'undici';

const port = Number(process.env['BENCH_PORT']);
const pool = new Pool(`http://127.0.0.1:${process.env['BENCH_ORIGIN_PORT']}`, { connections: 1024 });
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
]);

function forwarded(request: http.IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = { 'x-forwarded-for': request.socket.remoteAddress ?? '' };
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string' && !HOP_BY_HOP.has(name)) headers[name] = value;
  }
  return headers;
}

function handler(response: http.ServerResponse): Dispatcher.DispatchHandler {
  return {
    onRequestStart: () => undefined,
    onResponseStart: (_controller, status, headers) => {
      for (const name of HOP_BY_HOP) delete headers[name];
      response.writeHead(status, headers);
    },
    onResponseData: (controller, chunk) => {
      if (response.write(chunk)) return;
      controller.pause();
      response.once('drain', () => controller.resume());
    },
    onResponseEnd: () => void response.end(),
    onResponseError: () => {
      if (!response.headersSent) response.writeHead(502);
      response.end();
    },
  };
}

const server = http.createServer((request, response) => {
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
  pool.dispatch(
    {
      path: request.url ?? '/',
      method: request.method as Dispatcher.HttpMethod,
      headers: forwarded(request),
      body: hasBody ? request : null,
    },
    handler(response),
  );
});
server.keepAliveTimeout = 75_000;
server.listen(port, '127.0.0.1');
