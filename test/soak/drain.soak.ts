/** SIGTERM under 500 connections with exchanges of up to five seconds, 25 times over TCP and 25 times over TLS. */
import { expect, it } from 'vitest';
import { drainRound, type DrainOutcome } from '../scenarios/drain.ts';

const ROUNDS = 25;
const EXCHANGE_MS_MAX = 5_000;
const CLIENTS = {
  'keep-alive': 200,
  'new connection each': 50,
  pipelined: 50,
  'chunked upload': 100,
  'slow download': 100,
};

it.each([
  ['TCP', CLIENTS],
  ['TLS, a tenth of them HTTP/2', { ...CLIENTS, 'keep-alive': 150, 'http/2': 50 }],
])('a stop under 500 connections over %s', { timeout: 30 * 60_000 }, async (name, clients) => {
  const outcomes: DrainOutcome[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const isTls = 'http/2' in clients;
    outcomes.push(
      await drainRound({ isTls, clients, exchangeMsMax: EXCHANGE_MS_MAX, beforeMs: isTls ? 6_000 : 2_000 }),
    );
  }
  const figures = {
    name,
    rounds: ROUNDS,
    endedAfterTheSignal: outcomes.reduce((sum, { doneAfterSignal }) => sum + doneAfterSignal, 0),
    failed: outcomes.flatMap(({ failed }) => failed),
    longestStopMs: Math.max(...outcomes.map(({ stoppedMs }) => stoppedMs)),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures.failed).toEqual([]);
  expect(outcomes.map(({ exitCode }) => exitCode)).toEqual(outcomes.map(() => 0));
  // Else it would prove little: a client that a busy machine keeps from asking counts as one that was refused.
  expect(Math.min(...outcomes.map(({ doneAfterSignal }) => doneAfterSignal))).toBeGreaterThan(250);
});
