/** A store of limits behind TLS (`rediss://`): shared by gateways that trust its certificate, and by no others. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { quietWindowSecs } from '../../support/policies.ts';
import { startRedis, type TestRedis } from '../../support/programs/redis.ts';
import { createService } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const TLS = join(import.meta.dirname, '../../support/tls');
const LIMIT = 12;

let redis: TestRedis;
let origin: Origin;
let url: string;
const gateways: TestGateway[] = [];

/** The limit per address is one counter for all gateways; their apps have ids of their own. */
async function start(env: Record<string, string> = {}): Promise<TestGateway> {
  const gateway = await startGateway({
    env: {
      GATEWAY_REDIS_URL: url,
      GATEWAY_LIMITS__MODE: 'exact',
      GATEWAY_LIMITS__TIMEOUT_MS: '5000',
      GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
      GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: String(LIMIT),
      GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: String(quietWindowSecs()),
      ...env,
    },
  });
  gateways.push(gateway);
  await createService(gateway, 'shared', origin.port);
  return gateway;
}

beforeAll(async () => {
  const port = await freePort();
  const file = (name: string): string => join(TLS, name);
  const options = {
    '--tls-port': String(port),
    '--tls-auth-clients': 'no',
    '--tls-cert-file': file('backend.pem'),
    '--tls-key-file': file('backend-key.pem'),
    '--tls-ca-cert-file': file('ca.pem'),
  };
  redis = await startRedis(Object.entries(options).flat());
  origin = await startOrigin((_request, response) => response.end('ok'));
  url = `rediss://127.0.0.1:${port}`;
});
afterAll(async () => {
  for (const gateway of gateways) await gateway.stop();
  await origin.close();
  await redis.close();
});

const reasonOf = async (gateway: TestGateway): Promise<unknown> =>
  (await gateway.api('GET', '//readyz')).body.data.reason;

describe('a store of limits with TLS', () => {
  it('counts for all gateways that trust it', async () => {
    const env = { NODE_EXTRA_CA_CERTS: join(TLS, 'ca.pem') };
    const pair = await Promise.all([start(env), start(env)]);
    for (const gateway of pair) await until(async () => (await reasonOf(gateway)) === null);
    const statuses: number[] = [];
    for (let turn = 0; turn < 2 * LIMIT; turn++) {
      const response = await fetch(`${pair[turn % 2]?.proxy}/shared/v1/x`);
      await response.arrayBuffer();
      statuses.push(response.status);
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(LIMIT);
    expect(statuses.filter((status) => status === 429)).toHaveLength(LIMIT);
  });

  it('is unreachable for one that does not, which says why', async () => {
    const gateway = await start();
    expect(await reasonOf(gateway)).toEqual(expect.stringContaining('limit store'));
    const response = await fetch(`${gateway.proxy}/shared/v1/x`);
    expect(response.status).toBe(200);
    const line = await until(() =>
      gateway.logs().find(({ msg }) => String(msg).startsWith('the limit store is unreachable')),
    );
    expect(JSON.stringify(line)).toMatch(/certificate/i);
  });
});
