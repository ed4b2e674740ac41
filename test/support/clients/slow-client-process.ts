/**
 * A process full of slow clients, and the backend that they ask: heads that drip, bodies that drip and then stop,
 * bodies that never stop, answers that are not read (deaf_clients.py). A process of its own, so that neither its work
 * nor its open files disturb who measures. Driven over IPC by slow-clients.ts.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import * as http from 'node:http';
import * as net from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { collectLines, ready } from '../backends/origin-process.ts';
import { requireProgram } from '../programs/programs.ts';

export interface Attack {
  readonly port: number;
  readonly heads: number;
  /** Half of them stop when they are told so; the others drip to the end, under a policy that limits their time. */
  readonly bodies: number;
  readonly deaf: number;
  /** Between two bytes of one connection. */
  readonly dripEveryMs: number;
}

export type Command =
  | { readonly kind: 'open'; readonly attack: Attack }
  | { readonly kind: 'stop-bodies' }
  | { readonly kind: 'report' };

/** How a connection ended. */
export interface End {
  readonly kind: 'head' | 'body' | 'endless body' | 'deaf';
  /** Of the answer; '' without one, or when it was not read. */
  readonly status: string;
  /**
   * To the end that the gateway made, from the first byte; of a body that stopped from the last one, of an answer that
   * is not read from when something of it was last seen to move. -1: still open.
   */
  readonly heldMs: number;
  /** Where it is not known exactly when the time began to run: the most that it can have been. */
  readonly heldMsMax?: number;
}

export type Reply =
  | { readonly kind: 'ready'; readonly backendPort: number }
  | { readonly kind: 'opened'; readonly deafPorts: readonly number[] }
  | { readonly kind: 'ends'; readonly ends: readonly End[] };

/** Connections that are being made at the same time. */
const CONNECTING_MAX = 100;
/** Drips are spread over the time between two bytes, as those of strangers are. */
const SLICES = 1_000;
/** More than the gateway and all buffers on the way to a deaf client take. */
const UNREAD = Buffer.alloc(1024 * 1024, 'x');
const UNREAD_TARGET = '/slow/v1/unread';

class SlowClient {
  readonly kind: End['kind'];
  readonly socket: net.Socket;
  status = '';
  #endedMs = -1;
  #fromMs = 0;

  constructor(kind: End['kind'], port: number) {
    this.kind = kind;
    this.socket = net.connect({ port, host: '127.0.0.1' });
    this.socket.on('error', () => undefined);
    this.socket.on('data', (chunk: Buffer) => {
      if (this.status === '') this.status = chunk.toString('latin1', 9, 12);
    });
    this.socket.once('end', () => this.#end());
    this.socket.once('close', () => this.#end());
  }

  async open(first: string): Promise<void> {
    await once(this.socket, 'connect');
    this.#fromMs = performance.now();
    this.socket.write(first);
  }

  drip(): void {
    if (this.#endedMs >= 0 || !this.socket.writable) return;
    this.socket.write('x');
    if (this.kind === 'body') this.#fromMs = performance.now();
  }

  get end(): End {
    const { kind, status } = this;
    return { kind, status, heldMs: this.#endedMs < 0 ? -1 : this.#endedMs - this.#fromMs };
  }

  #end(): void {
    if (this.#endedMs < 0) this.#endedMs = performance.now();
  }
}

let dripping: SlowClient[] = [];
let deaf: ChildProcess | undefined;
let bodiesDrip = true;
let timer: NodeJS.Timeout | undefined;

async function open({
  port,
  heads,
  bodies,
  deaf: deafCount,
  dripEveryMs,
}: Attack): Promise<readonly number[]> {
  for (const { socket } of dripping) socket.destroy();
  deaf?.stdin?.end();
  [dripping, deaf, bodiesDrip] = [[], undefined, true];
  clearInterval(timer);
  let slice = 0;
  timer = setInterval(() => {
    slice = (slice + 1) % SLICES;
    for (let index = slice; index < dripping.length; index += SLICES) {
      const client = dripping[index] as SlowClient;
      if (client.kind !== 'body' || bodiesDrip) client.drip();
    }
  }, dripEveryMs / SLICES);
  const head = 'GET /slow/v1/x HTTP/1.1\r\nHost: a\r\nX: ';
  const body = (app: string): string =>
    `POST /${app}/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n`;
  const half = bodies >> 1;
  const starts = [
    ...Array.from({ length: half }, () => () => openDripping('endless body', port, body('timed'))),
    ...Array.from({ length: bodies - half }, () => () => openDripping('body', port, body('slow'))),
    ...Array.from({ length: heads }, () => () => openDripping('head', port, head)),
  ];
  const some = async (): Promise<void> => {
    for (let start = starts.shift(); start !== undefined; start = starts.shift()) await start();
  };
  const deafPorts = await openDeaf(port, deafCount);
  await Promise.all(Array.from({ length: CONNECTING_MAX }, some));
  return deafPorts;
}

async function openDripping(kind: End['kind'], port: number, first: string): Promise<void> {
  const client = new SlowClient(kind, port);
  await client.open(first);
  dripping.push(client);
}

async function openDeaf(port: number, count: number): Promise<readonly number[]> {
  const script = join(import.meta.dirname, 'deaf_clients.py');
  deaf = spawn(requireProgram('python3'), [script, `${port}`, `${count}`, UNREAD_TARGET], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = collectLines(deaf);
  await ready(() => lines().length > 0, 'deaf_clients.py');
  return JSON.parse(lines()[0] ?? '') as number[];
}

function startBackend(): Promise<number> {
  const backend = http.createServer((request, response) => {
    request.resume();
    request.on('error', () => undefined);
    if (UNREAD_TARGET.endsWith(request.url ?? '')) response.end(UNREAD);
    else request.on('end', () => response.end());
  });
  return new Promise((done) =>
    backend.listen(0, '127.0.0.1', 4096, () => done((backend.address() as AddressInfo).port)),
  );
}

function reply(message: Reply): void {
  process.send?.(message);
}

process.on('message', (command: Command) => {
  if (command.kind === 'open')
    void open(command.attack).then((deafPorts) => reply({ kind: 'opened', deafPorts }));
  else if (command.kind === 'stop-bodies') bodiesDrip = false;
  else reply({ kind: 'ends', ends: dripping.map((client) => client.end) });
});
process.on('disconnect', () => process.exit());
reply({ kind: 'ready', backendPort: await startBackend() });
