/**
 * Compares what a step costs for an input with what it costs for eight of an eighth of its length, one after the other.
 * Time that grows with the input makes both the same, which counts as a ratio of eight; time that grows with its square
 * gives sixty-four; the bound lies between.
 *
 * Both sides work on as many bytes for as long, so what other processes take of the processor and of its caches is the
 * same for both: a step that outlasts its slice of a busy processor is interrupted each time it is tried, one that is
 * shorter next to never. By the shortest of several tries, since other processes take time away and none gives any;
 * small inputs are tried many times at once, because clocks and compilers are not to be seen in the result.
 */
import { setImmediate as turn } from 'node:timers/promises';

/** Bytes of the shorter input and of the longer one. */
export const SIZES = [4 * 1024, 32 * 1024] as const;
/** Of the longer input to the shorter one. */
const GROWTH = SIZES[1] / SIZES[0];
/** Three times of what is linear: caches and memory management make long inputs dearer. */
const RATIO_MAX = 24;
const ROUNDS_MIN = 6;
/** Where the machine is busy; a step that is too dear is it in every round. */
const ROUNDS_MAX = 60;
const BATCH_MS = 1;
/** A step whose time grows with the square takes long enough to be given up. */
const ROW_MS_MAX = 3_000;

/** Makes an input of the given size, each time another one, and gives what is to be measured. */
export type Prepare = (bytes: number) => () => unknown;

/** The ratio of the costs, at most `RATIO_MAX` where the time is linear. */
export async function growth(
  prepare: Prepare,
): Promise<{ readonly ratio: number; readonly isLinear: boolean }> {
  const [shortBytes, longBytes] = SIZES;
  const sides = [Array.from({ length: GROWTH }, () => prepare(shortBytes)), [prepare(longBytes)]];
  const best = sides.map(() => Infinity);
  const endMs = performance.now() + ROW_MS_MAX;
  for (let round = 1; ; round++) {
    for (const [index, steps] of sides.entries()) {
      best[index] = Math.min(best[index] ?? Infinity, await costMs(steps));
    }
    const [short = 0, long = 0] = best;
    const ratio = (GROWTH * long) / short;
    const isLinear = ratio <= RATIO_MAX;
    const isOver = round >= ROUNDS_MAX || (!isLinear && round >= 2 && performance.now() > endMs);
    if (isOver || (isLinear && round >= ROUNDS_MIN)) return { ratio, isLinear };
    await turn();
  }
}

async function costMs(steps: readonly (() => unknown)[]): Promise<number> {
  let best = Infinity;
  const endMs = performance.now() + BATCH_MS;
  do {
    const startMs = performance.now();
    for (const step of steps) {
      const result = step();
      if (result instanceof Promise) await result;
    }
    best = Math.min(best, performance.now() - startMs);
  } while (performance.now() < endMs);
  return best;
}
