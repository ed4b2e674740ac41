/**
 * Responses that come bit by bit: Server-Sent Events, long polling, chunks in general. Each part must reach the client
 * before the backend sends the next, which here it does only when the client says that it has got it.
 */
import * as http from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';

const EVENTS = 20;
/** A part that waits for the next one would wait for ever; this only bounds a failing test. */
const PART_MS_MAX = 5_000;

const closers = closeAfterEach();

interface Streaming {
  readonly proxy: TestProxy;
  readonly responses: http.ServerResponse[];
  readonly requests: http.IncomingMessage[];
}

/** A backend that leaves its responses to the test. */
async function streaming(): Promise<Streaming> {
  const responses: http.ServerResponse[] = [];
  const requests: http.IncomingMessage[] = [];
  const server = http.createServer((request, response) => {
    request.resume();
    requests.push(request);
    responses.push(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await startProxy(oneRoute({ backendPort: (server.address() as AddressInfo).port }));
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  closers.push(() => proxy.close());
  return { proxy, responses, requests };
}

async function until<T>(look: () => T | undefined): Promise<T> {
  const endMs = performance.now() + PART_MS_MAX;
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    if (performance.now() > endMs) throw new Error(`Nothing came within ${PART_MS_MAX} ms`);
    await new Promise((done) => setTimeout(done, 1));
  }
}

/** Asks with fetch, which a browser's EventSource is made of, and gives the parts as they come. */
async function partsOf(
  port: number,
  abort: AbortSignal,
): Promise<{ response: Response; next(): Promise<string> }> {
  const response = await fetch(`http://127.0.0.1:${port}/a/v1/events`, {
    headers: { accept: 'text/event-stream' },
    signal: abort,
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return {
    response,
    next: async () => {
      while (!text.includes('\n\n')) {
        const { value, done } = await reader.read();
        if (done) throw new Error('The stream has ended');
        text += value;
      }
      const end = text.indexOf('\n\n');
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      return event;
    },
  };
}

describe('Server-Sent Events', () => {
  it('reach the client one by one, each before the next is sent', async () => {
    const { proxy, responses } = await streaming();
    const abort = new AbortController();
    const asked = partsOf(proxy.port, abort.signal);
    const response = await until(() => responses[0]);
    // The head alone goes out, too: an EventSource is open before its first event.
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.flushHeaders();
    const events = await asked;
    expect(events.response.headers.get('content-type')).toBe('text/event-stream');
    for (let number = 0; number < EVENTS; number++) {
      response.write(`id: ${number}\ndata: event ${number}\n\n`);
      expect(await events.next()).toBe(`id: ${number}\ndata: event ${number}`);
    }
    // A client that goes away takes its backend connection with it, without waiting for another event.
    const closed = once(response, 'close');
    abort.abort();
    await closed;
  });

  it('are not held back by an event that is cut in the middle of a character', async () => {
    const { proxy, responses } = await streaming();
    const abort = new AbortController();
    const asked = partsOf(proxy.port, abort.signal);
    const response = await until(() => responses[0]);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const bytes = Buffer.from('data: übergang – ✓\n\n');
    for (const byte of bytes) response.write(Buffer.of(byte));
    expect(await (await asked).next()).toBe('data: übergang – ✓');
    abort.abort();
  });

  it('go to an HTTP/1.0 client without chunks, and one by one as well', async () => {
    const { proxy, responses } = await streaming();
    const client = await connectRaw(proxy.port);
    client.write('GET /a/v1/events HTTP/1.0\r\n\r\n');
    const response = await until(() => responses[0]);
    for (let number = 0; number < 5; number++) {
      response.write(`data: ${number}\n\n`);
      await until(() => client.received().endsWith(`data: ${number}\n\n`));
    }
    response.end();
    await client.closed();
    expect(client.received()).toMatch(/\r\n\r\ndata: 0\n\ndata: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n$/);
    client.end();
  });

  it('pass with the Last-Event-ID with which a client comes back', async () => {
    const { proxy, responses, requests } = await streaming();
    const client = await connectRaw(proxy.port);
    client.write('GET /a/v1/events HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 41\r\n\r\n');
    const response = await until(() => responses[0]);
    expect(requests[0]?.headers['last-event-id']).toBe('41');
    response.end();
    await client.response();
    client.end();
  });
});

describe('long polling', () => {
  it('waits for as long as the backend takes, many clients at once, and keeps their connections', async () => {
    const { proxy, responses } = await streaming();
    const clients = await Promise.all(Array.from({ length: 30 }, () => connectRaw(proxy.port)));
    for (let round = 0; round < 3; round++) {
      for (const [index, client] of clients.entries())
        client.write(`GET /a/v1/poll?client=${index} HTTP/1.1\r\nHost: a\r\n\r\n`);
      const waiting = await until(() => (responses.length === clients.length ? responses : undefined));
      expect(clients.every((client) => client.received().split('HTTP/1.1 ').length === round + 1)).toBe(true);
      for (const response of waiting.splice(0)) response.end(response.req.url);
      const answers = await Promise.all(clients.map((client) => client.response()));
      expect(answers.map(({ body }) => body)).toEqual(clients.map((_, index) => `/poll?client=${index}`));
    }
    for (const client of clients) client.end();
  });
});
