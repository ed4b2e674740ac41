/**
 * A revision is chosen for a request and then refuses it, because another request became the trial first. The request
 * goes to another available revision, under the policy of that revision.
 */
import { afterEach, describe, expect, it } from 'vitest';
import type { Policy } from '../../../src/policy/registry.ts';
import type { Revision } from '../../../src/model/resources.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { oneRoute, revisionOf, startProxy, type TestProxy } from '../../support/proxy.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';

const opened: { readonly proxy: TestProxy; readonly origin: Origin }[] = [];

afterEach(async () => {
  for (const { proxy, origin } of opened.splice(0)) {
    await proxy.close();
    await origin.close();
  }
});

const GET = 'GET /a/v1/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
const RULES = { failures: 1, open_secs: 1, count_5xx: false, recovery_secs: 0 };

interface Setup {
  readonly policy?: Policy;
  /** Of the revision that is good. */
  readonly good?: Partial<Revision>;
  readonly isAlone?: boolean;
}

/** `tried` is due for its trial, and a request that chooses it finds that another worker has just taken the trial. */
async function start({ policy, good, isAlone = false }: Setup) {
  const origin = await startOrigin((incoming, response) => response.end(incoming.url));
  const change = oneRoute({
    backendPort: origin.port,
    ...(policy === undefined ? {} : { policy }),
    revision: { id: 'tried', revision: 'tried', backend_base_path: '/tried', traffic_weight: 1_000_000 },
  });
  const [version] = change.apps[0]?.versions ?? [];
  if (version === undefined) throw new Error('there is a version');
  const other = revisionOf(version.version.id, origin.port, {
    id: 'good',
    revision: 'good',
    backend_base_path: '/good',
    ...good,
  });
  const revisions = isAlone ? version.revisions : [...version.revisions, { revision: other, endpoints: [] }];
  const proxy = await startProxy({
    ...change,
    apps: change.apps.map((tree) => ({ ...tree, versions: [{ ...version, revisions }] })),
  });
  opened.push({ proxy, origin });
  const breaker = proxy.breakerOf('tried');
  if (breaker === undefined) throw new Error('there is a breaker');
  breaker.onOutcome('failure', undefined, RULES, Date.now() - 60_000);
  const share = breaker.share.bind(breaker);
  let taken = 0;
  breaker.share = (rules, hasProbe, nowMs) => {
    const before = share(rules, hasProbe, nowMs);
    if (before > 0) taken += Number(!breaker.admit(rules, hasProbe, nowMs).refused);
    return before;
  };
  return { proxy, origin, taken: () => taken };
}

describe('a trial that another request has taken', () => {
  it('sends this one to another revision', async () => {
    const { proxy, taken, origin } = await start({});
    const response = await sendRaw(proxy.port, GET);
    expect([taken(), response.status, response.body]).toEqual([1, 200, '/good/x']);
    expect(origin.seen).toHaveLength(1);
    expect(proxy.defects).toEqual([]);
  });

  it('which decides by its own policy', async () => {
    const strict: Policy = { auth: { auth_type: 'api_key', required: true } };
    const { proxy, taken, origin } = await start({ good: { default_policy: strict } });
    const response = await sendRaw(proxy.port, GET);
    expect([taken(), response.status]).toEqual([1, 401]);
    expect(origin.seen).toHaveLength(0);
  });

  it('and what the first policy had taken is given back', async () => {
    const { proxy, taken } = await start({
      policy: { concurrency: { max: 1 } },
      good: { default_policy: { allowed_methods: ['GET'] } },
    });
    expect((await sendRaw(proxy.port, GET)).body).toBe('/good/x');
    expect((await sendRaw(proxy.port, GET)).body).toBe('/good/x');
    expect(taken()).toBe(1);
  });

  it('leaves it with 503 where there is no other', async () => {
    const { proxy, origin } = await start({ isAlone: true });
    const response = await sendRaw(proxy.port, GET);
    expect(JSON.parse(response.body)).toMatchObject({ status: 503, code: 'circuit_open' });
    expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(origin.seen).toHaveLength(0);
  });
});
