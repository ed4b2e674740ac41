/** That the fuzzers of repeated heads do meet repeated ones. */
import { expect, test } from 'vitest';
import { runFuzzer } from './fuzzer.ts';
import { repeated, repeatedRequestsFuzzer, repeatedResponsesFuzzer } from './repeated.ts';

const STEPS = 1_000;
const AT_LEAST = 100;

test.each([
  [repeatedRequestsFuzzer, 'requests'],
  [repeatedResponsesFuzzer, 'responses'],
] as const)('$name compares heads whose fields are those of the one before', async (fuzzer, kind) => {
  const before = repeated[kind];
  const { failure } = await runFuzzer(fuzzer, 1, { steps: STEPS });
  expect(failure).toBeUndefined();
  expect(repeated[kind] - before).toBeGreaterThan(AT_LEAST);
});
