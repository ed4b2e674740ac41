import { rootCertificates } from 'node:tls';
import { beforeEach, describe, expect, it } from 'vitest';
import { sharedManagement, createBilling, REVISION, verdict, VERSION } from '../../management.fixture.ts';

const api = await sharedManagement(createBilling);

const REVISIONS = `${VERSION}/revisions`;
const MINIMAL = { revision: 'r2', backend_host: 'backend.test' };
const create = (body: object) => api.post(REVISIONS, body);

describe('creating a revision', () => {
  it('has the defaults of the contract', async () => {
    const { data } = (await create(MINIMAL)).body;
    expect(data).toMatchObject({
      revision: 'r2',
      backend_scheme: 'https',
      backend_protocol: 'http1',
      backend_host: 'backend.test',
      backend_port: 443,
      backend_base_path: '/',
      strip_gateway_path: true,
      preserve_host: false,
      traffic_weight: 100,
      health_check_path: null,
      default_policy: null,
      is_current: false,
      backend_tls: null,
      circuit_breaker: null,
    });
  });

  it('takes everything', async () => {
    const body = {
      revision: 'canary',
      backend_scheme: 'https',
      backend_protocol: 'auto',
      backend_host: '10.0.0.1',
      backend_port: 8443,
      backend_base_path: '/base/v2',
      strip_gateway_path: false,
      preserve_host: true,
      traffic_weight: 0,
      health_check_path: '/health?deep=1',
      default_policy: { required_scopes: ['a'] },
      is_current: true,
      backend_tls: { verify: false, server_name: 'backend.test', ca: rootCertificates[0] },
      circuit_breaker: { failures: 3, open_secs: 5, count_5xx: true },
    };
    const reply = await create(body);
    expect(reply.status).toBe(201);
    expect(reply.body.data).toMatchObject(body);
    expect((await api.get(`${REVISIONS}/canary`)).body.data).toEqual(reply.body.data);
  });

  it('keeps an IPv6 address without its brackets', async () => {
    expect((await create({ ...MINIMAL, backend_host: '[::1]' })).body.data.backend_host).toBe('::1');
  });

  it.each<[string, object, string[]]>([
    ['nothing', {}, ['/revision', '/backend_host']],
    ['a bad label', { ...MINIMAL, revision: 'a/b' }, ['/revision']],
    ['a label like a UUID', { ...MINIMAL, revision: '019b2c3d-4e5f-7a6b-8c7d-9e8f7a6b5c4d' }, ['/revision']],
    ['another scheme', { ...MINIMAL, backend_scheme: 'ftp' }, ['/backend_scheme']],
    ['another protocol', { ...MINIMAL, backend_protocol: 'h3' }, ['/backend_protocol']],
    [
      'a choice of protocol without TLS',
      { ...MINIMAL, backend_scheme: 'http', backend_protocol: 'auto' },
      ['/backend_protocol'],
    ],
    ['a URL for a host', { ...MINIMAL, backend_host: 'http://backend' }, ['/backend_host']],
    ['a port in the host', { ...MINIMAL, backend_host: 'backend:80' }, ['/backend_host']],
    ['an empty host', { ...MINIMAL, backend_host: '' }, ['/backend_host']],
    ['a host with a line break', { ...MINIMAL, backend_host: 'a\r\nX: y' }, ['/backend_host']],
    ['port 0', { ...MINIMAL, backend_port: 0 }, ['/backend_port']],
    ['port 65536', { ...MINIMAL, backend_port: 65_536 }, ['/backend_port']],
    ['a port as text', { ...MINIMAL, backend_port: '80' }, ['/backend_port']],
    ['a fraction of a port', { ...MINIMAL, backend_port: 80.5 }, ['/backend_port']],
    ['a relative base path', { ...MINIMAL, backend_base_path: 'x' }, ['/backend_base_path']],
    ['a base path with dots', { ...MINIMAL, backend_base_path: '/a/..' }, ['/backend_base_path']],
    ['text for a boolean', { ...MINIMAL, strip_gateway_path: 'yes' }, ['/strip_gateway_path']],
    ['a negative weight', { ...MINIMAL, traffic_weight: -1 }, ['/traffic_weight']],
    ['a huge weight', { ...MINIMAL, traffic_weight: 1_000_001 }, ['/traffic_weight']],
    ['a relative health path', { ...MINIMAL, health_check_path: 'health' }, ['/health_check_path']],
    ['a health path with a space', { ...MINIMAL, health_check_path: '/a b' }, ['/health_check_path']],
    ['a bad certificate', { ...MINIMAL, backend_tls: { ca: 'x' } }, ['/backend_tls/ca']],
    [
      'an address as server name',
      { ...MINIMAL, backend_tls: { server_name: '1.2.3.4' } },
      ['/backend_tls/server_name'],
    ],
    ['an unknown TLS field', { ...MINIMAL, backend_tls: { insecure: true } }, ['/backend_tls/insecure']],
    [
      'a health check without a path',
      { ...MINIMAL, circuit_breaker: { probe: { interval_ms: 1_000 } } },
      ['/circuit_breaker/probe'],
    ],
    [
      'a breaker that never opens',
      { ...MINIMAL, circuit_breaker: { failures: 0 } },
      ['/circuit_breaker/failures'],
    ],
    [
      'a bad policy',
      { ...MINIMAL, default_policy: { allowed_methods: ['a b'] } },
      ['/default_policy/allowed_methods/0'],
    ],
    [
      'several rules at once',
      { ...MINIMAL, backend_host: 'a b', backend_base_path: '/a//b' },
      ['/backend_host', '/backend_base_path'],
    ],
  ])('refuses %s', async (_what, body, pointers) => {
    expect(verdict(await create(body))).toEqual([422, 'validation_failed', pointers]);
  });

  it('refuses a label twice', async () => {
    expect(verdict(await create({ ...MINIMAL, revision: 'r1' }))).toEqual([409, 'conflict', ['/revision']]);
  });

  it('needs its version', async () => {
    const reply = await api.post('/apps/billing/versions/none/revisions', MINIMAL);
    expect(verdict(reply)).toEqual([404, 'not_found', []]);
    expect(reply.body.detail).toBe('There is no version "none" in app "billing"; there is only "v1"');
  });

  it.each([
    ['apps/biling', 'There is no app "biling" here; did you mean "billing"?'],
    ['apps/biling/versions/v1', 'There is no app "biling" here; did you mean "billing"?'],
    ['apps/billing/versions/v2', 'There is no version "v2" in app "billing"; there is only "v1"'],
    [
      'apps/billing/versions/v1/revisions/r9',
      'There is no revision "r9" in version "v1" of app "billing"; there are "r1", "r2"',
    ],
  ])('a path that names none is answered with what is there: %s', async (path, detail) => {
    await create({ ...MINIMAL, revision: 'r1' });
    await create({ ...MINIMAL, revision: 'r2' });
    expect((await api.get(`/${path}`)).body.detail).toBe(detail);
  });
});

describe('changing a revision', () => {
  it('changes the weight, as the contract shows', async () => {
    const reply = await api.patch(REVISION, { traffic_weight: 10 });
    expect(reply.body.data).toMatchObject({ traffic_weight: 10, backend_host: 'backend.test' });
    expect(api.published.at(-1)?.versions[0]?.revisions[0]?.revision.traffic_weight).toBe(10);
  });

  it('merges nested objects by member', async () => {
    await api.patch(REVISION, { circuit_breaker: { failures: 3, open_secs: 5 } });
    const reply = await api.patch(REVISION, { circuit_breaker: { open_secs: null, count_5xx: true } });
    expect(reply.body.data.circuit_breaker).toEqual({ failures: 3, count_5xx: true });
    expect((await api.patch(REVISION, { circuit_breaker: null })).body.data.circuit_breaker).toBeNull();
  });

  it('accepts everything that it was read as', async () => {
    const { data } = (await api.get(REVISION)).body as { data: Record<string, unknown> };
    const { id: _id, version_id: _parent, created_at: _created, updated_at: _updated, ...writable } = data;
    expect((await api.patch(REVISION, writable)).body).toMatchObject({ message: 'Revision unchanged', data });
  });
});

describe('activation', () => {
  const current = async () => {
    const { data } = (await api.get(REVISIONS)).body as { data: { revision: string; is_current: boolean }[] };
    return data.filter((revision) => revision.is_current).map((revision) => revision.revision);
  };
  const post = (revision: string, verb: string, body?: unknown) =>
    api.post(`${REVISIONS}/${revision}/${verb}`, body);
  beforeEach(async () => {
    api.clock.advance(1);
    await create(MINIMAL);
    api.clock.advance(1);
    await create({ ...MINIMAL, revision: 'r3' });
  });

  it('adds a revision to the current ones, so that weights can work', async () => {
    const reply = await post('r1', 'activate');
    expect(reply.body).toMatchObject({
      status: 200,
      message: 'Revision activated',
      data: { is_current: true },
    });
    await post('r2', 'activate', {});
    expect(await current()).toEqual(['r1', 'r2']);
    expect((await api.get(`${REVISIONS}/r1`)).headers.get('etag')).toBe(reply.headers.get('etag'));
  });

  it('makes it the only one with exclusive, in one change', async () => {
    await post('r1', 'activate');
    await post('r2', 'activate');
    const before = api.published.length;
    await post('r3', 'activate', { exclusive: true });
    expect(await current()).toEqual(['r3']);
    expect(api.published).toHaveLength(before + 1);
    const tree = api.published.at(-1)?.versions[0];
    expect(tree?.revisions.map(({ revision }) => revision.is_current)).toEqual([false, false, true]);
  });

  it('changes the ETag of a revision that another one has replaced', async () => {
    const before = (await post('r1', 'activate')).headers.get('etag');
    await post('r2', 'activate', { exclusive: true });
    expect((await api.get(`${REVISIONS}/r1`)).headers.get('etag')).not.toBe(before);
  });

  it('can be taken back', async () => {
    await post('r1', 'activate');
    await post('r2', 'activate');
    expect((await post('r1', 'deactivate')).body).toMatchObject({ message: 'Revision deactivated' });
    expect(await current()).toEqual(['r2']);
  });

  it('refuses bad bodies, unknown revisions and stale tags', async () => {
    expect(verdict(await post('r1', 'activate', { exclusiv: true }))).toEqual([
      422,
      'validation_failed',
      ['/exclusiv'],
    ]);
    expect(verdict(await post('r1', 'activate', { exclusive: 1 }))).toEqual([
      422,
      'validation_failed',
      ['/exclusive'],
    ]);
    expect(verdict(await post('r1', 'activate', '{'))).toEqual([400, 'invalid_json', []]);
    expect(verdict(await post('r9', 'activate'))).toEqual([404, 'not_found', []]);
    const stale = await api.post(`${REVISIONS}/r1/activate`, undefined, { headers: { 'if-match': '"x"' } });
    expect(verdict(stale)).toEqual([412, 'precondition_failed', []]);
    expect(await current()).toEqual([]);
  });

  it('takes an empty body with a Content-Type, as many clients send it', async () => {
    const reply = await api.post(`${REVISIONS}/r1/activate`, '');
    expect(reply.status).toBe(200);
  });

  it('leaves exactly one current when exclusive activations race', async () => {
    await Promise.all(
      ['r1', 'r2', 'r3', 'r1', 'r2'].map((name) => post(name, 'activate', { exclusive: true })),
    );
    expect(await current()).toHaveLength(1);
  });
});

describe('other views of a revision', () => {
  it('shows the state of its breaker', async () => {
    expect((await api.get(`${REVISION}/breaker`)).body).toEqual({
      status: 200,
      message: 'Breaker state',
      data: null,
    });
    expect((await api.get(`${REVISIONS}/none/breaker`)).status).toBe(404);
  });

  it('is deleted with its endpoints only when told to', async () => {
    await api.post(`${REVISION}/endpoints`, { method: 'GET', path: '/a' });
    expect(verdict(await api.delete(REVISION))).toEqual([409, 'has_children', []]);
    expect((await api.delete(`${REVISION}?cascade=true`)).status).toBe(204);
  });
});
