import { describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import { openSqlite } from '../../storage/sqlite/sqlite.ts';
import { createBilling, startManagement } from '../management.fixture.ts';

const SECRET = 'a-secret-of-at-least-32-characters-here';

describe('the kept versions', () => {
  it('show no secret, no value and no hash, and the address of a writer to admins only', async () => {
    await using api = await startManagement();
    await createBilling(api);
    const auth = { auth_type: 'jwt', jwt: { secret: SECRET } };
    await api.patch('/apps/billing', { default_policy: { auth } });
    const { token, id } = (await api.post('/apps/billing/tokens', { name: 'mobile' })).body.data;
    const rotated = (await api.post(`/apps/billing/tokens/${id}/rotate`, {})).body.data.token;
    await api.patch('/apps/billing', { default_policy: { auth: { jwt: { secret: `${SECRET}-2` } } } });
    const viewer = (await api.post('/admin/tokens', { name: 'v', role: 'viewer' })).body.data.token;
    const last = (await api.get('/config')).body.data.config_version as number;
    const texts = [
      (await api.get('/config/versions', { token: viewer })).text,
      (await api.get('/config/versions/diff?from=0', { token: viewer })).text,
      (await api.get(`/config/versions/diff?from=${last - 1}`, { token: viewer })).text,
      (await api.get(`/config?version=${last - 1}`, { token: viewer })).text,
      (await api.post('/config/versions/4/rollback', { dry_run: true }, { token: viewer })).text,
    ];
    for (let version = 1; version <= last; version += 1)
      texts.push((await api.get(`/config/versions/${version}`, { token: viewer })).text);
    const all = texts.join('\n');
    for (const secret of [SECRET, token, rotated]) expect(all).not.toContain(secret);
    expect(all).not.toMatch(/[0-9a-f]{64}|token_hash/);
    expect(all).toContain('********');
    const addressFor = async (as?: string): Promise<unknown> =>
      (await api.get('/config/versions', as === undefined ? {} : { token: as })).body.data[0].address;
    expect([await addressFor(viewer), await addressFor()]).toEqual([null, '127.0.0.1']);
  });

  it('go, the oldest first: what is no longer kept is 410 and says what is', async () => {
    const repository = await openSqlite({
      secretPlaces: SECRET_PLACES,
      path: ':memory:',
      autoMigrate: true,
      clock: systemClock,
      history: { maxVersions: 2, maxBytes: 1_000_000 },
    });
    await using api = await startManagement({ repository });
    await createBilling(api);
    for (const description of ['a', 'b', 'c']) await api.patch('/apps/billing', { description });
    while (!(await repository.compactHistory())) continue;
    const gone = await api.get('/config/versions/2');
    expect([gone.status, gone.body.code, gone.body.detail]).toEqual([
      410,
      'config_version_gone',
      'Config version 2 is not kept; the history goes from 4 to 6',
    ]);
    expect((await api.get('/config?version=2')).status).toBe(410);
    expect((await api.get('/config/versions/diff?from=2')).status).toBe(410);
    expect((await api.post('/config/versions/2/rollback', {})).status).toBe(410);
    const { data, kept_from: from } = (await api.get('/config/versions')).body;
    expect(data).toHaveLength(2);
    // The state before the oldest change that is listed can still be gone back to.
    expect(from).toBe(data[1].config_version - 1);
    expect((await api.get(`/config?version=${from}`)).status).toBe(200);
    expect((await api.post('/config/versions/4/rollback', {})).status).toBe(200);
    await repository.close();
  });
});
