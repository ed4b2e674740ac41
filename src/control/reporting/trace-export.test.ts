import { expect, it } from 'vitest';
import { failuresText } from './trace-export.ts';

const ok = { problem: '' };
const refused = { problem: 'connect ECONNREFUSED 127.0.0.1:4318' };
const notFound = { problem: 'the collector answers 404' };

it.each([
  [{ traces: ok, metrics: ok, logs: ok }, ''],
  [{ traces: refused, metrics: ok, logs: ok }, `traces: ${refused.problem}`],
  [{ traces: ok, metrics: notFound, logs: ok }, `metrics: ${notFound.problem}`],
  // One collector is away.
  [{ traces: refused, metrics: refused, logs: refused }, `traces, metrics, logs: ${refused.problem}`],
  // Two collectors, each with a problem of its own.
  [
    { traces: refused, metrics: notFound, logs: refused },
    `traces, logs: ${refused.problem}; metrics: ${notFound.problem}`,
  ],
])('names every signal that fails, and why: %o', (signals, expected) => {
  expect(failuresText(signals)).toBe(expected);
});
