/**
 * When a started gateway has come to rest: what it needs once all of its threads are there, the spare worker among
 * them, is what later measurements of memory and descriptors are to be compared with.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { TestGateway } from '../gateway.ts';
import { until } from './until.ts';

/** The spare is started a second after the workers. */
const TIMEOUT_MS = 15_000;
const REST_MS = 250;

/** Resolves when there is one worker thread more than `workers`, and none has used the processor for an interval. */
export async function untilSettled({ process: { pid } }: TestGateway, workers = 1): Promise<void> {
  let before: readonly string[] = [];
  const isSettled = (): true | undefined => {
    const now = workerTimes(pid ?? 0);
    const isAtRest = now.length === workers + 1 && now.join() === before.join();
    before = now;
    return isAtRest || undefined;
  };
  await until(isSettled, TIMEOUT_MS, REST_MS);
}

/** Name and ticks of processor time of every worker thread, proc_pid_stat(5). */
function workerTimes(pid: number): readonly string[] {
  const tasks = readdirSync(`/proc/${pid}/task`);
  return tasks.flatMap((task) => {
    const stat = readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8');
    const name = /\((proxy-\d+)\)/.exec(stat)?.[1];
    if (name === undefined) return [];
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [`${name} ${fields[11]} ${fields[12]}`];
  });
}
