/**
 * Contract part 8, rule 3: the limit of GATEWAY_RATE_LIMIT_* applies where no level of the policy has a `rate_limit`.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey, quietWindowSecs } from '../../support/policies.ts';
import {
  createEndpoint,
  createRevision,
  createService,
  createVersion,
  request,
  revisionPath,
} from '../../support/traffic.ts';

const WINDOW = quietWindowSecs();
let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({
      env: { GATEWAY_RATE_LIMIT_REQUESTS: '3', GATEWAY_RATE_LIMIT_WINDOW_SECS: String(WINDOW) },
    }),
    startOrigin(),
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

async function statuses(
  count: number,
  target: string,
  headers: Record<string, string> = {},
): Promise<number[]> {
  const found: number[] = [];
  for (let index = 0; index < count; index++)
    found.push((await request(gateway, target, { headers })).status);
  return found;
}
const policyOf = async (target: string, headers: Record<string, string> = {}): Promise<string | undefined> =>
  (await request(gateway, target, { headers })).headers['ratelimit-policy'];

describe('the global default', () => {
  it('applies where no level has a rate_limit, counted per app over all its versions', async () => {
    await createService(gateway, 'one', origin.port);
    await createVersion(gateway, 'one', 'v2');
    await createRevision(gateway, 'one', origin.port, {}, 'v2');
    await createService(gateway, 'two', origin.port);
    expect(await policyOf('/one/v1/x')).toBe(`"global";q=3;w=${WINDOW}`);
    expect(await statuses(1, '/one/v1/y')).toEqual([200]);
    expect(await statuses(2, '/one/v2/x')).toEqual([200, 429]);
    expect(await statuses(1, '/one/v1/x')).toEqual([429]);
    expect(await statuses(4, '/two/v1/x')).toEqual([200, 200, 200, 429]);
  });

  it('is in force for an app whose rate_limit is null, and after a PATCH that removes it', async () => {
    await createService(gateway, 'nulled', origin.port, {
      app: { default_policy: { rate_limit: { enabled: true, requests: 9, window_seconds: WINDOW } } },
    });
    expect(await policyOf('/nulled/v1/x')).toBe(`"app";q=9;w=${WINDOW}`);
    await gateway.must('PATCH', '/apps/nulled', { default_policy: { rate_limit: null } });
    expect(await policyOf('/nulled/v1/x')).toBe(`"global";q=3;w=${WINDOW}`);
  });

  it('is shown by the effective policy as a value of the settings', async () => {
    const limited = await startGateway({
      env: {
        GATEWAY_RATE_LIMIT_REQUESTS: '3',
        GATEWAY_RATE_LIMIT_WINDOW_SECS: String(WINDOW),
        GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
        GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: '100000',
        GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: '3600',
        GATEWAY_PROXY__MAX_BODY_BYTES: '1000000',
      },
    });
    try {
      const { id } = await limited.must('POST', '/apps', {
        name: 'told',
        slug: 'told',
        gateway_path: '/told',
      });
      await createVersion(limited, 'told', 'v1');
      await createRevision(limited, 'told', origin.port);
      const ofSettings = {
        rate_limit: { enabled: true, requests: 3, window_seconds: WINDOW },
        max_body_bytes: 1_000_000,
      };
      const settings = { ...ofSettings, ip_rate_limit: { requests: 100_000, window_seconds: 3_600 } };
      const source = { level: 'global', id };
      for (const path of ['/apps/told', revisionPath('told')]) {
        expect(await limited.must('GET', `${path}/effective-policy`)).toEqual({
          policy: ofSettings,
          sources: { rate_limit: source, max_body_bytes: source },
          settings,
        });
      }
      const own = { enabled: false };
      await limited.must('PATCH', '/apps/told', { default_policy: { rate_limit: own } });
      expect(await limited.must('GET', '/apps/told/effective-policy')).toEqual({
        policy: { ...ofSettings, rate_limit: own },
        sources: { rate_limit: { level: 'app', id }, max_body_bytes: source },
        settings,
      });
    } finally {
      await limited.stop();
    }
  });

  it('gives way to the limit of any level', async () => {
    await createService(gateway, 'levels', origin.port);
    const limit = { enabled: true, requests: 5, window_seconds: WINDOW };
    await createEndpoint(gateway, 'levels', 'GET', '/own', { policy_override: { rate_limit: limit } });
    expect(await statuses(6, '/levels/v1/own')).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await statuses(4, '/levels/v1/x')).toEqual([200, 200, 200, 429]);
    await gateway.must('PATCH', revisionPath('levels'), {
      default_policy: { rate_limit: { ...limit, requests: 1 } },
    });
    expect(await statuses(2, '/levels/v1/x')).toEqual([200, 429]);
  });

  it.each([
    ['enabled false', { enabled: false }],
    ['nothing said', {}],
    ['numbers, not enabled', { requests: 1, window_seconds: 1 }],
  ])('a rate_limit that is not enabled exempts (%s)', async (name, rateLimit) => {
    const slug = name.replace(/\W+/g, '-');
    await createService(gateway, slug, origin.port);
    await createEndpoint(gateway, slug, 'GET', '/free', { policy_override: { rate_limit: rateLimit } });
    expect(await statuses(5, `/${slug}/v1/free`)).toEqual([200, 200, 200, 200, 200]);
    expect(await policyOf(`/${slug}/v1/free`)).toBeUndefined();
    // Nor has the exempt endpoint taken anything from the others.
    expect(await statuses(4, `/${slug}/v1/x`)).toEqual([200, 200, 200, 429]);
  });

  it('supplies the fields that an enabled limit leaves out, and the limit counts at its own level', async () => {
    await createService(gateway, 'filled', origin.port);
    const paths = {
      '/requests': { enabled: true, window_seconds: 7 * WINDOW },
      '/window': { enabled: true, requests: 2 },
      '/both': { enabled: true, algorithm: 'sliding_window' },
    };
    for (const [path, rateLimit] of Object.entries(paths)) {
      await createEndpoint(gateway, 'filled', 'GET', path, { policy_override: { rate_limit: rateLimit } });
    }
    expect(await policyOf('/filled/v1/requests')).toBe(`"endpoint";q=3;w=${7 * WINDOW}`);
    expect(await policyOf('/filled/v1/window')).toBe(`"endpoint";q=2;w=${WINDOW}`);
    expect(await statuses(2, '/filled/v1/window')).toEqual([200, 429]);
    expect(await policyOf('/filled/v1/both')).toBe(`"endpoint";q=3;w=${WINDOW}`);
    expect(await statuses(3, '/filled/v1/both')).toEqual([200, 200, 429]);
    expect(await statuses(1, '/filled/v1/x')).toEqual([200]);
  });

  it('fills in the plan of an API key, and a key without one shares the default of its app', async () => {
    await createService(gateway, 'keyed', origin.port, {
      app: { default_policy: { auth: { auth_type: 'api_key' } } },
    });
    const planned = await createKey(gateway, 'keyed', { rate_limit: { enabled: true, requests: 4 } });
    const plain = await createKey(gateway, 'keyed');
    expect(await policyOf('/keyed/v1/x', bearer(planned.token))).toBe(`"key";q=4;w=${WINDOW}`);
    expect(await statuses(4, '/keyed/v1/x', bearer(plain.token))).toEqual([200, 200, 200, 429]);
    expect(await statuses(4, '/keyed/v1/x', bearer(planned.token))).toEqual([200, 200, 200, 429]);
  });
});
