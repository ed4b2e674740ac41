/**
 * docs/reference/overload.md: under several times the load that the workers take, management answers, memory stays
 * within bounds, refusals tell when to come back, and when the load is over everything is as before. What management
 * calls take is measured on a machine at rest (test/soak/overload.soak.ts); here it is only that traffic does not
 * hold them up.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  EXCHANGES_MAX,
  figuresOf,
  MEMORY_BYTES_MAX,
  overload,
  startOverloadable,
  type Overloaded,
} from '../../scenarios/overload-scenario.ts';
import { metric } from '../../support/policies.ts';
import type { RawResponse } from '../../support/clients/raw-client.ts';
import { problem, request } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const SECONDS = 4;
/** Beyond a few times what an idle server needs meanwhile. */
const MEDIAN_MS_MAX = 250;

let overloaded: Overloaded;

beforeAll(async () => {
  overloaded = await startOverloadable();
});
afterAll(() => overloaded.stop());

function expectRefused(response: RawResponse): void {
  expect(problem(response)).toMatchObject({ status: 503, code: 'overloaded' });
  expect(response.headers['retry-after']).toBe('1');
}

describe('under several times the load that it takes', { timeout: 60_000 }, () => {
  it('management answers, memory is bounded, and all is well afterwards', async () => {
    const { gateway } = overloaded;
    const outcome = await overload(gateway, SECONDS);
    const figures = figuresOf(outcome);
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    // The load was one: most of it was refused.
    expect(figures.refused).toBeGreaterThan(figures.requests / 2);
    expect(figures.medianMs).toBeLessThan(MEDIAN_MS_MAX + 5 * figures.idleMedianMs);
    expect(outcome.memoryGrowthBytes).toBeLessThan(MEMORY_BYTES_MAX);
    for (const refusal of outcome.refusals) expectRefused(refusal);
    expect(await metric(gateway, 'headgate_overload_refusals_total')).toBeGreaterThanOrEqual(figures.refused);
    await until(async () => (await metric(gateway, 'headgate_exchanges')) === 0);
    for (let turn = 0; turn < 50; turn++) expect((await request(gateway, '/busy/v1/x')).status).toBe(200);
    const warnings = await until(() => {
      const found = gateway.logs().filter(({ msg }) => String(msg).startsWith('request refused: worker at '));
      return found.length > 0 && found;
    });
    // At first, and after ten seconds with the number since, from each of two workers.
    expect(warnings.length).toBeLessThanOrEqual(6);
  });

  it('a refused request is explained', async () => {
    const { gateway } = overloaded;
    const explained = await until(async () => {
      const all = Array.from({ length: 8 * EXCHANGES_MAX }, () => request(gateway, '/busy/v1/x'));
      const refused = (await Promise.all(all)).find(({ status }) => status === 503);
      if (refused === undefined) return undefined;
      expectRefused(refused);
      // A worker records so many in a second only.
      const { body } = await gateway.api('GET', `/explain/${refused.headers['x-request-id']}`);
      return body.data ?? undefined;
    });
    expect(explained).toMatchObject({ code: 'overloaded', fix: { action: 'wait', value: 1 } });
  });
});
