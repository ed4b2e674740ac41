/**
 * A client that puts its key or token where no credential belongs, into the path or `User-Agent`: a viewer finds the
 * request in what is kept of it, but not the credential, which the log masks as well.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Explanation } from '../../../src/explain/schema.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { openEvents } from '../../support/clients/event-stream.ts';
import { signed } from '../../support/data/jwts.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { apiAs } from '../../support/management.ts';
import { until } from '../../support/measure/until.ts';
import { createKey } from '../../support/policies.ts';
import { createService, request } from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
let viewer: string;
let credentials: string[];

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  await createService(gateway, 'open', origin.port);
  await createService(gateway, 'keyed', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
  viewer = (await gateway.must('POST', '/admin/tokens', { name: 'viewer', role: 'viewer' })).token;
  credentials = [(await createKey(gateway, 'keyed')).token, await signed({ sub: 'of-a-user' })];
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

/** The answer that a viewer gets, as text. */
async function read(method: string, path: string, body?: unknown): Promise<string> {
  const answer = await apiAs(gateway, viewer, method, path, body);
  expect(answer.status, path).toBe(200);
  return JSON.stringify(answer.body);
}

it('a viewer does not learn it: recorded, live, at other config versions, and in a plan', async () => {
  const live = await openEvents(`${gateway.base}/api/v1/live`, viewer);
  await until(() => live.of('status').length > 0);
  const texts: string[] = [];
  for (const credential of credentials) {
    for (const app of ['keyed', 'open', 'nowhere']) {
      const response = await request(gateway, `/${app}/v1/${credential}/x`, {
        headers: { 'User-Agent': `client/1.0 (${credential})` },
      });
      const id = response.headers['x-request-id'] ?? '';
      const find = () => live.of('exchange').find((each) => each.request_id === id);
      const event = await until(() => find());
      const recorded = await read('GET', `/explain/${id}`);
      const explanation: Explanation = JSON.parse(recorded).data;
      expect(explanation.request).toMatchObject({
        path: `/${app}/v1/***/x`,
        headers: expect.arrayContaining([{ name: 'User-Agent', value: 'client/1.0 (***)' }]),
      });
      if (app === 'open') expect(explanation.upstream?.url).toMatch(/\/\*\*\*\/x$/);
      texts.push(recorded, await read('GET', `/live/${event.id}`));
      texts.push(await read('POST', '/config/explain', { request_id: id }));
      texts.push(await read('POST', '/config/explain', { live_id: event.id, version: 2 }));
    }
  }
  const config = (await gateway.must('GET', '/config')).config;
  config.apps.open.default_policy = { allowed_methods: ['PUT'] };
  const plan = await read('POST', '/config/plan', { config });
  expect(JSON.parse(plan).data.traffic.groups).toMatchObject([{ first: 'GET /open/v1/***/x' }]);
  texts.push(plan, live.text(), gateway.output());
  live.close();
  for (const credential of credentials) expect(texts.filter((text) => text.includes(credential))).toEqual([]);
});
