import { describe, expect, it } from 'vitest';
import { sharedManagement, createBilling, verdict, VERSION } from '../../management.fixture.ts';

const api = await sharedManagement(createBilling);

const create = (body: object) => api.post('/apps/billing/versions', body);

describe('creating a version', () => {
  it('takes the default path from the app, with the version of the contract', async () => {
    const reply = await create({ version: '2026-01' });
    expect(reply.status).toBe(201);
    expect(reply.body.data).toMatchObject({
      version: '2026-01',
      gateway_path: '/billing/2026-01',
      gateway_path_is_default: true,
      status: 'active',
      sunset_at: null,
      deprecated_at: null,
    });
    expect(reply.headers.get('location')).toBe(`/api/v1/apps/billing/versions/${reply.body.data.id}`);
  });

  it('takes an explicit path and a status', async () => {
    const reply = await create({
      version: 'old',
      gateway_path: '/legacy',
      status: 'deprecated',
      sunset_at: '2030-01-31T14:00:00+02:00',
    });
    expect(reply.body.data).toMatchObject({
      gateway_path: '/legacy',
      gateway_path_is_default: false,
      sunset_at: '2030-01-31T12:00:00.000Z',
      deprecated_at: '2026-01-01T00:00:00.000Z',
    });
  });

  it('may have the path of its own app', async () => {
    expect((await create({ version: 'v2', gateway_path: '/billing' })).status).toBe(201);
  });

  it.each<[string, object, string[]]>([
    ['nothing', {}, ['/version']],
    ['an empty label', { version: '' }, ['/version']],
    ['a label with a slash', { version: 'a/b' }, ['/version']],
    ['a dot', { version: '.' }, ['/version']],
    ['two dots', { version: '..' }, ['/version']],
    ['a space', { version: 'a b' }, ['/version']],
    ['a percent sign', { version: '%41' }, ['/version']],
    ['a long label', { version: 'a'.repeat(65) }, ['/version']],
    ['a label like a UUID', { version: '019B2C3D-4E5F-7A6B-8C7D-9E8F7A6B5C4D' }, ['/version']],
    ['a label that is a number', { version: 1 }, ['/version']],
    ['a bad path', { version: 'v2', gateway_path: 'x' }, ['/gateway_path']],
    ['a path with a wildcard', { version: 'v2', gateway_path: '/x/*' }, ['/gateway_path']],
    ['null for a path', { version: 'v2', gateway_path: null }, ['/gateway_path']],
    ['an unknown status', { version: 'v2', status: 'gone' }, ['/status']],
    ['a date only', { version: 'v2', sunset_at: '2030-01-31' }, ['/sunset_at']],
    ['a day that does not exist', { version: 'v2', sunset_at: '2030-02-30T00:00:00Z' }, ['/sunset_at']],
    ['a computed field', { version: 'v2', gateway_path_is_default: true }, ['/gateway_path_is_default']],
    ['a successor of another app', { version: 'v2', successor: 'v9' }, ['/successor']],
    ['an unknown field', { version: 'v2', default_policy: {} }, ['/default_policy']],
  ])('refuses %s', async (_what, body, pointers) => {
    expect(verdict(await create(body))).toEqual([422, 'validation_failed', pointers]);
  });

  it.each([
    [{ version: 'v1' }, '/version'],
    [{ version: 'v2', gateway_path: '/billing/v1' }, '/gateway_path'],
    [{ version: 'v2', gateway_path: '/other' }, '/gateway_path'],
  ])('answers %j with 409', async (body, pointer) => {
    await api.post('/apps', { name: 'Other', slug: 'other', gateway_path: '/other' });
    expect(verdict(await create(body))).toEqual([409, 'conflict', [pointer]]);
  });

  it('needs an app', async () => {
    const reply = await api.post('/apps/none/versions', { version: 'v1' });
    expect(verdict(reply)).toEqual([404, 'not_found', []]);
  });

  it('refuses a default path that is too long, naming the field', async () => {
    await api.patch('/apps/billing', { gateway_path: `/${'a'.repeat(1018)}` });
    const reply = await create({ version: 'a'.repeat(64) });
    expect(verdict(reply)).toEqual([422, 'validation_failed', ['/gateway_path']]);
  });
});

describe('changing a version', () => {
  const patch = (body: object) => api.patch(VERSION, body);

  it('goes from any status to any other and keeps the time of deprecation', async () => {
    for (const status of ['retired', 'deprecated', 'active', 'retired', 'active', 'deprecated']) {
      api.clock.advance(1000);
      const { data } = (await patch({ status })).body;
      expect(data.status).toBe(status);
      expect(data.deprecated_at === null).toBe(status !== 'deprecated');
    }
    const { id, deprecated_at: before } = (await api.get(VERSION)).body.data as Record<string, string>;
    api.clock.advance(1000);
    expect((await patch({ sunset_at: '2030-01-01T00:00:00Z' })).body.data.deprecated_at).toBe(before);
    const entries = (await api.get('/audit?limit=500')).body.data as Record<string, string>[];
    const updates = entries.filter(
      ({ action, resource_id }) => action === 'version.update' && resource_id === id,
    );
    expect(updates).toHaveLength(7);
  });

  it('touches this version only', async () => {
    await patch({ status: 'retired' });
    const change = api.published.at(-1);
    expect([change?.apps.length, change?.versions.length, change?.keys.length]).toEqual([0, 1, 0]);
  });

  it('lets the path follow the label while it is the default, and puts it back with null', async () => {
    expect((await patch({ version: 'v9' })).body.data.gateway_path).toBe('/billing/v9');
    const renamed = '/apps/billing/versions/v9';
    const explicit = await api.patch(renamed, { gateway_path: '/fixed' });
    expect(explicit.body.data).toMatchObject({ gateway_path: '/fixed', gateway_path_is_default: false });
    await api.patch(renamed, { version: 'v1' });
    expect((await api.get(VERSION)).body.data.gateway_path).toBe('/fixed');
    const back = await patch({ gateway_path: null });
    expect(back.body.data).toMatchObject({ gateway_path: '/billing/v1', gateway_path_is_default: true });
  });

  it('refuses labels and paths of others', async () => {
    await create({ version: 'v2' });
    expect(verdict(await patch({ version: 'v2' }))).toEqual([409, 'conflict', ['/version']]);
    expect(verdict(await patch({ gateway_path: '/billing/v2' }))).toEqual([
      409,
      'conflict',
      ['/gateway_path'],
    ]);
    expect(verdict(await patch({ status: 'x' }))).toEqual([422, 'validation_failed', ['/status']]);
  });
});

describe('deleting a version', () => {
  it('is refused while it has revisions, unless with cascade', async () => {
    const refused = await api.delete(VERSION);
    expect(refused.body.detail).toBe(
      'The version still has 1 revision; delete them first or pass cascade=true',
    );
    expect((await api.delete(`${VERSION}?cascade=true`)).status).toBe(204);
    expect((await api.get('/apps/billing/versions')).body.page.total).toBe(0);
  });

  it('does not find a version under another app', async () => {
    await api.post('/apps', { name: 'Other', slug: 'other', gateway_path: '/other' });
    const { id } = (await api.get(VERSION)).body.data as { id: string };
    expect((await api.get(`/apps/other/versions/${id}`)).status).toBe(404);
    expect((await api.delete(`/apps/other/versions/${id}?cascade=true`)).status).toBe(404);
  });
});
