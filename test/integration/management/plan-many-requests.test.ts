/**
 * Plans on ten thousand different recorded requests, in a thread that lets traffic and the management API go on, and on
 * requests of callers with tokens, of which the gateway keeps whose they were.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { b64, SECRET, sign } from '../../../src/policy/test-jwts.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { until } from '../../support/measure/until.ts';
import { bearer } from '../../support/policies.ts';
import { createService, request, type Fields, type Served } from '../../support/traffic.ts';
import { awakeMs } from '../../support/measure/steady.ts';

const REQUESTS = 10_000;
const BATCH = 500;

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({ env: { GATEWAY_WORKERS: '1', GATEWAY_TRAFFIC__RECORDS_PER_SEC: '100000' } }),
    startOrigin(),
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

/** What the traffic of a plan is that changes the policy of an app. */
async function planned(slug: string, policy: Fields): Promise<Served> {
  const { config } = await gateway.must('GET', `/config?app=${slug}`);
  config.apps[slug].default_policy = policy;
  return (await gateway.must('POST', '/config/plan', { config, adopt: true })).traffic;
}

it('says which holders of tokens would be refused', async () => {
  const auth = { auth_type: 'jwt', jwt: { secret: SECRET } };
  await createService(gateway, 'tokens', origin.port, { app: { default_policy: { auth } } });
  const claims = { sub: 'alice', iss: 'here', aud: ['api'], scope: 'read write', email: 'a@example.test' };
  const tokens = [
    await sign(claims),
    await sign({ ...claims, sub: 'bob', iss: 'there', scope: 'read', email: undefined }),
    b64({ alg: 'none' }),
  ];
  for (const token of tokens) await request(gateway, '/tokens/v1/x', { headers: bearer(token) });
  const refused = async (change: Fields, rest: Fields = {}): Promise<unknown[]> => {
    const jwt = { ...auth.jwt, ...(change['jwt'] as Fields | undefined) };
    const traffic = await planned('tokens', { ...rest, auth: { ...auth, ...change, jwt } });
    // Other settings might take the token that was refused.
    const undecided = change['jwt'] === undefined ? 0 : 1;
    expect(traffic).toMatchObject({ requests: 3, undecided, problem: null });
    expect(JSON.stringify(traffic)).not.toContain('example.test');
    return traffic.groups.map(({ by, from, to }: Served) => [by.kind, by.id, from.status, to.code]);
  };
  expect(await refused({ jwt: { leeway_secs: 5 } })).toEqual([]);
  expect(await refused({ jwt: { issuer: 'here' } })).toEqual([['jwt', 'bob', 200, 'credentials_invalid']]);
  expect(await refused({ jwt: { audiences: ['other'] } })).toHaveLength(2);
  expect(await refused({ required_claims: ['email'] })).toEqual([['jwt', 'bob', 200, 'missing_claim']]);
  expect(await refused({}, { required_scopes: ['write'] })).toEqual([
    ['jwt', 'bob', 200, 'insufficient_scope'],
  ]);
  const unsure = await planned('tokens', { auth: { ...auth, jwt: { secret: `${SECRET}!` } } });
  expect(unsure).toMatchObject({ changed: 0, undecided: 1 });
  expect(await refused({ required: false })).toEqual([['anonymous', '', 401, null]]);
});

it('counts ten thousand, while traffic and the management API go on', async () => {
  const policy = { allowed_methods: ['PUT'] };
  await createService(gateway, 'many', origin.port, { app: { default_policy: policy } });
  const client = await connectRaw(gateway.proxyPort);
  for (let sent = 0; sent < REQUESTS; sent += BATCH) {
    const heads = Array.from({ length: BATCH }, (_, index) => sent + index).map(
      (index) =>
        `GET /many/v1/${index} HTTP/1.1\r\nHost: h\r\nUser-Agent: many\r\nX-Number: ${index}\r\n\r\n`,
    );
    client.write(heads.join(''));
    const answers = sent + BATCH;
    await until(async () => client.received().split('HTTP/1.1 405').length > answers || undefined);
  }
  client.end();
  let isPlanning = true;
  const plan = planned('many', {}).finally(() => (isPlanning = false));
  let slowestMs = 0;
  let others = 0;
  while (isPlanning) {
    const startedMs = awakeMs();
    others += 1;
    expect((await request(gateway, '/many/v1/other', { method: 'PUT' })).status).toBe(200);
    expect((await gateway.api('GET', '/apps/many')).status).toBe(200);
    slowestMs = Math.max(slowestMs, awakeMs() - startedMs);
  }
  const traffic = await plan;
  expect(traffic).toMatchObject({ recorded: REQUESTS, undecided: 0, problem: null, groups_total: 1 });
  // As many as there is time for: on a busy machine not all.
  expect(traffic.requests).toBeGreaterThan(500);
  const unchanged = traffic.requests - traffic.changed;
  expect(unchanged).toBeLessThanOrEqual(others);
  expect(traffic.groups[0]).toMatchObject({
    count: traffic.changed,
    from: { status: 405, code: 'method_not_allowed' },
    to: { status: null, code: null },
    first: `GET /many/v1/${REQUESTS - traffic.changed}`,
  });
  expect(slowestMs).toBeLessThan(2_000);
  expect(origin.seen.every(({ url }) => !/\/\d+$/.test(url))).toBe(true);
});
