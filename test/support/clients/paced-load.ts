/**
 * Clients that send one request after the other over a connection of their own, at most one in `everyMs`, and note what
 * came when: for tests about limits over several gateways.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { LeanClient } from './lean-client.ts';
import { requestText } from '../traffic.ts';
import { quantile } from '../measure/stats.ts';

const ANSWER_MS_MAX = 10_000;

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
    const client = await LeanClient.connect(ports[gateway] ?? 0, { answerMsMax: ANSWER_MS_MAX });
    const text = requestText(path);
    let nextMs = performance.now();
    while (!stopped.has(gateway)) {
      const beganMs = performance.now();
      const { status } = await client.ask(text);
      const endedMs = performance.now();
      answers.push({ name, gateway, status, atMs: Date.now(), tookMs: endedMs - beganMs });
      nextMs = Math.max(nextMs + everyMs, endedMs - everyMs);
      await pause(Math.max(0, nextMs - endedMs));
    }
    client.close();
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

/** How many answers of each status. */
export function statusesOf(answers: readonly Answered[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

export function p99Of(answers: readonly Answered[]): number {
  return quantile(
    answers.map(({ tookMs }) => tookMs),
    0.99,
  );
}
