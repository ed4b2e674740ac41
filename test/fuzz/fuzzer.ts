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

/** A single step longer than this is a failure: no input of a few kilobytes may keep a worker busy. */
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
      // A process that did not get the processor for a while is not slow: a slow step is slow again.
      if (doneMs - nowMs >= STEP_MS_MAX) await checkQuick(fuzzer, stepSeed);
      nowMs = performance.now();
    } catch (error) {
      return { steps, failure: { seed: stepSeed, error } };
    }
  }
  return { steps, failure: undefined };
}

async function checkQuick(fuzzer: Fuzzer, seed: number): Promise<void> {
  const startMs = performance.now();
  await fuzzer.step(new Random(seed));
  const tookMs = Math.round(performance.now() - startMs);
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
