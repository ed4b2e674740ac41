/**
 * Many backends of unequal speed in one program: every third one needs five times as long for a request. Each has a few
 * requests in work at one time, and the others wait, as behind a pool of threads. A port of its own answers with the
 * numbers of requests that each has had, and starts over.
 *
 * Run by bench/workloads/balance.ts: `node unequal-origin.ts <port>,<port>,… <port of the counts> <requests in work>
 * <ms of a fast one>`.
 */
import { createServer, type ServerResponse } from 'node:http';

const SLOWER = 5;
const BODY = Buffer.alloc(100, 'x');

const [ports = '', countsPort = '', slots = '', fastMs = ''] = process.argv.slice(2);
const counts: number[] = [];

for (const [index, port] of ports.split(',').entries()) {
  counts.push(0);
  const durationMs = Number(fastMs) * (index % 3 === 0 ? SLOWER : 1);
  const waiting: ServerResponse[] = [];
  let working = 0;
  const next = (): void => {
    const response = working < Number(slots) ? waiting.shift() : undefined;
    if (response === undefined) return;
    working += 1;
    setTimeout(() => {
      working -= 1;
      response.end(BODY);
      next();
    }, durationMs);
  };
  createServer((_request, response) => {
    counts[index] = (counts[index] ?? 0) + 1;
    waiting.push(response);
    next();
  })
    .on('connection', (socket) => socket.on('error', () => undefined))
    .listen({ port: Number(port), host: '127.0.0.1', backlog: 4_096 })
    .setTimeout(0).keepAliveTimeout = 600_000;
}

createServer((_request, response) => {
  response.end(JSON.stringify(counts.splice(0, counts.length, ...counts.map(() => 0))));
}).listen(Number(countsPort), '127.0.0.1');
