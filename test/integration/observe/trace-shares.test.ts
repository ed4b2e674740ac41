/** Traces of several apps while a collector is behind: a flood of requests to one app does not push out the others. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startCollector, type TestCollector } from '../../support/backends/collector.ts';
import { LeanClient } from '../../support/clients/lean-client.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { createService } from '../../support/traffic.ts';

/** Their spans, with a long path, take several times the memory. */
const FLOOD = 4_000;
const OTHERS = 20;

let collector: TestCollector;
let gateway: TestGateway;
beforeAll(async () => {
  collector = await startCollector();
  gateway = await startGateway({
    env: {
      GATEWAY_OTEL__ENDPOINT: collector.url,
      GATEWAY_OTEL__SIGNALS: 'traces',
      GATEWAY_OTEL__TIMEOUT_MS: '60000',
      GATEWAY_OTEL__MAX_QUEUE_BYTES: String(2 ** 20),
    },
  });
  const app = { default_policy: { auth: { auth_type: 'api_key' } } };
  for (const slug of ['flooded', 'quiet']) await createService(gateway, slug, 9, { app });
});
afterAll(async () => {
  await gateway.stop();
  await collector.close();
});

it('refused requests to one app leave memory for the traces of another', async () => {
  const held: ServerResponse[] = [];
  collector.behave((response) => void held.push(response));
  const client = await LeanClient.connect(gateway.proxyPort);
  const refused = async (slug: string): Promise<void> => {
    const path = `/${slug}/v1/${'x'.repeat(900)}`;
    const { status } = await client.ask(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(status).toBe(401);
  };
  // What an export has already begun with is with the collector.
  while (held.length === 0) await refused('flooded');
  for (let index = 0; index < FLOOD; index++) {
    await refused('flooded');
    if (index % (FLOOD / OTHERS) === 0) await refused('quiet');
  }
  collector.behave(undefined);
  for (const response of held) response.writeHead(200).end();
  const count = (app: string): number =>
    collector.spans.filter(({ attributes }) => attributes['headgate.app'] === app).length;
  await until(() => count('quiet') === OTHERS, 20_000);
  expect(count('flooded')).toBeLessThan(FLOOD);
});
