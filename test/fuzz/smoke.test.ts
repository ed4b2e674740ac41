/** Every fuzzer for a moment, from a new seed each time; and the proof that a failure would be found and replayed. */
import { expect, test } from 'vitest';
import { runFuzzer } from './fuzzer.ts';
import { canary, fuzzers } from './registry.ts';

const SMOKE_MS = 500;
const STEPS_MIN = 100;

for (const fuzzer of fuzzers) {
  test(`fuzzer ${fuzzer.name} finds nothing in ${SMOKE_MS} ms`, async () => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    let { steps, failure } = await runFuzzer(fuzzer, seed, { durationMs: SMOKE_MS });
    // On a machine that had little time for it, for as long as it takes.
    if (failure === undefined && steps < STEPS_MIN) {
      ({ steps, failure } = await runFuzzer(fuzzer, seed, { steps: STEPS_MIN }));
    }
    const replay = `node test/fuzz/run.ts ${fuzzer.name} --seed ${failure?.seed} --steps 1`;
    expect(failure === undefined ? '' : `${String(failure.error)}\nReplay: ${replay}`).toBe('');
    expect(steps).toBeGreaterThanOrEqual(STEPS_MIN);
  });
}

test('the canary fails, and its seed fails again at once', async () => {
  const first = await runFuzzer(canary, 1, { steps: 10_000 });
  expect(first.failure).toBeDefined();
  const replayed = await runFuzzer(canary, first.failure?.seed ?? 0, { steps: 1 });
  expect(String(replayed.failure?.error)).toBe(String(first.failure?.error));
});
