/**
 * CPU time of the gateway for a request, by the protocol that its backend is asked in: `node bench/backend-protocols.ts
 * [checkout …] [--rounds 9] [--ms 600] [--clients 64]`. One worker's traffic path in a process of its own for each
 * checkout, a backend that answers with ready bytes in another, and clients of HTTP/1.1 in this one. The protocols and
 * the checkouts take turns in rounds, and ratios are those of the medians, so that a machine that others use disturbs
 * all of them alike. A checkout is a folder with its own `src`, `test` and a `node_modules` link.
 */
import { fork, type ChildProcess } from 'node:child_process';
import * as net from 'node:net';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type * as ProxySupport from '../test/support/proxy.ts';

/**
 * `small`: GET, and 100 bytes come back. `body`: POST of 4 KiB. `call`: POST of 20 bytes, the response has trailers.
 */
const LOADS = ['small', 'body', 'call'] as const;
type LoadName = (typeof LOADS)[number];
const PROTOCOLS = ['http1', 'h2'] as const;
const SMALL = Buffer.alloc(100, 'x');
const BODIES: Readonly<Record<LoadName, number>> = { small: 0, body: 4096, call: 20 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '9' },
    ms: { type: 'string', default: '600' },
    clients: { type: 'string', default: '64' },
    load: { type: 'string' },
    role: { type: 'string' },
  },
});
if (values.role === 'origin') await beOrigin();
else if (values.role === 'gateway') await beGateway(positionals[0] ?? '', positionals.slice(1).map(Number));
else await compare();

interface Gateway {
  readonly checkout: string;
  readonly child: ChildProcess;
  /** By protocol. */
  readonly ports: readonly number[];
}

async function compare(): Promise<void> {
  const checkouts =
    positionals.length === 0 ? [join(import.meta.dirname, '..')] : positionals.map((at) => resolve(at));
  const origin = start('origin', []);
  const ports = (await messageOf(origin)) as number[];
  const gateways: Gateway[] = [];
  for (const checkout of checkouts) {
    const child = start('gateway', [checkout, ...ports.map(String)]);
    gateways.push({ checkout, child, ports: (await messageOf(child)) as number[] });
  }
  const figures = new Map<string, number[]>();
  const loads = LOADS.filter((name) => values.load === undefined || values.load === name);
  for (let round = -1; round < Number(values.rounds); round++) {
    for (const load of loads) {
      for (const gateway of gateways) {
        for (const [index, protocol] of PROTOCOLS.entries()) {
          const us = await measure(gateway, gateway.ports[index] ?? 0, load);
          if (round < 0) continue;
          const key = `${load} ${protocol} ${gateway.checkout}`;
          figures.set(key, [...(figures.get(key) ?? []), us]);
        }
      }
    }
  }
  for (const load of loads) {
    for (const { checkout } of gateways) {
      const [http1 = 0, h2 = 0] = PROTOCOLS.map((name) => median(figures.get(`${load} ${name} ${checkout}`)));
      process.stdout.write(
        `${load.padEnd(6)} HTTP/1.1 ${http1.toFixed(1).padStart(6)} µs  HTTP/2 ${h2.toFixed(1).padStart(6)} µs  ${(h2 / http1).toFixed(2)} times  ${checkout}\n`,
      );
    }
  }
  for (const { child } of gateways) child.kill();
  origin.kill();
}

function start(role: string, args: readonly string[]): ChildProcess {
  return fork(import.meta.filename, ['--role', role, ...args]);
}

function messageOf(child: ChildProcess): Promise<unknown> {
  return new Promise((done, fail) => {
    const onExit = (code: number | null): void => fail(new Error(`A process ended with ${code}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      done(message);
    });
  });
}

function median(figures: readonly number[] = []): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0;
}

/** CPU microseconds of the gateway's process for one request. */
async function measure({ child }: Gateway, port: number, load: LoadName): Promise<number> {
  await offer(port, load, 100);
  const before = await cpuOf(child);
  const requests = await offer(port, load, Number(values.ms));
  return ((await cpuOf(child)) - before) / requests;
}

async function cpuOf(child: ChildProcess): Promise<number> {
  const answer = messageOf(child);
  child.send('cpu');
  return (await answer) as number;
}

/** One request after the other on each connection. @returns how many were answered */
async function offer(port: number, load: LoadName, ms: number): Promise<number> {
  const length = BODIES[load];
  const request = Buffer.from(
    `${length === 0 ? 'GET' : 'POST'} /a/v1/x HTTP/1.1\r\nHost: api.example\r\nUser-Agent: bench\r\nAccept: */*\r\n${
      length === 0 ? '' : `Content-Type: application/octet-stream\r\nContent-Length: ${length}\r\n`
    }\r\n${'x'.repeat(length)}`,
  );
  const endMs = performance.now() + ms;
  let count = 0;
  const one = (): Promise<void> =>
    new Promise((done, fail) => {
      const socket = net.connect({ port, host: '127.0.0.1', noDelay: true });
      socket.on('error', fail);
      socket.on('connect', () => socket.write(request));
      socket.on('data', (chunk: Buffer) => {
        const text = chunk.toString('latin1');
        if (text.startsWith('HTTP/1.1') && !text.startsWith('HTTP/1.1 200')) fail(new Error(text));
        if (!/(?:\r\n\r\nx{100}|grpc-status: 0\r\n\r\n)$/.test(text)) return;
        count += 1;
        if (performance.now() < endMs) socket.write(request);
        else {
          socket.destroy();
          done();
        }
      });
    });
  await Promise.all(Array.from({ length: Number(values.clients) }, one));
  return count;
}

async function beGateway(checkout: string, originPorts: readonly number[]): Promise<void> {
  const { oneRoute, startProxy } = (await import(
    join(checkout, 'test/support/proxy.ts')
  )) as typeof ProxySupport;
  const ports: number[] = [];
  for (const [index, protocol] of PROTOCOLS.entries()) {
    const revision = { backend_protocol: protocol };
    const proxy = await startProxy(oneRoute({ backendPort: originPorts[index] ?? 0, revision }));
    ports.push(proxy.port);
  }
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  process.send?.(ports);
}

async function beOrigin(): Promise<void> {
  const servers = [
    net.createServer({ noDelay: true }, answerHttp1),
    net.createServer({ noDelay: true }, answerHttp2),
  ];
  const ports: number[] = [];
  for (const server of servers) {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    ports.push((server.address() as net.AddressInfo).port);
  }
  process.send?.(ports);
}

const FIELDS: readonly (readonly [string, string])[] = [
  ['content-type', 'text/plain'],
  ['date', 'Mon, 01 Jan 2026 00:00:00 GMT'],
  ['server', 'bench'],
];
const LINES = FIELDS.map(([name, value]) => `${name}: ${value}\r\n`).join('');
const PLAIN = Buffer.from(`HTTP/1.1 200 OK\r\n${LINES}content-length: 100\r\n\r\n${SMALL.toString()}`);
const CALLED = Buffer.from(
  `HTTP/1.1 200 OK\r\n${LINES}transfer-encoding: chunked\r\n\r\n14\r\n${'x'.repeat(20)}\r\n0\r\ngrpc-status: 0\r\n\r\n`,
);

/** Requests do not come in pieces that end within a head. */
function answerHttp1(socket: net.Socket): void {
  let left = 0;
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    let from = 0;
    while (from < chunk.length) {
      if (left === 0) {
        const end = chunk.indexOf('\r\n\r\n', from) + 4;
        left = Number(/content-length: (\d+)/i.exec(chunk.toString('latin1', from, end))?.[1] ?? 0);
        from = end;
        if (left > 0 && left !== BODIES.call) continue;
        socket.write(left === 0 ? PLAIN : CALLED);
        from += left;
        left = 0;
        continue;
      }
      const taken = Math.min(left, chunk.length - from);
      left -= taken;
      from += taken;
      if (left === 0) socket.write(PLAIN);
    }
  });
}

/** The first response of a connection enters its fields into the table, the others name them. */
function answerHttp2(socket: net.Socket): void {
  let rest: Buffer = Buffer.alloc(0);
  let isGreeted = false;
  let isKnown = false;
  let received = 0;
  const bytesOf = new Map<number, number>();
  const answer = (stream: number): Buffer => {
    const length = bytesOf.get(stream) ?? 0;
    bytesOf.delete(stream);
    const isCall = length === BODIES.call;
    const head = isKnown
      ? Buffer.from([0x88, 0xc0, 0xbf, 0xbe])
      : Buffer.concat([Buffer.from([0x88]), ...FIELDS.map(literal)]);
    isKnown = true;
    const announced = isCall ? Buffer.alloc(0) : Buffer.from([0x0f, 0x0d, 3, ...Buffer.from('100')]);
    const trailer = Buffer.from([0, 11, ...Buffer.from('grpc-status'), 1, 0x30]);
    return Buffer.concat([
      frame(1, 4, stream, Buffer.concat([head, announced])),
      frame(0, isCall ? 0 : 1, stream, isCall ? SMALL.subarray(0, 20) : SMALL),
      ...(isCall ? [frame(1, 5, stream, trailer)] : []),
    ]);
  };
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const sent: Buffer[] = [];
    if (!isGreeted) {
      isGreeted = true;
      rest = rest.subarray(24);
      // A window for each connection that lasts.
      sent.push(frame(4, 0, 0, Buffer.alloc(0)), frame(8, 0, 0, Buffer.from([0x3f, 0xff, 0, 0])));
    }
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const length = rest.readUIntBE(0, 3);
      const [type, flags = 0, stream] = [rest[3], rest[4], rest.readUInt32BE(5)];
      if (type === 4 && flags === 0) sent.push(frame(4, 1, 0, Buffer.alloc(0)));
      if (type === 6 && flags === 0) sent.push(frame(6, 1, 0, rest.subarray(9, 17)));
      if (type === 0) {
        bytesOf.set(stream, (bytesOf.get(stream) ?? 0) + length);
        received += length;
      }
      if ((type === 0 || type === 1) && (flags & 1) === 1) sent.push(answer(stream));
      rest = rest.subarray(9 + length);
    }
    if (received > 1_000_000) {
      const more = Buffer.alloc(4);
      more.writeUInt32BE(received);
      sent.push(frame(8, 0, 0, more));
      received = 0;
    }
    if (sent.length > 0) socket.write(Buffer.concat(sent));
  });
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** With indexing. */
function literal([name, value]: readonly [string, string]): Buffer {
  return Buffer.from([0x40, name.length, ...Buffer.from(name), value.length, ...Buffer.from(value)]);
}
