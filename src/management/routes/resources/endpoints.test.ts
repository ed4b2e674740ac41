import { describe, expect, it } from 'vitest';
import { sharedManagement, createBilling, REVISION, verdict, VERSION } from '../../management.fixture.ts';

const api = await sharedManagement(createBilling);

const ENDPOINTS = `${REVISION}/endpoints`;
const create = (body: object) => api.post(ENDPOINTS, body);

describe('creating an endpoint', () => {
  it('answers with the record', async () => {
    const reply = await create({
      method: 'GET',
      path: '/invoices/{invoice_id}',
      backend_path: '/v2/{invoice_id}',
    });
    expect(reply.status).toBe(201);
    expect(reply.body.data).toMatchObject({
      method: 'GET',
      path: '/invoices/{invoice_id}',
      backend_path: '/v2/{invoice_id}',
      policy_override: null,
      is_active: true,
    });
    expect((await api.get(ENDPOINTS)).body.data).toEqual([reply.body.data]);
    expect((await api.get(reply.headers.get('location') ?? '')).body.data).toEqual(reply.body.data);
    const { versions, endpoints } = api.published.at(-1) ?? {};
    expect(versions, 'the others need not be sent').toEqual([]);
    expect(endpoints?.map(({ endpoint }) => endpoint)).toEqual([reply.body.data]);
  });

  it.each([
    ['GET', '/'],
    ['*', '/*'],
    ['POST', '/a/'],
    ['PATCH', '/a/{b}/c/*'],
    ['DELETE', '/a.b~c/@x;y=1'],
  ])('takes %s %s', async (method, path) => {
    expect((await create({ method, path })).status).toBe(201);
  });

  it.each<[string, object, string[]]>([
    ['nothing', {}, ['/method', '/path']],
    ['HEAD', { method: 'HEAD', path: '/' }, ['/method']],
    ['a lower-case method', { method: 'get', path: '/' }, ['/method']],
    ['a relative path', { method: 'GET', path: 'a' }, ['/path']],
    ['an inner wildcard', { method: 'GET', path: '/*/a' }, ['/path']],
    ['half a parameter', { method: 'GET', path: '/a{b}' }, ['/path']],
    ['a parameter twice', { method: 'GET', path: '/{a}/{a}' }, ['/path']],
    ['a parameter without a name', { method: 'GET', path: '/{}' }, ['/path']],
    ['dot segments', { method: 'GET', path: '/a/../b' }, ['/path']],
    ['a query', { method: 'GET', path: '/a?b=c' }, ['/path']],
    ['raw spaces', { method: 'GET', path: '/a b' }, ['/path']],
    ['an unknown parameter', { method: 'GET', path: '/{a}', backend_path: '/{b}' }, ['/backend_path']],
    ['a relative backend path', { method: 'GET', path: '/a', backend_path: 'b' }, ['/backend_path']],
    ['a backend wildcard', { method: 'GET', path: '/a', backend_path: '/*' }, ['/backend_path']],
    ['text for is_active', { method: 'GET', path: '/a', is_active: 'no' }, ['/is_active']],
    ['a bad policy', { method: 'GET', path: '/a', policy_override: { cors: 1 } }, ['/policy_override/cors']],
    [
      'jwt settings for keys',
      { method: 'GET', path: '/a', policy_override: { auth: { auth_type: 'api_key', jwt: {} } } },
      ['/policy_override/auth/jwt'],
    ],
  ])('refuses %s', async (_what, body, pointers) => {
    expect(verdict(await create(body))).toEqual([422, 'validation_failed', pointers]);
  });

  it('refuses what matches the same requests as another', async () => {
    await create({ method: 'GET', path: '/a/{x}' });
    for (const path of ['/a/{x}', '/a/{y}']) {
      expect(verdict(await create({ method: 'GET', path }))).toEqual([409, 'conflict', ['/path']]);
    }
    expect((await create({ method: 'POST', path: '/a/{y}' })).status).toBe(201);
    expect((await create({ method: '*', path: '/a/{y}' })).status).toBe(201);
    expect((await create({ method: 'GET', path: '/a/{y}/' })).status).toBe(201);
    await api.post(`${VERSION}/revisions`, { revision: 'r2', backend_host: 'b' });
    const elsewhere = await api.post(`${VERSION}/revisions/r2/endpoints`, { method: 'GET', path: '/a/{y}' });
    expect(elsewhere.status).toBe(201);
  });
});

describe('changing an endpoint', () => {
  const made = async (body: object) => `${ENDPOINTS}/${(await create(body)).body.data.id as string}`;

  it('disables and enables it', async () => {
    const path = await made({ method: 'GET', path: '/a' });
    expect((await api.patch(path, { is_active: false })).body.data.is_active).toBe(false);
    expect(api.published.at(-1)?.endpoints?.[0]?.endpoint?.is_active).toBe(false);
    expect((await api.patch(path, { is_active: null })).body.data.is_active).toBe(true);
  });

  it('checks the backend path against the path that results', async () => {
    const path = await made({ method: 'GET', path: '/{a}', backend_path: '/x/{a}' });
    const reply = await api.patch(path, { path: '/{b}' });
    expect(verdict(reply)).toEqual([422, 'validation_failed', ['/backend_path']]);
    expect((await api.patch(path, { path: '/{b}', backend_path: null })).body.data).toMatchObject({
      path: '/{b}',
      backend_path: null,
    });
  });

  it('cannot become another endpoint, but may rename its own parameters', async () => {
    const path = await made({ method: 'GET', path: '/a/{x}' });
    await create({ method: 'GET', path: '/b/{x}' });
    expect(verdict(await api.patch(path, { path: '/b/{y}' }))).toEqual([409, 'conflict', ['/path']]);
    expect((await api.patch(path, { path: '/a/{y}' })).status).toBe(200);
  });

  it('is deleted, once', async () => {
    const path = await made({ method: 'GET', path: '/a' });
    expect((await api.delete(path)).status).toBe(204);
    expect((await api.delete(path)).status).toBe(404);
    expect(verdict(await api.delete(`${path}?cascade=true`))).toEqual([400, 'invalid_query', []]);
  });
});

describe('the effective policy', () => {
  const rate = (requests: number) => ({ enabled: true, requests, window_seconds: 60 });

  it('shows the merged policy and where its parts come from', async () => {
    const { body: app } = await api.patch('/apps/billing', {
      default_policy: { rate_limit: rate(1), required_scopes: ['a'] },
    });
    const { body: revision } = await api.patch(REVISION, {
      default_policy: { rate_limit: rate(2), auth: { auth_type: 'jwt', jwt: { secret: 's'.repeat(32) } } },
    });
    const { body: endpoint } = await create({
      method: 'GET',
      path: '/a',
      policy_override: { rate_limit: rate(3) },
    });
    const masked = { auth_type: 'jwt', jwt: { secret: '********' } };
    expect((await api.get(`${REVISION}/effective-policy`)).body.data).toEqual({
      policy: { rate_limit: rate(2), required_scopes: ['a'], auth: masked },
      sources: {
        rate_limit: { level: 'revision', id: revision.data.id as string },
        auth: { level: 'revision', id: revision.data.id as string },
        required_scopes: { level: 'app', id: app.data.id as string },
      },
    });
    const merged = await api.get(`${ENDPOINTS}/${endpoint.data.id}/effective-policy`);
    expect(merged.body.data.policy).toEqual({ rate_limit: rate(3), required_scopes: ['a'], auth: masked });
    expect(merged.body.data.sources.rate_limit).toEqual({
      level: 'endpoint',
      id: endpoint.data.id as string,
    });
    expect((await api.get(`${ENDPOINTS}/none/effective-policy`)).status).toBe(404);
  });
});
