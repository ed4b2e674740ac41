/**
 * What the management API does while its database is away: metrics, explain and reads of the configuration go on, with
 * the admin tokens that were known before; a full disk and a folder that vanishes are told.
 */
// oxlint-disable vitest/expect-expect -- expectData and expectProblem are assertions
import { existsSync, mkdtempSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { apiAs, callPlain, expectData, expectPage, expectProblem } from '../../support/management.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { fillUp, mountSmallDisk } from '../../support/programs/small-disk.ts';
import { createEndpoint, createService, request, revisionPath, versionPath } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let gateway: TestGateway;
let origin: Origin;
let folder: string;
const database = (): string => join(folder, 'headgate.db');

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-copy-'));
  // Where the database is, is this test's business: on PostgreSQL it cannot be moved away.
  const env = { GATEWAY_DATABASE_URL: `sqlite://${database()}` };
  [gateway, origin] = await Promise.all([startGateway({ folder, env }), startOrigin()]);
  await createService(gateway, 'kept', origin.port, {
    app: { default_policy: { auth: { auth_type: 'jwt', jwt: { secret: 's'.repeat(32) } } } },
  });
  for (let index = 0; index < 3; index++) await createEndpoint(gateway, 'kept', 'GET', `/e${index}`);
  await gateway.must('POST', '/apps/kept/tokens', { name: 'k' });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
  rmSync(folder, { recursive: true, force: true });
});

async function whileAway(run: () => Promise<void>): Promise<void> {
  renameSync(database(), `${database()}.away`);
  try {
    await run();
  } finally {
    renameSync(`${database()}.away`, database());
  }
}

const tokenOf = (
  role: string,
  fields: object = {},
): Promise<{ readonly id: string; readonly token: string }> =>
  gateway.must('POST', '/admin/tokens', { name: role, role, ...fields });

describe('while the database is away', { timeout: 60_000 }, () => {
  it('metrics, explain and reads go on with a stored token that was used before; writes are 503', async () => {
    const { token } = await tokenOf('editor');
    const as = (method: string, path: string, body?: unknown) => apiAs(gateway, token, method, path, body);
    const paths = [
      '/apps?limit=1',
      '/apps/kept',
      versionPath('kept'),
      `${versionPath('kept')}/revisions`,
      revisionPath('kept'),
      `${revisionPath('kept')}/endpoints?limit=2`,
      `${revisionPath('kept')}/effective-policy`,
      `${revisionPath('kept')}/health`,
      '/apps/kept/tokens',
      '/apps/kept/shadow-report',
    ];
    const before = await Promise.all(paths.map((path) => as('GET', path)));
    await whileAway(async () => {
      for (const [index, path] of paths.entries()) {
        const answer = await as('GET', path);
        expect(answer.status, path).toBe(200);
        expect(answer.headers.get('headgate-stale'), path).toBe('true');
        if (!path.endsWith('-report')) expect(answer.body, path).toEqual(before[index]?.body);
        expect(answer.headers.get('etag'), path).toBe(before[index]?.headers.get('etag'));
      }
      const page = expectPage(await as('GET', `${revisionPath('kept')}/endpoints?limit=2`));
      expect(page.page.total).toBe(3);
      const rest = await as(
        'GET',
        `${revisionPath('kept')}/endpoints?limit=2&cursor=${page.page.next_cursor}`,
      );
      expect(expectPage(rest).data).toMatchObject([{ path: '/e2' }]);
      expect(JSON.stringify(before.map(({ body }) => body))).not.toContain('s'.repeat(32));
      const metrics = await as('GET', '//metrics');
      expect(metrics.status).toBe(200);
      expect(metrics.body).toContain('headgate_build_info');
      const explained = await as('POST', '/explain', { method: 'GET', url: '/kept/v1/e1' });
      expect(expectData(explained)).toMatchObject({ code: 'credentials_missing' });
      const denied = await request(gateway, '/kept/v1/e1');
      expect(denied.status).toBe(401);
      expectData(await as('GET', `/explain/${denied.headers['x-request-id']}`));
      expectProblem(await as('GET', '/apps/none'), 'not_found');
      expectProblem(await as('PATCH', '/apps/kept', { name: 'x' }), 'storage_unavailable');
      expectProblem(await as('DELETE', '/apps/kept/shadow-report'), 'storage_unavailable');
    });
    const after = await as('GET', '/apps/kept');
    expect([after.status, after.headers.get('headgate-stale')]).toEqual([200, null]);
  });

  it('a token that was revoked, has expired, or was never used is not taken', async () => {
    const [revoked, unused] = [await tokenOf('viewer'), await tokenOf('viewer')];
    const expiring = await tokenOf('viewer', { expires_at: new Date(Date.now() + 4_000).toISOString() });
    for (const { token } of [revoked, expiring]) expectPage(await apiAs(gateway, token, 'GET', '/apps'));
    await gateway.must('DELETE', `/admin/tokens/${revoked.id}`);
    await whileAway(async () => {
      for (const { token } of [revoked, unused])
        expectProblem(await apiAs(gateway, token, 'GET', '/apps'), 'storage_unavailable');
      const late = await until(async () => {
        const answer = await apiAs(gateway, expiring.token, 'GET', '/apps');
        return answer.status === 200 ? undefined : answer;
      });
      expectProblem(late, 'unauthenticated');
    });
  });

  it('roles hold as they were', async () => {
    const { token } = await tokenOf('viewer');
    expectPage(await apiAs(gateway, token, 'GET', '/apps'));
    await whileAway(async () => {
      expectPage(await apiAs(gateway, token, 'GET', '/apps'));
      expectProblem(await apiAs(gateway, token, 'PATCH', '/apps/kept', { name: 'x' }), 'forbidden');
    });
  });

  it('a folder that vanishes is named in the log, and so is its return', async () => {
    expectData(await callPlain(gateway, {}, 'GET', '/health'));
    const mark = gateway.logs().length;
    const lines = (text: string) =>
      gateway
        .logs()
        .slice(mark)
        .filter(({ msg }) => msg === text);
    renameSync(folder, `${folder}-away`);
    try {
      expect(existsSync(folder)).toBe(false);
      const [line] = await until(async () => {
        const found = lines('the database cannot be used');
        return found.length > 0 ? found : undefined;
      });
      expect(line?.['reason']).toContain(`in the folder "${folder}", which is gone, too`);
      expectPage(await gateway.api('GET', '/apps'));
    } finally {
      renameSync(`${folder}-away`, folder);
    }
    await until(async () => (lines('the database can be used again').length > 0 ? true : undefined));
    expect(lines('the database cannot be used')).toHaveLength(1);
  });
});

describe('a full disk', { timeout: 60_000 }, () => {
  it('shows in health and readyz though nothing was written, until there is room again', async () => {
    const place = mkdtempSync(join(tmpdir(), 'headgate-full-'));
    const disk = await mountSmallDisk(place, '8m');
    const env = {
      GATEWAY_DATABASE_URL: `sqlite://${join(place, 'headgate.db')}`,
      NODE_COMPILE_CACHE: join(tmpdir(), 'headgate-compile-cache'),
    };
    const full = await startGateway({ folder: place, env, through: disk.through });
    try {
      expectData(await callPlain(full, {}, 'GET', '//readyz'));
      fillUp(disk.inside);
      const health = await until(async () => {
        const answer = await callPlain(full, {}, 'GET', '/health');
        return answer.status === 200 ? undefined : answer;
      });
      expect(health.body.data.db).toBe('degraded');
      expect(health.body.message).toMatch(/^The database cannot be written: .*full/);
      const ready = await callPlain(full, {}, 'GET', '//readyz');
      expect(expectData(ready)).toEqual({ ready: true, reason: health.body.message });
      expectPage(await full.api('GET', '/apps'));
      unlinkSync(join(disk.inside, 'filler'));
      await until(async () =>
        (await callPlain(full, {}, 'GET', '/health')).status === 200 ? true : undefined,
      );
    } finally {
      await full.stop();
      await disk.release();
      rmSync(place, { recursive: true, force: true });
    }
  });
});
