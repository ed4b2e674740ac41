/** Webhooks of two gateways on one Postgres, one of which is killed while it sends; `npm run test:soak` does more. */
import { expect, it } from 'vitest';
import { runWebhookScenario } from '../../scenarios/webhook-scenario.ts';

it('every event arrives, in order, twice only with the same id, though the gateway that sends is killed', async () => {
  const figures = await runWebhookScenario({ events: 60, downMs: 500, kills: 1, writers: 2 });
  expect(figures).toMatchObject({ missing: [], outOfOrder: 0 });
  expect(figures.ids).toBe(figures.written);
  expect(figures.takeovers[0]?.eventMs).toBeLessThan(20_000);
}, 120_000);
