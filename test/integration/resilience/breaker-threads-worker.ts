/**
 * A worker thread of resilience/breaker-threads.test.ts: does what proxies do with one breaker, as fast as it can, and
 * reports the moves that it made. While it holds a trial it counts in a word of the test's own, by which two at once
 * would show.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../src/lib/clock.ts';
import {
  Breaker,
  type BreakerMemory,
  type BreakerTransition,
  type BreakerRules,
} from '../../../src/proxy/resilience/breaker.ts';

export interface BreakerWorkerData {
  readonly memory: BreakerMemory;
  readonly seed: number;
  readonly rules: BreakerRules;
  /** How many trials are held, and the most that ever were. */
  readonly witness: SharedArrayBuffer;
}

export type BreakerWorkerTask =
  | { readonly do: 'requests'; readonly milliseconds: number }
  | { readonly do: 'failures'; readonly count: number };

export interface BreakerWorkerReport {
  /** By `from>to event`. */
  readonly moves: Readonly<Record<string, number>>;
  readonly trials: number;
}

const { memory, seed: firstSeed, rules, witness } = workerData as BreakerWorkerData;
const breaker = new Breaker(memory);
const words = new Int32Array(witness);
const port = parentPort!;
let seed = firstSeed;

function requests(milliseconds: number): BreakerWorkerReport {
  const moves: Record<string, number> = {};
  let trials = 0;
  const note = (move: BreakerTransition | undefined): void => {
    if (move === undefined) return;
    const name = `${move.from}>${move.to} ${move.event}`;
    moves[name] = (moves[name] ?? 0) + 1;
  };
  const untilMs = systemClock.nowMs() + milliseconds;
  for (let nowMs = 0; nowMs < untilMs;) {
    nowMs = systemClock.nowMs();
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    const admission = breaker.admit(rules, false, nowMs);
    if (admission.refused) continue;
    note(admission.move);
    const isTrial = admission.trial !== undefined;
    if (isTrial) {
      trials++;
      const held = Atomics.add(words, 0, 1) + 1;
      if (held > Atomics.load(words, 1)) Atomics.store(words, 1, held);
    }
    const outcome = (['success', 'failure', 'abandoned', 'failure'] as const)[(seed >> 8) & 3] ?? 'abandoned';
    // Before the breaker hears of it: the next trial may begin at once.
    if (isTrial) Atomics.sub(words, 0, 1);
    note(breaker.onOutcome(outcome, admission.trial, rules, nowMs));
  }
  return { moves, trials };
}

function failures(count: number): BreakerWorkerReport {
  for (let done = 0; done < count; done++)
    breaker.onOutcome('failure', undefined, rules, systemClock.nowMs());
  return { moves: {}, trials: 0 };
}

port.on('message', (task: BreakerWorkerTask) => {
  port.postMessage(task.do === 'requests' ? requests(task.milliseconds) : failures(task.count));
});
port.postMessage('ready');
