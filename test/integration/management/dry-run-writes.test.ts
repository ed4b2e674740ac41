/**
 * `dry_run=true` on every write of the configuration: nothing is stored, audited or published, the checks are those of
 * the real write, and the answer says what would change for which endpoints. What it foretells is compared with
 * what the real write then does.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startGateway, type Answer, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey, metric } from '../../support/policies.ts';
import {
  createEndpoint,
  createService,
  request,
  revisionPath,
  versionPath,
  type Fields,
  type Served,
} from '../../support/traffic.ts';

const API_KEY = { auth_type: 'api_key' };
const limit = (requests: number) => ({ enabled: true, requests, window_seconds: 60 });
const SECRET = 'one-secret-of-more-than-thirty-two-characters';

let gateway: TestGateway;
let origin: Origin;
let slug = '';
let number = 0;
let invoice: Served;
let open: Served;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

/** App with a limit, revision with keys, one endpoint that needs a scope and one that is open. */
beforeEach(async () => {
  slug = `app-${++number}`;
  await createService(gateway, slug, origin.port, {
    app: { default_policy: { rate_limit: limit(100) } },
    revision: { default_policy: { auth: API_KEY } },
  });
  const scoped = { policy_override: { required_scopes: ['read'] } };
  invoice = await createEndpoint(gateway, slug, 'GET', '/invoices/{id}', scoped);
  open = await createEndpoint(gateway, slug, '*', '/open', {
    policy_override: { auth: { auth_type: 'none' } },
  });
});

function appPath(): string {
  return `/apps/${slug}`;
}

function endpointPath(record: Served): string {
  return `${revisionPath(slug)}/endpoints/${record.id}`;
}

async function dryRun(method: string, path: string, body?: unknown, query = ''): Promise<Served> {
  const answer = await gateway.api(method, `${path}?dry_run=true${query}`, body);
  expect([answer.status, answer.body.message]).toEqual([200, 'Dry run: nothing has been changed']);
  return answer.body.data;
}

/** Everything that a write could leave behind. */
async function everything(): Promise<unknown> {
  const paths = [
    appPath(),
    `${appPath()}/tokens`,
    versionPath(slug),
    `${versionPath(slug)}/revisions`,
    `${revisionPath(slug)}/endpoints`,
    '/audit?order=newest_first&limit=1',
    '/apps?limit=500',
  ];
  const answers = await Promise.all(paths.map((path) => gateway.api('GET', path)));
  const version = await metric(gateway, 'headgate_config_version');
  return [version, ...answers.map(({ status, body }) => [status, body.data, body.page?.total])];
}

const names = (served: Served): string[] =>
  served.endpoints.map(
    ({ change, method, before, after }: Served) => `${change} ${method} ${(after ?? before).route}`,
  );

/** Part of an entry: [value before, level before, value after, level after]. */
function partOf(entry: Served, part: string): unknown {
  const found = entry.parts.find((each: Served) => each.part === part);
  const shown = (state: Served) => (state === null ? [null] : [state.value, state.source.level]);
  return found === undefined ? undefined : [...shown(found.before), ...shown(found.after)];
}

type Write = readonly [name: string, method: string, path: () => string, body: unknown];
const WRITES: readonly Write[] = [
  ['app', 'POST', () => '/apps', { name: 'n', slug: 'new', gateway_path: '/new' }],
  ['app', 'PATCH', appPath, { default_policy: { rate_limit: limit(5) } }],
  ['app', 'PUT', appPath, { name: 'replaced', slug: 'other', gateway_path: '/other' }],
  ['app', 'DELETE', () => `${appPath()}?cascade=true`, undefined],
  ['version', 'POST', () => `${appPath()}/versions`, { version: 'v2' }],
  ['version', 'PATCH', () => versionPath(slug), { status: 'retired' }],
  ['version', 'PUT', () => versionPath(slug), { version: 'v9' }],
  ['version', 'DELETE', () => `${versionPath(slug)}?cascade=true`, undefined],
  [
    'revision',
    'POST',
    () => `${versionPath(slug)}/revisions`,
    { revision: 'r2', backend_host: 'b', is_current: true },
  ],
  ['revision', 'PATCH', () => revisionPath(slug), { default_policy: { allowed_methods: ['GET'] } }],
  ['revision', 'PUT', () => revisionPath(slug), { revision: 'r9', backend_host: 'b' }],
  ['revision', 'DELETE', () => `${revisionPath(slug)}?cascade=true`, undefined],
  ['revision', 'POST', () => `${revisionPath(slug)}/activate`, { exclusive: true }],
  ['revision', 'POST', () => `${revisionPath(slug)}/deactivate`, undefined],
  ['endpoint', 'POST', () => `${revisionPath(slug)}/endpoints`, { method: 'GET', path: '/more' }],
  ['endpoint', 'PATCH', () => endpointPath(invoice), { is_active: false }],
  ['endpoint', 'PUT', () => endpointPath(invoice), { method: '*', path: '/replaced' }],
  ['endpoint', 'DELETE', () => endpointPath(invoice), undefined],
  ['token', 'POST', () => `${appPath()}/tokens`, { name: 'k', scopes: ['read'] }],
];

describe('nothing is written', () => {
  it.each(WRITES)('%s: %s', async (_name, method, path, body) => {
    const before = await everything();
    const [plain = '', query] = path().split('?');
    await dryRun(method, plain, body, query === undefined ? '' : `&${query}`);
    expect(await everything()).toEqual(before);
    expect((await request(gateway, `/${slug}/v1/open`)).status).toBe(200);
  });

  it('dry_run=false is a real write', async () => {
    const answer = await gateway.api('PATCH', `${endpointPath(open)}?dry_run=false`, { is_active: false });
    expect(answer.body.data.is_active).toBe(false);
    expect((await request(gateway, `/${slug}/v1/open`)).status).toBe(404);
  });

  it('real writes at the same time are not disturbed', async () => {
    const writes = Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0
        ? dryRun('PATCH', appPath(), { description: `dry ${index}` })
        : gateway.must('PATCH', appPath(), { description: `real ${index}` }),
    );
    await Promise.all(writes);
    expect((await gateway.must('GET', appPath())).description).toMatch(/^real /);
  });
});

describe('the checks are those of the real write', () => {
  const both = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const dry = await gateway.api(
      method,
      `${path}${path.includes('?') ? '&' : '?'}dry_run=true`,
      body,
      headers,
    );
    const real = await gateway.api(method, path, body, headers);
    const verdict = ({ status, body: document }: Answer) => [
      status,
      document.code,
      document.detail,
      document.errors,
    ];
    expect(verdict(dry)).toEqual(verdict(real));
    return [dry.status, dry.body.code];
  };

  const mistakes: readonly (readonly [string, string, () => string, unknown, number])[] = [
    ['an unknown part', 'PATCH', appPath, { default_policy: { ratelimit: {} } }, 422],
    ['a rule over several fields', 'PATCH', appPath, { default_policy: { allowed_methods: [] } }, 422],
    ['a duplicate', 'POST', () => '/apps', () => ({ name: 'x', slug, gateway_path: '/x' }), 409],
    ['what is not there', 'PATCH', () => `${appPath()}/versions/v9`, { status: 'active' }, 404],
    ['children', 'DELETE', appPath, undefined, 409],
    ['no body', 'PATCH', appPath, undefined, 400],
  ];
  it.each(mistakes)('%s: %s', async (_name, method, path, body, status) => {
    const sent: unknown = typeof body === 'function' ? body() : body;
    expect((await both(method, path(), sent))[0]).toBe(status);
  });

  it('If-Match: a stale tag is 412, the present one is taken, and the answer gives it', async () => {
    const stale = { 'if-match': '"nothing"' };
    expect(await both('PATCH', appPath(), { description: 'x' }, stale)).toEqual([412, 'precondition_failed']);
    const etag = (await gateway.api('GET', appPath())).headers.get('etag') ?? '';
    const answer = await gateway.api(
      'PATCH',
      `${appPath()}?dry_run=true`,
      { description: 'x' },
      { 'if-match': etag },
    );
    expect([answer.status, answer.headers.get('etag')]).toEqual([200, etag]);
    const real = await gateway.api('PATCH', appPath(), { description: 'x' }, { 'if-match': etag });
    expect(real.status).toBe(200);
  });

  it('roles: a viewer may not try what it may not do', async () => {
    const viewer = await gateway.must('POST', '/admin/tokens', { name: 'reader', role: 'viewer' });
    const asViewer = { authorization: `Bearer ${viewer.token}` };
    const answer = await gateway.api('PATCH', `${appPath()}?dry_run=true`, { description: 'x' }, asViewer);
    expect(answer.status).toBe(403);
  });

  it.each([
    ['POST', '/admin/tokens', { name: 'x', role: 'viewer' }],
    ['GET', '/apps', undefined],
  ])('where nothing can be tried it is not known: %s %s', async (method, path, body) => {
    const answer = await gateway.api(method, `${path}?dry_run=true`, body);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_query']);
  });

  it('dry_run=yes is 400 and changes nothing', async () => {
    const answer = await gateway.api('PATCH', `${appPath()}?dry_run=yes`, { description: 'x' });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_query']);
    expect((await gateway.must('GET', appPath())).description).toBeNull();
  });
});

describe('what would change', () => {
  it('a part of the app, where no other level sets it', async () => {
    await gateway.must('PATCH', endpointPath(open), {
      policy_override: { auth: { auth_type: 'none' }, rate_limit: limit(7) },
    });
    const served = await dryRun('PATCH', appPath(), { default_policy: { rate_limit: limit(5) } });
    expect(served.endpoints_total).toBe(2);
    expect(names(served)).toEqual([`changed GET /${slug}/v1/invoices/{id}`, `changed * /${slug}/v1/*`]);
    expect(served.endpoints[0].endpoint_id).toBe(invoice.id);
    expect(served.endpoints[1].endpoint_id).toBeNull();
    expect(partOf(served.endpoints[0], 'rate_limit')).toEqual([limit(100), 'app', limit(5), 'app']);
    expect(served.would_answer).toMatchObject({
      status: 200,
      data: { slug, default_policy: { rate_limit: limit(5) } },
    });
  });

  it('a part that another level sets: the level changes although the value does not', async () => {
    const change = { policy_override: { required_scopes: ['read'], rate_limit: limit(100) } };
    const served = await dryRun('PATCH', endpointPath(invoice), change);
    expect(served.endpoints).toHaveLength(1);
    expect(partOf(served.endpoints[0], 'rate_limit')).toEqual([limit(100), 'app', limit(100), 'endpoint']);
    expect(partOf(served.endpoints[0], 'required_scopes')).toBeUndefined();
  });

  it('taking a part away shows what is inherited then', async () => {
    const served = await dryRun('PATCH', endpointPath(open), { policy_override: { auth: null } });
    expect(partOf(served.endpoints[0], 'auth')).toEqual([
      { auth_type: 'none' },
      'endpoint',
      API_KEY,
      'revision',
    ]);
  });

  it('a new endpoint, and an endpoint that is removed', async () => {
    const added = await dryRun('POST', `${revisionPath(slug)}/endpoints`, { method: 'PUT', path: '/more' });
    expect(names(added)).toEqual([`added PUT /${slug}/v1/more`]);
    expect(added.endpoints[0]).toMatchObject({ before: null, after: { serves: true } });
    expect(partOf(added.endpoints[0], 'auth')).toEqual([null, API_KEY, 'revision']);
    expect(added.would_answer.status).toBe(201);

    const removed = await dryRun('DELETE', endpointPath(invoice));
    expect(names(removed)).toEqual([`removed GET /${slug}/v1/invoices/{id}`]);
    expect(partOf(removed.endpoints[0], 'required_scopes')).toEqual([['read'], 'endpoint', null]);
    expect(removed.would_answer).toEqual({ status: 204, message: 'No content', data: null });
  });

  it('what stops or begins to serve', async () => {
    const retired = await dryRun('PATCH', versionPath(slug), { status: 'retired' });
    expect(retired.endpoints_total).toBe(3);
    for (const entry of retired.endpoints) {
      expect(entry).toMatchObject({ before: { serves: true }, after: { serves: false }, parts: [] });
    }
    const disabled = await dryRun('PATCH', endpointPath(invoice), { is_active: false });
    expect(disabled.endpoints).toMatchObject([{ before: { serves: true }, after: { serves: false } }]);
    await gateway.must('POST', `${versionPath(slug)}/revisions`, { revision: 'r2', backend_host: 'b' });
    const activated = await dryRun('POST', `${revisionPath(slug, 'v1', 'r2')}/activate`, { exclusive: true });
    const states = activated.endpoints.map(({ revision, after }: Served) => [revision, after.serves]);
    expect(states).toEqual([
      ['r1', false],
      ['r1', false],
      ['r1', false],
      ['r2', true],
    ]);
  });

  it('a path that moves takes the default paths of versions along', async () => {
    const served = await dryRun('PATCH', appPath(), { gateway_path: `/moved-${slug}` });
    expect(served.endpoints_total).toBe(3);
    expect(served.endpoints[0]).toMatchObject({
      before: { route: `/${slug}/v1/invoices/{id}` },
      after: { route: `/moved-${slug}/v1/invoices/{id}` },
      parts: [],
    });
  });

  it('hosts: every route of the app changes, with those before and after', async () => {
    const plan = await dryRun('PATCH', appPath(), { hosts: ['A.dry.test'] });
    expect(plan.endpoints_total).toBe(3);
    expect(plan.endpoints[0]).toMatchObject({
      change: 'changed',
      parts: [],
      after: { hosts: ['a.dry.test'] },
    });
    expect(plan.endpoints[0].before).not.toHaveProperty('hosts');
    await gateway.must('PATCH', appPath(), { hosts: ['a.dry.test'] });
    const same = await dryRun('PATCH', appPath(), { hosts: ['a.DRY.test.'] });
    expect(same.endpoints_total).toBe(0);
    const gone = await dryRun('PATCH', appPath(), { hosts: [] });
    expect(gone.endpoints[0].before.hosts).toEqual(['a.dry.test']);
  });

  it('routing_mode: in managed mode only what is registered is left', async () => {
    const served = await dryRun('PATCH', appPath(), { routing_mode: 'managed_endpoint' });
    expect(names(served)).toEqual([`removed * /${slug}/v1/*`]);
  });

  it('nothing, when the record would not change', async () => {
    const same = await dryRun('PATCH', appPath(), { default_policy: { rate_limit: limit(100) } });
    expect(same).toMatchObject({ endpoints_total: 0, endpoints: [], keys_total: 0, keys: [] });
    const text = await dryRun('PATCH', appPath(), { description: 'other words' });
    expect(text).toMatchObject({
      endpoints_total: 0,
      would_answer: { data: { description: 'other words' } },
    });
  });

  it('a plan of a key: the endpoints that take keys, with the level that limits', async () => {
    const key = await createKey(gateway, slug, { scopes: ['read'] });
    const path = `${appPath()}/tokens/${key.id}`;
    const planned = await dryRun('PATCH', path, { rate_limit: limit(3) });
    expect(names(planned)).toEqual([`changed GET /${slug}/v1/invoices/{id}`, `changed * /${slug}/v1/*`]);
    expect(partOf(planned.endpoints[0], 'rate_limit')).toEqual([limit(100), 'app', limit(3), 'key']);
    expect(planned.endpoints[0].admits).toEqual({ before: true, after: true });
    expect(planned.keys).toEqual([{ change: 'changed', id: key.id, name: 'test' }]);

    const narrowed = await dryRun('PATCH', path, { scopes: [] });
    expect(narrowed.endpoints).toMatchObject([
      { endpoint_id: invoice.id, parts: [], admits: { before: true, after: false } },
    ]);
    const disabled = await dryRun('PATCH', path, { is_active: false });
    expect(disabled.endpoints_total).toBe(2);
    const removed = await dryRun('DELETE', path);
    expect(removed.keys).toEqual([{ change: 'removed', id: key.id, name: 'test' }]);
    expect(removed.endpoints).toMatchObject([{ admits: { after: false } }, { admits: { after: false } }]);
    // All of it was only tried.
    const response = await request(gateway, `/${slug}/v1/invoices/1`, { headers: bearer(key.token) });
    expect([response.status, response.headers['x-ratelimit-limit']]).toEqual([200, '100']);
  });

  it('a key that would be created: no value is shown, because there is none', async () => {
    const served = await dryRun('POST', `${appPath()}/tokens`, { name: 'phantom', scopes: ['read'] });
    expect(served.would_answer).toMatchObject({ status: 201, data: { name: 'phantom' } });
    expect(served.would_answer.data).not.toHaveProperty('token');
    expect(JSON.stringify(served)).not.toMatch(/hgk_[A-Za-z0-9_-]{40}/);
    expect(served.keys).toMatchObject([{ change: 'added', name: 'phantom' }]);
    expect(served.endpoints).toMatchObject([
      { admits: { before: false, after: true } },
      { admits: { before: false, after: true } },
    ]);
  });

  it('secrets are masked, also where only they change', async () => {
    const auth = (secret: string) => ({ auth_type: 'jwt', jwt: { secret } });
    await gateway.must('PATCH', endpointPath(open), { policy_override: { auth: auth(SECRET) } });
    const served = await dryRun('PATCH', endpointPath(open), {
      policy_override: { auth: auth(`${SECRET}-and-another`) },
    });
    expect(partOf(served.endpoints[0], 'auth')).toEqual([
      auth('********'),
      'endpoint',
      auth('********'),
      'endpoint',
    ]);
    expect(JSON.stringify(served)).not.toContain(SECRET);
  });

  it('a long list is cut, and says how long it is', async () => {
    const paths = Array.from({ length: 150 }, (_, index) => `/many/${index}`);
    await Promise.all(paths.map((path) => createEndpoint(gateway, slug, 'GET', path)));
    const served = await dryRun('PATCH', appPath(), { default_policy: { rate_limit: limit(5) } });
    expect([served.endpoints_total, served.endpoints.length]).toEqual([153, 100]);
  });

  it('large policies do not make a large answer', async () => {
    const paths = Array.from({ length: 60 }, (_, index) => `/large/${index}`);
    await Promise.all(paths.map((path) => createEndpoint(gateway, slug, 'GET', path)));
    const origins = (domain: string) =>
      Array.from({ length: 500 }, (_, index) => `https://${'x'.repeat(60)}.${index}.${domain}`);
    const served = await dryRun('PATCH', appPath(), {
      default_policy: { cors: { allowed_origins: origins('example') } },
    });
    expect(served.endpoints_total).toBe(63);
    expect(served.endpoints.length).toBeGreaterThan(10);
    expect(JSON.stringify(served.endpoints).length).toBeLessThan(1_200_000);
    expect(served.endpoints.length).toBeLessThan(63);
  });
});

describe('its prediction is correct', () => {
  const changes: readonly (readonly [string, () => string, Fields])[] = [
    [
      'app',
      appPath,
      {
        default_policy: { rate_limit: limit(9), cors: { allowed_origins: ['*'] }, allowed_methods: ['GET'] },
      },
    ],
    ['revision', () => revisionPath(slug), { default_policy: { auth: null, max_body_bytes: 10 } }],
    [
      'endpoint',
      () => endpointPath(invoice),
      { policy_override: { required_scopes: null, shadow: ['auth'] } },
    ],
  ];
  it.each(changes)('a change of the %s', async (_name, path, body) => {
    const foretold = await dryRun('PATCH', path(), body);
    expect(foretold.endpoints_total).toBeGreaterThan(0);
    await gateway.must('PATCH', path(), body);
    for (const entry of foretold.endpoints) {
      const place = entry.endpoint_id === null ? revisionPath(slug) : endpointPath({ id: entry.endpoint_id });
      const { policy, sources } = await gateway.must('GET', `${place}/effective-policy`);
      for (const { part, after } of entry.parts) {
        const real = policy[part] === undefined ? null : { value: policy[part], source: sources[part] };
        expect([part, real]).toEqual([part, after]);
      }
    }
    expect((await dryRun('PATCH', path(), body)).endpoints_total).toBe(0);
  });

  /** Whether a request for an invoice with this key is served, and the status if it is not. */
  const answered = async (token: string): Promise<number> =>
    (await request(gateway, `/${slug}/v1/invoices/1`, { headers: bearer(token) })).status;

  it('what serves and what does not', async () => {
    const { token } = await createKey(gateway, slug, { scopes: ['read'] });
    const states: readonly (readonly [path: string, body: Fields, status: number])[] = [
      [endpointPath(invoice), { is_active: false }, 404],
      [endpointPath(invoice), { is_active: true }, 200],
      [versionPath(slug), { status: 'retired' }, 410],
      [versionPath(slug), { status: 'deprecated' }, 200],
    ];
    for (const [path, body, status] of states) {
      const before = await answered(token);
      const { endpoints } = await dryRun('PATCH', path, body);
      const entry = endpoints.find(({ endpoint_id: id }: Served) => id === invoice.id);
      expect([entry.before.serves, entry.after.serves]).toEqual([before === 200, status === 200]);
      await gateway.must('PATCH', path, body);
      expect(await answered(token)).toBe(status);
    }
  });

  it('whom a key admits', async () => {
    const key = await createKey(gateway, slug, { scopes: ['read'] });
    const path = `${appPath()}/tokens/${key.id}`;
    const states: readonly (readonly [body: Fields, status: number])[] = [
      [{ scopes: [] }, 403],
      [{ scopes: ['read', 'write'] }, 200],
      [{ is_active: false }, 401],
      [{ is_active: true }, 200],
    ];
    for (const [body, status] of states) {
      const before = await answered(key.token);
      const { endpoints } = await dryRun('PATCH', path, body);
      const entry = endpoints.find(({ endpoint_id: id }: Served) => id === invoice.id);
      expect(entry.admits).toEqual({ before: before === 200, after: status === 200 });
      await gateway.must('PATCH', path, body);
      expect(await answered(key.token)).toBe(status);
    }
    const removed = await dryRun('DELETE', path);
    expect(removed.endpoints.map(({ admits }: Served) => admits)).toContainEqual({
      before: true,
      after: false,
    });
    expect((await gateway.api('DELETE', path)).status).toBe(204);
    expect(await answered(key.token)).toBe(401);
  });
});
