/** Contract part 8: what a limit counts, for whom, and what clients are told. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey, createPolicies, quietWindowSecs, send } from '../../support/policies.ts';
import type { RawResponse } from '../../support/clients/raw-client.ts';
import {
  createEndpoint,
  createRevision,
  createService,
  createVersion,
  problem,
  request,
  revisionPath,
  type Fields,
  type Served,
} from '../../support/traffic.ts';

const ALGORITHMS = ['fixed_window', 'sliding_window', 'token_bucket'] as const;
const WINDOW = quietWindowSecs();

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway(),
    startOrigin((_incoming, response) => {
      response.writeHead(200, {
        ratelimit: '"backend";r=1',
        'x-ratelimit-limit': '12345',
        'retry-after': '7',
      });
      response.end();
    }),
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const limit = (requests: number, fields: Fields = {}): Fields => ({
  rate_limit: { enabled: true, requests, window_seconds: WINDOW, ...fields },
});
const call = (target: string, headers: Record<string, string> = {}): Promise<RawResponse> =>
  request(gateway, target, { headers });
/** Statuses of `count` requests, one after the other. */
async function statuses(
  count: number,
  target: string,
  headers: Record<string, string> = {},
): Promise<number[]> {
  const found: number[] = [];
  for (let index = 0; index < count; index++) found.push((await call(target, headers)).status);
  return found;
}

describe('fields of rate_limit', () => {
  beforeAll(() =>
    createPolicies(gateway, 'fields', origin.port, [
      { path: '/off', policy: { rate_limit: { requests: 1, window_seconds: WINDOW } } },
      { path: '/default', policy: limit(2) },
      ...ALGORITHMS.map((algorithm) => ({ path: `/${algorithm}`, policy: limit(3, { algorithm }) })),
      { path: '/burst', policy: limit(2, { algorithm: 'token_bucket', burst: 5 }) },
      { path: '/small-burst', policy: limit(9, { algorithm: 'token_bucket', burst: 2 }) },
    ]),
  );

  it('spec 8: enabled defaults to false', async () => {
    expect(await statuses(3, '/fields/v1/off')).toEqual([200, 200, 200]);
  });

  it('spec 8: algorithm defaults to fixed_window, whose windows are aligned to the clock', async () => {
    const restSecs = (): number => Math.ceil((WINDOW * 1000 - (Date.now() % (WINDOW * 1000))) / 1000);
    const before = restSecs();
    const response = await call('/fields/v1/default');
    const reset = Number(response.headers['x-ratelimit-reset']);
    expect(reset).toBeLessThanOrEqual(before);
    expect(reset).toBeGreaterThanOrEqual(restSecs());
    await call('/fields/v1/default');
    const refused = await call('/fields/v1/default');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(before);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(restSecs());
  });

  it.each(ALGORITHMS)(
    'spec 8: %s admits exactly `requests`, then 429 with Retry-After in seconds',
    async (algorithm) => {
      const before = origin.seen.length;
      expect(await statuses(3, `/fields/v1/${algorithm}`)).toEqual([200, 200, 200]);
      for (let count = 0; count < 3; count++) {
        const refused = await call(`/fields/v1/${algorithm}`);
        expect(problem(refused)).toMatchObject({ status: 429, code: 'rate_limited', data: null });
        expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/);
        expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(WINDOW);
      }
      expect(origin.seen).toHaveLength(before + 3);
    },
  );

  it('burst is the capacity of the bucket, whatever `requests` says', async () => {
    expect(await statuses(6, '/fields/v1/burst')).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await statuses(3, '/fields/v1/small-burst')).toEqual([200, 200, 429]);
    // The refill is `requests / window_seconds`, so that one token takes this long.
    const retryAfter = Number((await call('/fields/v1/burst')).headers['retry-after']);
    expect(retryAfter).toBeLessThanOrEqual(Math.ceil(WINDOW / 2));
    expect(retryAfter).toBeGreaterThan(Math.ceil(WINDOW / 2) - 600);
  });
});

describe('response fields', () => {
  it('RateLimit, RateLimit-Policy and X-RateLimit-* count down, on refusals too', async () => {
    await createPolicies(gateway, 'told', origin.port, [
      { path: '/x', policy: limit(2, { algorithm: 'sliding_window' }) },
    ]);
    for (const [status, remaining] of [
      [200, 1],
      [200, 0],
      [429, 0],
    ] as const) {
      const { status: got, headers } = await call('/told/v1/x');
      expect(got).toBe(status);
      expect(headers['ratelimit-policy']).toBe(`"endpoint";q=2;w=${WINDOW}`);
      expect(headers['ratelimit']).toMatch(new RegExp(String.raw`^"endpoint";r=${remaining};t=\d+$`));
      expect(headers['x-ratelimit-limit']).toBe('2');
      expect(headers['x-ratelimit-remaining']).toBe(String(remaining));
      expect(headers['x-ratelimit-reset']).toMatch(/^\d+$/);
      expect(headers['ratelimit']).toContain(`;t=${headers['x-ratelimit-reset']}`);
    }
  });

  it('those of the backend are replaced where the gateway limits, its Retry-After is its own; else they pass', async () => {
    await createService(gateway, 'untold', origin.port);
    const { headers } = await call('/untold/v1/x');
    expect(headers).toMatchObject({
      ratelimit: '"backend";r=1',
      'x-ratelimit-limit': '12345',
      'retry-after': '7',
    });
    const limited = await call('/told/v1/other');
    expect(limited.headers['ratelimit']).toBe('"backend";r=1');
  });
});

describe('what is counted together', () => {
  it('spec 8, rule 1: a limit of an app counts all its requests, over versions, revisions and endpoints', async () => {
    await createService(gateway, 'appwide', origin.port, { app: { default_policy: limit(4) } });
    await createVersion(gateway, 'appwide', 'v2');
    await createRevision(gateway, 'appwide', origin.port, {}, 'v2');
    await createEndpoint(gateway, 'appwide', 'GET', '/e');
    expect(await statuses(2, '/appwide/v1/x')).toEqual([200, 200]);
    expect(await statuses(1, '/appwide/v1/e')).toEqual([200]);
    expect(await statuses(2, '/appwide/v2/x')).toEqual([200, 429]);
    expect((await call('/appwide/v1/x')).headers['ratelimit-policy']).toBe(`"app";q=4;w=${WINDOW}`);
  });

  it('spec 8, rule 2: a limit of an endpoint replaces it for that endpoint, and takes nothing from the app', async () => {
    await createService(gateway, 'replaced', origin.port, { app: { default_policy: limit(3) } });
    await createEndpoint(gateway, 'replaced', 'GET', '/strict', { policy_override: limit(1) });
    await createEndpoint(gateway, 'replaced', 'GET', '/loose', { policy_override: limit(5) });
    expect(await statuses(2, '/replaced/v1/strict')).toEqual([200, 429]);
    expect(await statuses(6, '/replaced/v1/loose')).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await statuses(4, '/replaced/v1/x')).toEqual([200, 200, 200, 429]);
    expect(await statuses(1, '/replaced/v1/strict')).toEqual([429]);
  });

  it('a limit of a revision counts for that revision alone', async () => {
    await createService(gateway, 'perrev', origin.port, { revision: { default_policy: limit(2) } });
    await createVersion(gateway, 'perrev', 'v2');
    await createRevision(gateway, 'perrev', origin.port, { default_policy: limit(1) }, 'v2');
    expect(await statuses(3, '/perrev/v1/x')).toEqual([200, 200, 429]);
    expect(await statuses(2, '/perrev/v2/x')).toEqual([200, 429]);
  });

  it('a change of the limit is obeyed by the next request, and what was counted stays counted', async () => {
    await createService(gateway, 'raised', origin.port, { app: { default_policy: limit(2) } });
    expect(await statuses(3, '/raised/v1/x')).toEqual([200, 200, 429]);
    await gateway.must('PATCH', '/apps/raised', { default_policy: limit(3) });
    expect(await statuses(2, '/raised/v1/x')).toEqual([200, 429]);
    await gateway.must('PATCH', '/apps/raised', { default_policy: { rate_limit: null } });
    expect(await statuses(2, '/raised/v1/x')).toEqual([200, 200]);
  });
});

describe('per', () => {
  let first: Served;
  let second: Served;

  beforeAll(async () => {
    const optional = { auth: { auth_type: 'api_key', required: false } };
    await createPolicies(gateway, 'per', origin.port, [
      { path: '/scope', policy: limit(2, { per: 'scope' }) },
      { path: '/key', policy: { ...optional, ...limit(2, { per: 'api_key' }) } },
      { path: '/key/{id}', policy: { ...optional, ...limit(1, { per: 'api_key' }) } },
      { path: '/ip', policy: limit(1, { per: 'ip', algorithm: 'sliding_window' }) },
      { path: '/header', policy: limit(1, { per: 'header:X-Tenant', algorithm: 'token_bucket' }) },
    ]);
    [first, second] = [await createKey(gateway, 'per'), await createKey(gateway, 'per')];
  });

  it('scope is one counter for everyone', async () => {
    expect((await send(gateway, '/per/v1/scope', {}, { localAddress: '127.0.0.2' })).status).toBe(200);
    expect(await statuses(2, '/per/v1/scope', bearer(first.token))).toEqual([200, 429]);
  });

  it('api_key is a counter for each key; callers without a key are distinguished by address', async () => {
    expect(await statuses(3, '/per/v1/key', bearer(first.token))).toEqual([200, 200, 429]);
    expect(await statuses(3, '/per/v1/key', bearer(second.token))).toEqual([200, 200, 429]);
    expect(await statuses(3, '/per/v1/key')).toEqual([200, 200, 429]);
    // A bad key is no way to a fresh counter.
    expect(await statuses(1, '/per/v1/key', bearer('hgk_made-up'))).toEqual([429]);
    expect((await send(gateway, '/per/v1/key', {}, { localAddress: '127.0.0.2' })).status).toBe(200);
  });

  it('both values of a rotated key count together', async () => {
    const rotated = await gateway.must('POST', `/apps/per/tokens/${second.id}/rotate`, { overlap_secs: 600 });
    expect(await statuses(1, '/per/v1/key', bearer(rotated.token))).toEqual([429]);
    expect(await statuses(1, '/per/v1/key', bearer(second.token))).toEqual([429]);
  });

  it('all paths of a template are one scope', async () => {
    expect(await statuses(1, '/per/v1/key/1', bearer(first.token))).toEqual([200]);
    expect(await statuses(1, '/per/v1/key/2', bearer(first.token))).toEqual([429]);
  });

  it('ip is a counter for each client address', async () => {
    for (const localAddress of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) {
      const answers = [
        await send(gateway, '/per/v1/ip', {}, { localAddress }),
        await send(gateway, '/per/v1/ip', {}, { localAddress }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    }
    // No proxy is trusted here: an address in a field is only a claim.
    expect(
      await statuses(1, '/per/v1/ip', { 'X-Forwarded-For': '203.0.113.9', 'X-Real-IP': '203.0.113.9' }),
    ).toEqual([429]);
  });

  it('header:<name> is a counter for each value; requests without the field share another counter', async () => {
    const tenant = (name: string): Record<string, string> => ({ 'x-tenant': name });
    expect(await statuses(2, '/per/v1/header', tenant('a'))).toEqual([200, 429]);
    expect(await statuses(2, '/per/v1/header', tenant('b'))).toEqual([200, 429]);
    expect(await statuses(2, '/per/v1/header')).toEqual([200, 429]);
  });
});

describe('the plan of an API key', () => {
  it('replaces the limit of the policy for that key, and is counted by itself', async () => {
    await createPolicies(gateway, 'plans', origin.port, [
      { path: '/limited', policy: { auth: { auth_type: 'api_key', required: false }, ...limit(1) } },
      { path: '/unlimited', policy: { auth: { auth_type: 'api_key' }, rate_limit: { enabled: false } } },
    ]);
    const plan = limit(3)['rate_limit'];
    const planned = await createKey(gateway, 'plans', { rate_limit: plan });
    const exempt = await createKey(gateway, 'plans', { rate_limit: { enabled: false } });
    const plain = await createKey(gateway, 'plans');
    const target = '/plans/v1/limited';
    expect(await statuses(2, target, bearer(plain.token))).toEqual([200, 429]);
    const answer = await call(target, bearer(planned.token));
    expect(answer.headers['ratelimit-policy']).toBe(`"key";q=3;w=${WINDOW}`);
    expect(await statuses(1, target, bearer(planned.token))).toEqual([200]);
    // One counter for the key, over all routes of its app, also where the route itself is exempt.
    expect(await statuses(2, '/plans/v1/unlimited', bearer(planned.token))).toEqual([200, 429]);
    expect(await statuses(1, target, bearer(planned.token))).toEqual([429]);
    expect(await statuses(3, target, bearer(exempt.token))).toEqual([200, 200, 200]);
    expect(await statuses(1, target)).toEqual([429]);

    const path = `/apps/plans/tokens/${planned.id}`;
    await gateway.must('PATCH', path, { rate_limit: limit(4)['rate_limit'] });
    expect(await statuses(2, target, bearer(planned.token))).toEqual([200, 429]);
    await gateway.must('PATCH', path, { rate_limit: null });
    expect(await statuses(1, '/plans/v1/unlimited', bearer(planned.token))).toEqual([200]);
    expect(await statuses(1, target, bearer(planned.token))).toEqual([429]);
  });

  it('a plan that nothing can fill in is 422', async () => {
    const answer = await gateway.api('POST', '/apps/plans/tokens', {
      name: 'bad',
      scopes: [],
      rate_limit: { enabled: true, requests: 5 },
    });
    expect(answer.status).toBe(422);
    expect(answer.body.errors[0].pointer).toBe('/rate_limit/window_seconds');
  });
});

describe('writes', () => {
  it('an enabled limit that no setting fills in is 422, on every level', async () => {
    await createService(gateway, 'unfilled', origin.port);
    const rate_limit = { enabled: true };
    const answers = [
      [await gateway.api('PATCH', '/apps/unfilled', { default_policy: { rate_limit } }), '/default_policy'],
      [
        await gateway.api('PATCH', revisionPath('unfilled'), { default_policy: { rate_limit } }),
        '/default_policy',
      ],
      [
        await gateway.api('POST', `${revisionPath('unfilled')}/endpoints`, {
          method: 'GET',
          path: '/x',
          policy_override: { rate_limit },
        }),
        '/policy_override',
      ],
    ] as const;
    for (const [{ status, body }, at] of answers) {
      expect(status).toBe(422);
      expect(body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
        `${at}/rate_limit/requests`,
        `${at}/rate_limit/window_seconds`,
      ]);
    }
  });
});
