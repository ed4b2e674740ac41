/**
 * Clients that send one request after the other over a connection of their own, at most one in `everyMs`, and note what
 * came when: for tests about limits over several gateways.
 */
import * as net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { requestText } from './traffic.ts';

export interface Answered {
  readonly name: string;
  /** Of the port of the gateway, in the order of the load. */
  readonly gateway: number;
  readonly status: number;
  /** Unix milliseconds at which the answer was there. */
  readonly atMs: number;
  readonly tookMs: number;
}

export interface PacedLoad {
  readonly answers: Answered[];
  /** Reasons for which a request got no answer. */
  readonly failures: string[];
  /** Ends the clients of one gateway, or of all. */
  stop(gateway?: number): Promise<void>;
}

export interface PacedLoadOptions {
  readonly ports: readonly number[];
  /** Paths by name; every gateway gets a client, or several, for each. */
  readonly paths: Readonly<Record<string, string>>;
  readonly everyMs: number;
  readonly clients?: number;
}

export function startLoad({ ports, paths, everyMs, clients = 1 }: PacedLoadOptions): PacedLoad {
  const answers: Answered[] = [];
  const failures: string[] = [];
  const stopped = new Set<number>();
  const run = async (gateway: number, name: string, path: string): Promise<void> => {
    const client = await connect(ports[gateway] ?? 0);
    const text = requestText(path);
    let nextMs = performance.now();
    while (!stopped.has(gateway)) {
      const beganMs = performance.now();
      const status = await client.ask(text);
      const endedMs = performance.now();
      answers.push({ name, gateway, status, atMs: Date.now(), tookMs: endedMs - beganMs });
      nextMs = Math.max(nextMs + everyMs, endedMs - everyMs);
      await pause(Math.max(0, nextMs - endedMs));
    }
    client.end();
  };
  const running = ports.map((_, gateway) =>
    Object.entries(paths).flatMap(([name, path]) =>
      Array.from({ length: clients }, () =>
        run(gateway, name, path).catch((error: unknown) => {
          if (!stopped.has(gateway)) failures.push(`gateway ${gateway}: ${String(error)}`);
        }),
      ),
    ),
  );
  return {
    answers,
    failures,
    stop: async (gateway) => {
      const which = gateway === undefined ? running.map((_, index) => index) : [gateway];
      for (const index of which) stopped.add(index);
      await Promise.all(which.flatMap((index) => running[index] ?? []));
    },
  };
}

const ANSWER_TIMEOUT_MS = 10_000;

/** Asks for small things only: what costs the test process least leaves most to the gateways. */
async function connect(port: number): Promise<{ ask(text: string): Promise<number>; end(): void }> {
  const socket = net.connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  await new Promise<void>((done, fail) => socket.once('connect', done).once('error', fail));
  let received = '';
  let settle: ((status: number | Error) => void) | undefined;
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk;
    const end = received.indexOf('\r\n\r\n');
    const length = /\r\ncontent-length: (\d+)/i.exec(received)?.[1];
    if (end < 0 || (length !== undefined && received.length < end + 4 + Number(length))) return;
    if (length === undefined && !received.endsWith('0\r\n\r\n')) return;
    const status = Number(received.slice(9, 12));
    received = '';
    settle?.(status);
  });
  socket.on('error', () => undefined);
  socket.on('close', () => settle?.(new Error(`closed after ${JSON.stringify(received)}`)));
  return {
    ask: (text) =>
      new Promise((done, fail) => {
        const timer = setTimeout(() => settle?.(new Error('no answer')), ANSWER_TIMEOUT_MS);
        settle = (outcome) => {
          clearTimeout(timer);
          settle = undefined;
          if (typeof outcome === 'number') done(outcome);
          else fail(outcome);
        };
        socket.write(text);
      }),
    end: () => socket.destroy(),
  };
}

/** How many answers of each status. */
export function statusesOf(answers: readonly Answered[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

export function p99Of(answers: readonly Answered[]): number {
  const sorted = answers.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? NaN;
}
