/** A limit is counted exactly over all workers of a node, however many connections use it at once. */
import * as http from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import {
  bearer,
  createKey,
  createPolicies,
  metric,
  quietWindowSecs,
  send,
  type PlainResponse,
} from '../../support/policies.ts';

const LIMIT = 100;
const CONNECTIONS = 40;
const REQUESTS = 400;

let gateway: TestGateway;
let origin: Origin;
let agent: http.Agent;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway({ env: { GATEWAY_WORKERS: '2' } }), startOrigin()]);
  agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const limit = (fields: object) => ({
    rate_limit: { enabled: true, requests: LIMIT, window_seconds: quietWindowSecs(), ...fields },
  });
  await createPolicies(gateway, 'exact', origin.port, [
    { path: '/fixed_window', policy: limit({ algorithm: 'fixed_window' }) },
    { path: '/sliding_window', policy: limit({ algorithm: 'sliding_window' }) },
    { path: '/token_bucket', policy: limit({ algorithm: 'token_bucket' }) },
    {
      path: '/keys',
      policy: { auth: { auth_type: 'api_key' }, ...limit({ per: 'api_key', algorithm: 'sliding_window' }) },
    },
  ]);
});
afterAll(async () => {
  agent.destroy();
  await gateway.stop();
  await origin.close();
});

const flood = (
  path: string,
  headersOf: (index: number) => Record<string, string> = () => ({}),
  to = gateway,
): Promise<PlainResponse[]> =>
  Promise.all(
    Array.from({ length: REQUESTS }, (_, index) =>
      send(to, `/exact/v1${path}`, { headers: headersOf(index) }, { agent }),
    ),
  );

/** Of all answers exactly the limit was admitted, and each was told another remainder. */
function expectExact(answers: readonly PlainResponse[]): void {
  const admitted = answers.filter(({ status }) => status === 200);
  expect(admitted).toHaveLength(LIMIT);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(answers.length - LIMIT);
  const remainders = admitted
    .map(({ headers }) => Number(headers['x-ratelimit-remaining']))
    .sort((a, b) => a - b);
  expect(remainders).toEqual(Array.from({ length: LIMIT }, (_, index) => index));
}

describe('two workers, many connections', () => {
  it.each(['fixed_window', 'sliding_window', 'token_bucket'])(
    '%s admits exactly the limit',
    async (algorithm) => {
      const before = origin.seen.length;
      const answers = await flood(`/${algorithm}`);
      const connections = await Promise.all(
        ['1', '2'].map((worker) => metric(gateway, 'headgate_downstream_connections', { worker })),
      );
      expect(Math.min(...connections), 'both workers have served').toBeGreaterThan(0);
      expectExact(answers);
      expect(origin.seen).toHaveLength(before + LIMIT);
    },
  );

  it('keys are counted apart, each exactly', async () => {
    const keys = [await createKey(gateway, 'exact'), await createKey(gateway, 'exact')];
    const before = origin.seen.length;
    const answers = await flood('/keys', (index) => bearer(keys[index % 2].token));
    expectExact(answers.filter((_, index) => index % 2 === 0));
    expectExact(answers.filter((_, index) => index % 2 === 1));
    expect(origin.seen).toHaveLength(before + 2 * LIMIT);
  });
});

describe('a limit per address beside that of the policy', () => {
  const PER_ADDRESS = 300;
  const ROUNDS = 3;
  const passed = (answers: readonly PlainResponse[]): number =>
    answers.filter(({ status }) => status === 200).length;

  it('what the policy refuses takes nothing of the address, whichever worker was faster', async () => {
    const both = await startGateway({
      env: {
        GATEWAY_WORKERS: '2',
        GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
        GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: String(PER_ADDRESS),
        GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: String(quietWindowSecs()),
        GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.1',
      },
    });
    try {
      const limit = { enabled: true, requests: LIMIT, window_seconds: quietWindowSecs(), per: 'ip' };
      await createPolicies(both, 'exact', origin.port, [
        { path: '/narrow', policy: { rate_limit: limit } },
        { path: '/open', policy: {} },
      ]);
      for (let round = 1; round <= ROUNDS; round++) {
        const headersOf = () => ({ 'X-Forwarded-For': `192.0.2.${round}` });
        expect(passed(await flood('/narrow', headersOf, both))).toBe(LIMIT);
        expect(passed(await flood('/open', headersOf, both))).toBe(PER_ADDRESS - LIMIT);
      }
    } finally {
      await both.stop();
    }
  });
});
