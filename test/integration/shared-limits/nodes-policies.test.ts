/**
 * Everything that limits requests goes through the shared store, once there is one: limits of policies, plans of keys,
 * the limit per address, the global default, shadow mode; explain looks at it and takes nothing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explain } from '../../support/explain.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { metric, quietWindowSecs } from '../../support/policies.ts';
import { startRedis, type TestRedis } from '../../support/programs/redis.ts';
import { createApp, createRevision, createService, createVersion } from '../../support/traffic.ts';

const WINDOW_SECS = quietWindowSecs();
const limit = (requests: number, more: object = {}) => ({
  rate_limit: { enabled: true, requests, window_seconds: WINDOW_SECS, ...more },
});

let redis: TestRedis;
let origin: Origin;
let gateway: TestGateway;

beforeAll(async () => {
  redis = await startRedis();
  origin = await startOrigin((_request, response) => response.end('ok'));
  gateway = await startGateway({
    env: {
      GATEWAY_REDIS_URL: redis.url,
      GATEWAY_LIMITS__TIMEOUT_MS: '5000',
      GATEWAY_RATE_LIMIT_REQUESTS: '3',
      GATEWAY_RATE_LIMIT_WINDOW_SECS: String(WINDOW_SECS),
      GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
      GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: '60',
      GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: String(WINDOW_SECS),
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
  await redis.close();
});

async function service(slug: string, policy: object | undefined, through = gateway): Promise<void> {
  await createApp(through, slug, policy === undefined ? {} : { default_policy: policy });
  await createVersion(through, slug);
  await createRevision(through, slug, origin.port);
}

async function ask(slug: string, headers: Record<string, string> = {}, through = gateway): Promise<Response> {
  const response = await fetch(`${through.proxy}/${slug}/v1/x`, { headers });
  await response.arrayBuffer();
  return response;
}

async function statuses(slug: string, count: number, headers?: Record<string, string>): Promise<number[]> {
  const found: number[] = [];
  for (let index = 0; index < count; index++) found.push((await ask(slug, headers)).status);
  return found;
}

describe('with a store that nodes share', () => {
  it.each(['leased', 'exact'])(
    'a %s limit of a policy: answers, fields, and what explain sees',
    async (mode) => {
      await service(`policy-${mode}`, limit(2, { mode }));
      const described = { method: 'GET', url: `/policy-${mode}/v1/x` };
      for (let look = 0; look < 3; look++) {
        const { limits } = await explain(gateway, described);
        expect(limits).toContainEqual(
          expect.objectContaining({ kind: 'policy', limit: 2, remaining: 1, admitted: true }),
        );
      }
      const first = await ask(`policy-${mode}`);
      expect(first.status).toBe(200);
      expect(first.headers.get('x-ratelimit-remaining')).toBe('1');
      expect((await ask(`policy-${mode}`)).status).toBe(200);
      const refused = await ask(`policy-${mode}`);
      expect(refused.status).toBe(429);
      const left = WINDOW_SECS - (Math.floor(Date.now() / 1000) % WINDOW_SECS);
      expect(Math.abs(Number(refused.headers.get('retry-after')) - left)).toBeLessThanOrEqual(2);
      const { limits } = await explain(gateway, described);
      expect(limits).toContainEqual(
        expect.objectContaining({ kind: 'policy', remaining: 0, admitted: false }),
      );
    },
  );

  it('the plan of a key', async () => {
    await service('plans', { auth: { auth_type: 'api_key' }, ...limit(5) });
    const plan = limit(1).rate_limit;
    const { token } = await gateway.must('POST', '/apps/plans/tokens', { name: 'k', rate_limit: plan });
    expect(await statuses('plans', 2, { authorization: `Bearer ${token}` })).toEqual([200, 429]);
  });

  it('the global default', async () => {
    await service('global', undefined);
    expect(await statuses('global', 4)).toEqual([200, 200, 200, 429]);
  });

  it('shadow mode lets pass and counts', async () => {
    await service('shadow', { ...limit(1), shadow: ['rate_limit'] });
    expect(await statuses('shadow', 3)).toEqual([200, 200, 200]);
    const text = String((await gateway.api('GET', '//metrics')).body);
    expect(text).toContain('headgate_shadow_denials_total{part="rate_limit"} 2');
  });

  it('all of it is in the store, under names that tell nothing', async () => {
    const keys = await redis.command('KEYS', '*');
    expect(keys.match(/headgate:limit:\{[0-9a-f]{32}\}/g)?.length).toBeGreaterThanOrEqual(6);
    expect(keys).not.toContain('127.0.0.1');
  });

  it('the limit per address, over all apps, comes in addition', async () => {
    const found = await statuses('shadow', 60);
    expect(found.at(-1)).toBe(429);
    expect(await statuses('policy-leased', 1)).toEqual([429]);
    const { limits } = await explain(gateway, {
      method: 'GET',
      url: '/shadow/v1/x',
      client_ip: '192.0.2.7',
    });
    expect(limits).toContainEqual(expect.objectContaining({ kind: 'ip', remaining: 59, admitted: true }));
  });

  it('the prefix of its keys is the one of the settings: with another one it is another limit', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-prefix-'));
    const seen = async (prefix: string, prepare?: (one: TestGateway) => Promise<void>): Promise<number[]> => {
      const env = { GATEWAY_REDIS_URL: redis.url, GATEWAY_LIMITS__KEY_PREFIX: prefix };
      const one = await startGateway({ folder, env: { ...env, GATEWAY_LIMITS__TIMEOUT_MS: '5000' } });
      try {
        await prepare?.(one);
        const found: number[] = [];
        for (let index = 0; index < 3; index++) found.push((await fetch(`${one.proxy}/prefix/v1/x`)).status);
        return found;
      } finally {
        await one.kill();
      }
    };
    const made = (one: TestGateway): Promise<void> =>
      createService(one, 'prefix', origin.port, { app: { default_policy: limit(2) } });
    try {
      expect(await seen('one:', made)).toEqual([200, 200, 429]);
      expect(await seen('two:')).toEqual([200, 200, 429]);
      expect(await seen('one:')).toEqual([429, 429, 429]);
      for (const prefix of ['one', 'two']) {
        expect(await redis.command('KEYS', `${prefix}:limit:*`)).toMatch(/limit:\{[0-9a-f]{32}\}/);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('fields that the schema does not know are refused', async () => {
    const wrong = { name: 'w', slug: 'w', gateway_path: '/w', default_policy: limit(1, { mode: 'both' }) };
    expect((await gateway.api('POST', '/apps', wrong)).status).toBe(422);
    const other = { ...wrong, default_policy: limit(1, { on_store_failure: 'never' }) };
    expect((await gateway.api('POST', '/apps', other)).status).toBe(422);
  });
});

describe('how often each gateway asks the store', () => {
  const REQUESTS = 50;
  const MANY = 1_000_000;

  it.each(['leased', 'exact'] as const)(
    'is said by the policy, and by the setting where that is silent: %s',
    async (setting) => {
      const other = setting === 'exact' ? 'leased' : 'exact';
      const env = {
        GATEWAY_REDIS_URL: redis.url,
        GATEWAY_LIMITS__KEY_PREFIX: `${setting}:`,
        GATEWAY_LIMITS__TIMEOUT_MS: '5000',
        GATEWAY_LIMITS__MODE: setting,
      };
      const asking = await startGateway({ env });
      try {
        await service('by-setting', limit(MANY), asking);
        await service('by-policy', limit(MANY, { mode: other }), asking);
        const callsOf = async (slug = ''): Promise<number> => {
          const calls = (): Promise<number> =>
            metric(asking, 'headgate_limit_store_calls_total', { outcome: 'answered' });
          const before = await calls();
          for (let index = 0; index < REQUESTS; index++) {
            expect((await ask(slug, {}, asking)).status).toBe(200);
          }
          return (await calls()) - before;
        };
        const [exact, leased] =
          setting === 'exact' ? ['by-setting', 'by-policy'] : ['by-policy', 'by-setting'];
        expect(await callsOf(exact), 'each request asks').toBe(REQUESTS);
        expect(await callsOf(leased), 'portions').toBeLessThan(0.9 * REQUESTS);
      } finally {
        await asking.stop();
      }
    },
  );
});
