/** docs/reference/backend-connections.md, on the running program. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { KEYS, jwkOf, signed } from '../../support/data/jwts.ts';
import { expectProblem } from '../../support/management.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer } from '../../support/policies.ts';
import {
  createRevision,
  createService,
  problem,
  request,
  revisionPath,
  versionPath,
} from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let folder: string;
let backend: Origin;
let keys: Origin;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-egress-'));
  backend = await startOrigin();
  keys = await startOrigin((_incoming, response) => {
    void jwkOf('ec').then((key) => response.end(JSON.stringify({ keys: [key] })));
  });
  await withGateway({}, async (gateway) => {
    await createService(gateway, 'files', backend.port, {
      revision: { health_check_path: '/ok', circuit_breaker: { probe: { interval_ms: 100 } } },
    });
    await createService(gateway, 'signed', backend.port, {
      app: { default_policy: jwt(`http://127.0.0.1:${keys.port}/keys`) },
    });
  });
});
afterAll(async () => {
  await Promise.all([backend.close(), keys.close()]);
  rmSync(folder, { recursive: true, force: true });
});

async function withGateway(
  env: Readonly<Record<string, string>>,
  run: (gateway: TestGateway) => Promise<void>,
): Promise<void> {
  const gateway = await startGateway({ folder, env });
  try {
    await run(gateway);
  } finally {
    await gateway.stop();
  }
}

const revision = (backend_host: string, backend_port: number): object => ({
  revision: 'x',
  backend_scheme: 'http',
  backend_host,
  backend_port,
});
const jwt = (jwks_uri: string): object => ({ auth: { auth_type: 'jwt', jwt: { jwks_uri } } });
const sentWith = async (gateway: TestGateway, path: string): Promise<number> => {
  const token = await signed(
    { sub: 'ann' },
    { alg: 'ES256', key: KEYS.ec.privateKey, header: { kid: 'ec' } },
  );
  return (await request(gateway, path, { headers: bearer(token) })).status;
};

describe('what is denied', () => {
  it('is refused with a pointer when it is written, also the gateway’s own listeners on free ports', async () => {
    await withGateway({}, async (gateway) => {
      expect((await request(gateway, '/files/v1/x')).status).toBe(200);
      expect(await sentWith(gateway, '/signed/v1/x')).toBe(200);
      const { managementPort, proxyPort } = gateway;
      for (const [host, port] of [
        ['127.0.0.1', managementPort],
        ['localhost', managementPort],
        ['0.0.0.0', managementPort],
        ['::1', managementPort],
        ['[::ffff:127.0.0.1]', managementPort],
        ['127.0.0.1', proxyPort],
        ['169.254.169.254', 80],
        ['fe80::1', 80],
        ['fd00:ec2::254', 80],
        ['100.100.100.200', 80],
        ['64:ff9b::a9fe:a9fe', 80],
      ] as const) {
        const written = await gateway.api(
          'POST',
          `${versionPath('files')}/revisions?dry_run=true`,
          revision(host, port),
        );
        expectProblem(written, 'validation_failed', { pointers: ['/backend_host'] });
      }
      for (const uri of [
        `http://127.0.0.1:${managementPort}/keys`,
        'http://2852039166/keys',
        'http://0xa9.0376.43518/keys',
        'http://[::ffff:a9fe:a9fe]/keys',
      ]) {
        const pointers = ['/default_policy/auth/jwt/jwks_uri'];
        const app = await gateway.api('PATCH', '/apps/files', { default_policy: jwt(uri) });
        expectProblem(app, 'validation_failed', { pointers });
        const one = await gateway.api('PATCH', revisionPath('files'), { default_policy: jwt(uri) });
        expectProblem(one, 'validation_failed', { pointers });
      }
    });
  });

  it('is not connected to when it was written before: 502, logged, counted, explained, seen in the health', async () => {
    await withGateway({ GATEWAY_EGRESS__DENY: '10.0.0.0/8, 127.0.0.0/8' }, async (gateway) => {
      const response = await request(gateway, '/files/v1/x');
      expect(problem(response)).toMatchObject({ status: 502, code: 'upstream_denied' });
      const id = response.headers['x-request-id'] ?? '';
      const because = /127\.0\.0\.1 is denied by GATEWAY_EGRESS__DENY/;
      const line = await until(async () => gateway.logs().find(({ cause }) => cause === 'denied'));
      expect(line).toMatchObject({ request_id: id, app: 'files', detail: expect.stringMatching(because) });
      for (const explanation of [
        await gateway.must('GET', `/explain/${id}`),
        await gateway.must('POST', '/explain', { method: 'GET', url: '/files/v1/x' }),
      ]) {
        expect(explanation).toMatchObject({ outcome: 'denied', code: 'upstream_denied' });
        expect(explanation.fix).toMatchObject({ detail: expect.stringMatching(because) });
      }
      const health = await until(async () => {
        const seen = await gateway.must('GET', `${revisionPath('files')}/health`);
        return seen.last_error !== null && seen.last_probe !== null ? seen : undefined;
      });
      expect(health.last_error).toMatchObject({ kind: 'denied', detail: expect.stringMatching(because) });
      expect(health.last_probe).toMatchObject({ ok: false, error: expect.stringMatching(because) });
      const metrics = (await gateway.api('GET', '//metrics')).body as string;
      expect(metrics).toMatch(/upstream_errors_total\{.*cause="denied".*\} [1-9]/);

      expect(await sentWith(gateway, '/signed/v1/x')).not.toBe(200);
      const failed = await until(async () =>
        gateway.logs().find(({ msg }) => msg === 'cannot fetch a key set'),
      );
      expect(failed).toMatchObject({ reason: expect.stringMatching(because) });
      // What was written before can still be changed.
      await gateway.must('PATCH', revisionPath('files'), { circuit_breaker: null, health_check_path: null });
    });
  });

  it('a listener of the gateway is never a backend, though the revision is older than the listener', async () => {
    const port = String(backend.port);
    await backend.close();
    await withGateway({ GATEWAY_SERVER__PORT: port, GATEWAY_WORKERS: '2' }, async (gateway) => {
      for (let turn = 0; turn < 4; turn++) {
        const response = await request(gateway, '/files/v1/api/v1/health');
        expect(problem(response).code).toBe('upstream_denied');
      }
    });
    await withGateway({ GATEWAY_PROXY__PORT: port, GATEWAY_WORKERS: '2' }, async (gateway) => {
      expect(problem(await request(gateway, '/files/v1/x')).code).toBe('upstream_denied');
    });
    await withGateway({ GATEWAY_SERVER__PORT: port, GATEWAY_EGRESS__ALLOW: '127.0.0.1' }, async (gateway) => {
      const response = await request(gateway, '/files/v1/api/v1/health');
      expect([response.status, JSON.parse(response.body).status]).toEqual([200, 200]);
    });
  });

  it('with an allow list everything else is denied, when it is written if the host decides it', async () => {
    await withGateway({ GATEWAY_EGRESS__ALLOW: '127.0.0.1,*.example.com' }, async (gateway) => {
      const refused = await gateway.api(
        'POST',
        `${versionPath('files')}/revisions`,
        revision('192.0.2.1', 80),
      );
      const { errors } = expectProblem(refused, 'validation_failed', { pointers: ['/backend_host'] });
      expect(errors[0].detail).toContain('GATEWAY_EGRESS__ALLOW');
      await createRevision(gateway, 'files', 80, {
        revision: 'n',
        backend_host: 'a.example.com',
        is_current: false,
      });
    });
  });
});
