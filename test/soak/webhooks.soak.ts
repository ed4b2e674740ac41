/**
 * 10,000 events of two gateways on one PostgreSQL while the receiver is away for a minute and the gateway that sends is
 * killed three times: each event arrives, in order, twice only with the same id.
 */
import { expect, it } from 'vitest';
import { runWebhookScenario } from '../scenarios/webhook-scenario.ts';

it('10,000 events arrive in order, whatever happens to the receiver and to the gateway that sends', async () => {
  const figures = await runWebhookScenario({ events: 10_000, downMs: 60_000, kills: 3, writers: 8 });
  const { takeovers, ...counts } = figures;
  process.stdout.write(`${JSON.stringify(counts)}\n`);
  for (const [index, { receiver, requestMs, eventMs }] of takeovers.entries()) {
    const times = `the next request after ${requestMs} ms, the next event after ${eventMs} ms`;
    process.stdout.write(`kill ${index + 1}, receiver ${receiver}: ${times}\n`);
  }
  expect(figures).toMatchObject({ missing: [], outOfOrder: 0, kills: 3 });
  expect(figures.written).toBeGreaterThanOrEqual(10_000);
  expect(figures.ids).toBe(figures.written);
  // The lease of six seconds, and the next look.
  for (const { requestMs } of takeovers) expect(requestMs).toBeLessThan(20_000);
  // A save each quarter of a second bounds what is sent again.
  expect(figures.duplicates).toBeLessThan(figures.written / 10);
}, 1_800_000);
