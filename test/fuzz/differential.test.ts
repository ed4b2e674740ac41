/**
 * That the differential fuzzers compare what they are there for: messages of every framing, requests that ask to switch
 * protocols, methods that llhttp does not know, and values of all bytes.
 */
import { expect, test } from 'vitest';
import { compared, differentialFuzzer, differentialResponseFuzzer } from './differential.ts';
import { runFuzzer } from './fuzzer.ts';
import { llhttpRequests } from './llhttp.ts';

const STEPS = 4_000;
const AT_LEAST = 30;

test.each([
  [differentialFuzzer, ['none', 'length', 'chunked', 'values', 'upgrade', 'other method']],
  [differentialResponseFuzzer, ['none', 'length', 'chunked', 'until close', 'values', 'interim']],
] as const)('$name compares messages of each kind', async (fuzzer, kinds) => {
  const before = { ...compared };
  const { failure } = await runFuzzer(fuzzer, 1, { steps: STEPS });
  expect(failure).toBeUndefined();
  const found = kinds.filter((kind) => compared[kind] - before[kind] >= AT_LEAST);
  expect(found).toEqual(kinds);
});

test('llhttp runs in its strict mode', () => {
  const strict = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n';
  expect(llhttpRequests(Buffer.from(strict)).error).toBeUndefined();
  for (const lenient of [strict.replace('1\r\na', '1 \r\na'), strict.replace('Host: a\r\n', 'Host: a\n')]) {
    expect(llhttpRequests(Buffer.from(lenient)).error).toBeDefined();
  }
});
