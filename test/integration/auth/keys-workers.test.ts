/**
 * Four workers, connections that stay open, callers that are remembered: a change of a key is obeyed by the first
 * request after its answer, on every one of them.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createKey, createPolicies } from '../../support/policies.ts';
import { connectRaw, type RawClient, type RawResponse } from '../../support/clients/raw-client.ts';
import { type Served } from '../../support/traffic.ts';
import { steadily } from '../../support/measure/steady.ts';

const WORKERS = 4;
const CONNECTIONS = 48;

let gateway: TestGateway;
let origin: Origin;
let clients: RawClient[] = [];

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({ env: { GATEWAY_WORKERS: String(WORKERS) } }),
    startOrigin(),
  ]);
  const auth = { auth_type: 'api_key' };
  await createPolicies(gateway, 'shop', origin.port, [
    { path: '/x', policy: { auth } },
    { path: '/gold', policy: { auth, required_scopes: ['gold'] } },
  ]);
  clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => connectRaw(gateway.proxyPort)));
  // A request each, so that each is taken up by its worker.
  await onAll('none');
});
afterAll(async () => {
  for (const client of clients) client.end();
  await gateway.stop();
  await origin.close();
});

/** One request on every connection, at once. */
function onAll(token: string, path = '/x'): Promise<RawResponse[]> {
  return Promise.all(
    clients.map((client) => {
      client.write(
        `GET /shop/v1${path} HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer ${token}\r\n\r\n`,
      );
      return client.response();
    }),
  );
}
async function statuses(token: string, path = '/x'): Promise<number[]> {
  return [...new Set((await onAll(token, path)).map(({ status }) => status))];
}
const pathOf = (key: Served): string => `/apps/shop/tokens/${key.id}`;

it('the connections of these tests are spread over all workers', async () => {
  const page = String((await gateway.api('GET', '//metrics')).body);
  const counts = [...page.matchAll(/^headgate_downstream_connections\{worker="\d+"\} (\d+)$/gm)];
  expect(counts.filter(([, count]) => Number(count) > 0)).toHaveLength(WORKERS);
});

describe('on every worker', () => {
  it('a new key works, a disabled one does not, and works again', async () => {
    const key = await createKey(gateway, 'shop');
    for (const is_active of [true, false, true, false]) {
      await gateway.must('PATCH', pathOf(key), { is_active });
      expect(await statuses(key.token)).toEqual([is_active ? 200 : 401]);
    }
  });

  it('scopes given and taken', async () => {
    const key = await createKey(gateway, 'shop');
    for (const scopes of [['gold'], [], ['silver', 'gold'], ['golden']]) {
      await gateway.must('PATCH', pathOf(key), { scopes });
      expect(await statuses(key.token, '/gold')).toEqual([scopes.includes('gold') ? 200 : 403]);
    }
  });

  it('a plan given and taken: counted over all of them', async () => {
    const key = await createKey(gateway, 'shop');
    expect(await statuses(key.token)).toEqual([200]);
    const rate_limit = { enabled: true, requests: 10, window_seconds: 86_400 };
    await gateway.must('PATCH', pathOf(key), { rate_limit });
    const admitted = (await onAll(key.token)).filter(({ status }) => status === 200);
    expect(admitted.length).toBe(10);
    await gateway.must('PATCH', pathOf(key), { rate_limit: null });
    expect(await statuses(key.token)).toEqual([200]);
  });

  it('rotation, with an overlap and without', async () => {
    const key = await createKey(gateway, 'shop');
    expect(await statuses(key.token)).toEqual([200]);
    const second = await gateway.must('POST', `${pathOf(key)}/rotate`, { overlap_secs: 600 });
    expect([await statuses(key.token), await statuses(second.token)]).toEqual([[200], [200]]);
    const third = await gateway.must('POST', `${pathOf(key)}/rotate`, { overlap_secs: 600 });
    expect([await statuses(key.token), await statuses(second.token)]).toEqual([[401], [200]]);
    const fourth = await gateway.must('POST', `${pathOf(key)}/rotate`);
    expect([await statuses(third.token), await statuses(fourth.token)]).toEqual([[401], [200]]);
  });

  it(
    'an expiry moved to the past moment by moment: never let in after it, never refused before',
    steadily(async () => {
      const key = await createKey(gateway, 'shop');
      expect(await statuses(key.token)).toEqual([200]);
      const expiresMs = (Math.floor(Date.now() / 1000) + 4) * 1000;
      await gateway.must('PATCH', pathOf(key), { expires_at: new Date(expiresMs).toISOString() });
      let [before, after] = [0, 0];
      while (after < 3) {
        const startedMs = Date.now();
        const found = await statuses(key.token);
        if (Date.now() < expiresMs) {
          before++;
          expect(found).toEqual([200]);
        } else if (startedMs >= expiresMs) {
          after++;
          expect(found).toEqual([401]);
        }
      }
      expect(before).toBeGreaterThan(0);
    }),
  );

  it('deletion, of the key and of the app', async () => {
    const [first, second] = [await createKey(gateway, 'shop'), await createKey(gateway, 'shop')];
    expect([await statuses(first.token), await statuses(second.token)]).toEqual([[200], [200]]);
    await gateway.must('DELETE', pathOf(first));
    expect([await statuses(first.token), await statuses(second.token)]).toEqual([[401], [200]]);
    await gateway.must('DELETE', '/apps/shop?cascade=true');
    expect(await statuses(second.token)).toEqual([404]);
  });
});
