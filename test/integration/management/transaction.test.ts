/**
 * `POST /api/v1/transaction` through the started program: what it makes serves when it is answered, on all workers,
 * what it did not finish leaves nothing, and the values of its keys are in its answer alone.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { request } from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
beforeAll(async () => {
  const env = { GATEWAY_WORKERS: '2', GATEWAY_LOG__LEVEL: 'debug' };
  [gateway, origin] = await Promise.all([startGateway({ env }), startOrigin()]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

interface Step {
  readonly id?: string;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
}

const appSteps = (slug: string): Step[] => [
  {
    id: 'app',
    method: 'POST',
    path: '/api/v1/apps',
    body: { name: slug, slug, gateway_path: `/${slug}`, default_policy: { auth: { auth_type: 'api_key' } } },
  },
  { id: 'v', method: 'POST', path: '/api/v1/apps/${app.id}/versions', body: { version: 'v1' } },
  {
    id: 'r',
    method: 'POST',
    path: '/api/v1/apps/${app.id}/versions/${v.id}/revisions',
    body: {
      revision: 'r1',
      backend_scheme: 'http',
      backend_host: '127.0.0.1',
      backend_port: origin.port,
      is_current: true,
    },
  },
  { id: 'key', method: 'POST', path: '/api/v1/apps/${app.id}/tokens', body: { name: 'k' } },
];

const transaction = (operations: readonly Step[]) => gateway.api('POST', '/transaction', { operations });

describe('a transaction', () => {
  it('serves on every worker when it is answered, by the key that it made', async () => {
    const { status, body } = await transaction(appSteps('shop'));
    expect(status).toBe(200);
    const { token } = body.data.operations[3].body.data;
    for (let call = 0; call < 20; call++) {
      const answer = await request(gateway, '/shop/v1/x', { headers: { Authorization: `Bearer ${token}` } });
      expect(answer.status).toBe(200);
    }
  });

  it('makes one config version', async () => {
    const before = (await gateway.must('GET', '/config')).config_version;
    await transaction(appSteps('one'));
    expect((await gateway.must('GET', '/config')).config_version).toBe(before + 1);
  });

  it('that fails at its last operation creates neither record nor route', async () => {
    const steps = [...appSteps('never'), { method: 'POST', path: '/api/v1/apps', body: { slug: 'x' } }];
    const before = (await gateway.must('GET', '/config')).config_version;
    expect((await transaction(steps)).status).toBe(422);
    expect((await gateway.must('GET', '/config')).config_version).toBe(before);
    expect((await gateway.api('GET', '/apps/never')).status).toBe(404);
    expect((await request(gateway, '/never/v1/x')).status).toBe(404);
  });

  it('may delete what it has made, and the workers go on', async () => {
    const steps = [...appSteps('gone'), { method: 'DELETE', path: '/api/v1/apps/gone?cascade=true' }];
    expect((await transaction(steps)).status).toBe(200);
    expect((await request(gateway, '/gone/v1/x')).status).toBe(404);
    await transaction(appSteps('kept'));
    expect((await request(gateway, '/kept/v1/x')).status).toBe(401);
  });

  it('two of them at once that want the same path: one gets it, as a whole', async () => {
    const replies = await Promise.all([transaction(appSteps('same')), transaction(appSteps('same'))]);
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    const { config } = await gateway.must('GET', '/config?app=same');
    expect(Object.keys(config.apps.same.keys)).toEqual(['k']);
  });

  it('shows the values of its keys in its answer alone', async () => {
    const { body } = await transaction(appSteps('quiet'));
    const { token } = body.data.operations[3].body.data as { token: string };
    const audit = await gateway.must('GET', '/audit?limit=10&order=newest_first');
    expect(JSON.stringify(audit)).toContain('token.create');
    expect(JSON.stringify(audit)).not.toContain(token);
    await expect.poll(() => gateway.output()).toContain('/api/v1/transaction');
    expect(gateway.output()).not.toContain(token);
  });
});
