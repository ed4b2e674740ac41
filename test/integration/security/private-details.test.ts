/**
 * Strangers learn a code, a plain sentence and the request id. Addresses of backends, what the system said about them,
 * labels of revisions and endpoints that were not asked for are found by that id: in the access line and in explain.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, startRawOrigin, type Origin, type RawOrigin } from '../../support/backends/origin.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { bearer } from '../../support/policies.ts';
import { createEndpoint, createService, problem, request, revisionPath } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const TEMPLATE = '/reports/secret-ledger';
const LABEL = 'blue-7c41';
let gateway: TestGateway;
let origin: Origin;
let broken: RawOrigin;
let silent: RawOrigin;
let closed = 0;

beforeAll(async () => {
  [gateway, origin, broken, silent, closed] = await Promise.all([
    startGateway({ env: { GATEWAY_LOG__ACCESS: 'true' } }),
    startOrigin(),
    startRawOrigin((socket) => socket.end('HTTP/1.1 nonsense-from-10.9.8.7\r\n\r\n')),
    startRawOrigin(() => undefined),
    freePort(),
  ]);
  const revision = { revision: LABEL };
  await createService(gateway, 'down', closed, {
    revision: { ...revision, circuit_breaker: { failures: 1, open_secs: 600 } },
  });
  await createService(gateway, 'lost', 9, {
    revision: { ...revision, backend_host: 'internal-db-7.invalid', backend_port: 8443 },
  });
  await createService(gateway, 'broken', broken.port, { revision });
  await createService(gateway, 'slow', silent.port, {
    revision: { ...revision, default_policy: { timeouts: { first_byte_ms: 50 } } },
  });
  await createService(gateway, 'web', origin.port, { revision });
  await createEndpoint(
    gateway,
    'web',
    'GET',
    TEMPLATE,
    { policy_override: { auth: { auth_type: 'api_key' } } },
    { revision: LABEL },
  );
  await createEndpoint(gateway, 'web', 'GET', '/hidden/{what}', { is_active: false }, { revision: LABEL });
  await createService(gateway, 'idle', origin.port, { revision: { ...revision, traffic_weight: 0 } });
  await createService(gateway, 'open', origin.port, {
    app: { default_policy: { auth: { auth_type: 'none' } } },
    revision: { ...revision, default_policy: { required_scopes: ['ledger:read'] } },
  });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([origin.close(), broken.close(), silent.close()]);
});

/** Texts that only the operator may see. */
const SECRETS = [
  '127.0.0.1',
  'internal-db-7',
  '8443',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  '10.9.8.7',
  'status line',
  'secret-ledger',
  LABEL,
  'traffic_weight',
  '{what}',
  'auth_type',
];

interface Case {
  readonly path: string;
  readonly status: number;
  readonly code: string;
  /** What the operator is told. */
  readonly told: RegExp;
}

const CASES: readonly (readonly [name: string, expected: Case])[] = [
  [
    'a backend that refuses',
    {
      path: '/down/v1/x',
      status: 502,
      code: 'upstream_connect_failed',
      told: /127\.0\.0\.1:\d+.*ECONNREFUSED/,
    },
  ],
  ['an open breaker', { path: '/down/v1/x', status: 503, code: 'circuit_open', told: /blue-7c41/ }],
  [
    'a name that is not found',
    { path: '/lost/v1/x', status: 502, code: 'upstream_connect_failed', told: /internal-db-7\.invalid:8443/ },
  ],
  [
    'bytes that are not a response',
    { path: '/broken/v1/x', status: 502, code: 'upstream_bad_response', told: /127\.0\.0\.1:\d+/ },
  ],
  [
    'a backend that is too slow',
    { path: '/slow/v1/x', status: 504, code: 'upstream_timeout', told: /127\.0\.0\.1:\d+/ },
  ],
  [
    'a path that looks like a protected one',
    { path: '/web/v1/reports/SECRET-ledger', status: 400, code: 'bad_path', told: /secret-ledger/ },
  ],
  [
    'an endpoint that is disabled',
    { path: '/web/v1/hidden/x', status: 404, code: 'endpoint_disabled', told: /\{what\}/ },
  ],
  ['no weight', { path: '/idle/v1/x', status: 503, code: 'no_revision', told: /traffic_weight/ }],
  [
    'scopes that no caller can have',
    { path: '/open/v1/x', status: 401, code: 'credentials_missing', told: /auth_type/ },
  ],
];

describe('a client and an operator get different details', () => {
  it.each(CASES)('%s', async (_name, { path, status, code, told }) => {
    const response = await request(gateway, path);
    const document = problem(response);
    const hidden = SECRETS.filter((secret) => !path.includes(secret));
    const text = response.body + JSON.stringify(response.headers);
    expect(hidden.filter((secret) => text.includes(secret))).toEqual([]);
    expect(document).toMatchObject({ status, code, request_id: response.headers['x-request-id'] });
    expect(document.detail).toMatch(/^[A-Z][^{}]+$/);
    const line = await until(() =>
      gateway.logs().find((each) => each['msg'] === 'access' && each['request_id'] === document.request_id),
    );
    expect(line).toMatchObject({ status, code, detail: expect.stringMatching(told) });
    const recorded = await gateway.api('GET', `/explain/${document.request_id}`);
    expect(recorded.status).toBe(200);
    const denied = recorded.body.data.stages.find((stage: { verdict: string }) => stage.verdict === 'denied');
    expect(denied?.detail ?? JSON.stringify(recorded.body)).toMatch(told);
  });

  it('what a scope or a limit asks for is still said', async () => {
    const key = await gateway.must('POST', '/apps/web/tokens', { name: 'k', scopes: [] });
    await gateway.must('PATCH', revisionPath('web', 'v1', LABEL), {
      default_policy: { required_scopes: ['orders:read'] },
    });
    const response = await request(gateway, '/web/v1/other', { headers: bearer(key.token) });
    expect(problem(response).detail).toContain('orders:read');
    expect(response.headers['www-authenticate']).toContain('scope="orders:read"');
  });
});
