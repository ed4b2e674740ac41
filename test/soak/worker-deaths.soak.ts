/**
 * A worker dies each second under steady traffic, of an exception or of memory used up: only its own connections are
 * lost, none is refused, and clients have their usual answers again within the second. One worker alone whose memory
 * is used up is the exception: it cannot be foreseen before its port is closed.
 */
import { expect, it } from 'vitest';
import type { Mishap } from '../support/programs/crash-worker.ts';
import { workerDeaths } from '../scenarios/worker-deaths.ts';

const RECOVERED_MS_MAX = 1_000;
/** How long the port of a single worker may be closed after an end that was not foreseen. */
const REFUSED_MS_MAX = 500;

it.each<[Mishap, workers: number, deaths: number]>([
  ['exception', 1, 30],
  ['exception', 2, 30],
  ['out of memory', 1, 15],
  ['out of memory', 2, 15],
])('%s: %i workers, of which one dies each second', { timeout: 180_000 }, async (mishap, workers, count) => {
  const deaths = await workerDeaths({ mishap, workers, deaths: count, connections: 40, requestEveryMs: 20 });
  const recoveredMs = deaths.map((death) => death.recoveredMs).toSorted((left, right) => left - right);
  const figures = {
    mishap,
    workers,
    held: sum(deaths.map(({ held }) => held)),
    lost: sum(deaths.map(({ cut, lostAtRest }) => cut + lostAtRest)),
    ofThemCutInAnExchange: sum(deaths.map(({ cut }) => cut)),
    refused: sum(deaths.map(({ refused }) => refused)),
    refusedLastMs: Math.max(...deaths.map(({ refusedMs }) => refusedMs)),
    recoveredMedianMs: recoveredMs[count >> 1],
    recoveredLastMs: recoveredMs.at(-1),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  const mayRefuse = workers === 1 && mishap === 'out of memory';
  for (const death of deaths) {
    expect(death.wrong).toBe(0);
    if (!mayRefuse) expect(death.refused).toBe(0);
    expect(death.refusedMs).toBeLessThan(REFUSED_MS_MAX);
    expect(death.cut + death.lostAtRest).toBeLessThanOrEqual(death.held);
    expect(death.recoveredMs).toBeLessThan(RECOVERED_MS_MAX);
  }
});

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
