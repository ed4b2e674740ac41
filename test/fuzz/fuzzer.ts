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

/** A step that takes longer than this is a failure: no input of a few kilobytes may keep a worker busy. */
const STEP_MS_MAX = 2000;

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
      const result = fuzzer.step(new Random(stepSeed));
      if (result !== undefined) await result;
      const doneMs = performance.now();
      // A process that did not get the processor for a while is not slow: a slow step takes time of its own again.
      if (doneMs - nowMs >= STEP_MS_MAX) await checkQuick(fuzzer, stepSeed);
      nowMs = performance.now();
    } catch (error) {
      return { steps, failure: { seed: stepSeed, error } };
    }
  }
  return { steps, failure: undefined };
}

/** Runs the step once more, by the clock of the thread, which stands still while others have the processor. */
async function checkQuick(fuzzer: Fuzzer, seed: number): Promise<void> {
  const start = process.threadCpuUsage();
  await fuzzer.step(new Random(seed));
  const { user, system } = process.threadCpuUsage(start);
  const tookMs = Math.round((user + system) / 1_000);
  check(tookMs < STEP_MS_MAX, `A step took ${tookMs} ms`);
}

export function check(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}

/** Compares by their JSON; for the plain records that fuzzers build. */
export function checkEqual(actual: unknown, expected: unknown, message: string): void {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
  check(left === right, `${message}\n  found:    ${left}\n  expected: ${right}`);
}
