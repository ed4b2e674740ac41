/**
 * A worker dies each second under steady traffic: only its own connections are lost, none is refused, and clients
 * have their usual answers again within the second.
 */
import { expect, it } from 'vitest';
import { workerDeaths } from '../support/worker-deaths.ts';

const DEATHS = 30;
const RECOVERED_MS_MAX = 1_000;

it.each([1, 2])('%i workers, of which one dies each second', { timeout: 180_000 }, async (workers) => {
  const deaths = await workerDeaths({ workers, deaths: DEATHS, connections: 40, requestEveryMs: 20 });
  const recoveredMs = deaths.map((death) => death.recoveredMs).toSorted((left, right) => left - right);
  const figures = {
    workers,
    held: sum(deaths.map(({ held }) => held)),
    lost: sum(deaths.map(({ cut, lostAtRest }) => cut + lostAtRest)),
    ofThemCutInAnExchange: sum(deaths.map(({ cut }) => cut)),
    refused: sum(deaths.map(({ refused }) => refused)),
    recoveredMedianMs: recoveredMs[DEATHS >> 1],
    recoveredLastMs: recoveredMs.at(-1),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  for (const death of deaths) {
    expect(death).toMatchObject({ wrong: 0, refused: 0 });
    expect(death.cut + death.lostAtRest).toBeLessThanOrEqual(death.held);
    expect(death.recoveredMs).toBeLessThan(RECOVERED_MS_MAX);
  }
});

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
