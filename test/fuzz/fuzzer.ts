/** What a fuzzer is, and the loop that runs one. */
import { Random } from './random.ts';

export type Fuzzer = {
  readonly name: string;
  /** One try with the given choices; throws when something that must hold does not. */
  readonly step: (random: Random) => void | Promise<void>;
};

export type FuzzResult = {
  readonly steps: number;
  readonly failure: { readonly seed: number; readonly error: unknown } | undefined;
};

/**
 * A step that takes longer than both is a failure. Twins are slow and inputs are read several times, but what grows
 * with the square of an input of some kilobytes, which some are, is beyond it.
 */
const STEP_MS_MAX = 200;
const BYTE_MS_MAX = 0.01;
/** How often a slow step is tried again: a process that did not get the processor for a while is not slow. */
const TRIES_MAX = 8;

/**
 * Runs `fuzzer` from `seed` on, one seed per step, until `steps` steps or `durationMs` are over, or one fails. The
 * seed of a failure replays it as the first step.
 */
export async function runFuzzer(
  fuzzer: Fuzzer,
  seed: number,
  until: { readonly steps?: number; readonly durationMs?: number },
): Promise<FuzzResult> {
  const startMs = performance.now();
  const stepsMax = until.steps ?? Infinity;
  const endMs = startMs + (until.durationMs ?? Infinity);
  let steps = 0;
  for (let nowMs = startMs; steps < stepsMax && nowMs < endMs;) {
    const stepSeed = (seed + steps) | 0;
    steps++;
    try {
      if (!(await isQuick(fuzzer, stepSeed))) await checkQuick(fuzzer, stepSeed);
      nowMs = performance.now();
    } catch (error) {
      return { steps, failure: { seed: stepSeed, error } };
    }
  }
  return { steps, failure: undefined };
}

/**
 * Runs the step by the clock. Of a longer time counts for how long it had a processor, and for how long it waited with
 * nothing to do: not the time that other processes took.
 */
async function isQuick(fuzzer: Fuzzer, seed: number): Promise<boolean> {
  const random = new Random(seed);
  const [startMs, before] = [performance.now(), timesOf()];
  const result = fuzzer.step(random);
  if (result !== undefined) await result;
  const allowedMs = Math.max(STEP_MS_MAX, random.bytes * BYTE_MS_MAX);
  if (performance.now() - startMs < allowedMs) return true;
  const after = timesOf();
  return after.usedMs - before.usedMs < allowedMs && after.idleMs - before.idleMs < allowedMs;
}

function timesOf(): { readonly usedMs: number; readonly idleMs: number } {
  const { user, system } = process.cpuUsage();
  return { usedMs: (user + system) / 1_000, idleMs: performance.eventLoopUtilization().idle };
}

async function checkQuick(fuzzer: Fuzzer, seed: number): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) if (await isQuick(fuzzer, seed)) return;
  throw new Error(
    `A step took longer than ${STEP_MS_MAX} ms and ${BYTE_MS_MAX} ms for each byte of its input`,
  );
}

export function check(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}

/** Compares by their JSON; for the plain records that fuzzers build. */
export function checkEqual(actual: unknown, expected: unknown, message: string): void {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
  check(left === right, `${message}\n  found:    ${left}\n  expected: ${right}`);
}
