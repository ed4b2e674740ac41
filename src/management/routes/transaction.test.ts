/** `POST /api/v1/transaction` over HTTP on a real database: all or none, references, roles, errors, audit. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  BILLING,
  createBilling,
  startManagement,
  verdict,
  VERSION,
  type Fixture,
  type Json,
  type Reply,
} from '../management.fixture.ts';

let api: Fixture;
let refuse = false;
beforeAll(async () => {
  api = await startManagement({
    validateChange: () => {
      if (refuse) throw new Error('Cannot compile the version "v1": the reason');
    },
  });
});
beforeEach(async () => {
  refuse = false;
  await api.reset();
});
afterAll(() => api[Symbol.asyncDispose]());

const run = (operations: readonly Json[], query = '', token?: string): Promise<Reply> =>
  api.post(`/transaction${query}`, { operations }, token === undefined ? {} : { token });

const WHOLE_APP: readonly Json[] = [
  { id: 'app', method: 'POST', path: '/api/v1/apps', body: BILLING },
  { id: 'v', method: 'POST', path: '/api/v1/apps/${app.id}/versions', body: { version: 'v1' } },
  {
    id: 'r',
    method: 'POST',
    path: '/api/v1/apps/${app.slug}/versions/${v.id}/revisions',
    body: { revision: 'r1', backend_host: '${app.slug}.internal', is_current: true },
  },
  {
    method: 'POST',
    path: '/api/v1/apps/${app.id}/versions/${v.version}/revisions/${r.id}/endpoints',
    body: { method: 'GET', path: '/invoices/{id}' },
  },
  { id: 'key', method: 'POST', path: '/api/v1/apps/${app.id}/tokens', body: { name: 'mobile' } },
];

const configVersion = (): Promise<number> => api.repository.read((reader) => reader.configVersion());

async function state(): Promise<Json> {
  const { apps, keys } = await api.repository.loadAll();
  return { apps, keys, version: await configVersion(), audit: (await api.get('/audit')).body.page.total };
}

async function adminToken(role: string): Promise<string> {
  return (await api.post('/admin/tokens', { name: role, role })).body.data.token;
}

describe('a transaction', () => {
  it('makes an app with everything below it in one config version and one swap', async () => {
    const before = await configVersion();
    const reply = await run(WHOLE_APP);
    expect(reply.status).toBe(200);
    const made = reply.body.data.operations;
    expect(made.map(({ id, operation, status }: Json) => [id, operation, status])).toEqual([
      ['app', 'createApp', 201],
      ['v', 'createVersion', 201],
      ['r', 'createRevision', 201],
      [null, 'createEndpoint', 201],
      ['key', 'createToken', 201],
    ]);
    expect(made[2].body.data.backend_host).toBe('billing.internal');
    expect(await configVersion()).toBe(before + 1);
    expect(api.published).toHaveLength(1);
    const [app] = api.published[0]?.apps ?? [];
    expect(app?.versions[0]?.revisions[0]?.endpoints).toHaveLength(1);
    expect(api.published[0]?.keys).toHaveLength(1);
  });

  it('answers each operation as if it were sent alone', async () => {
    const made = (await run(WHOLE_APP)).body.data.operations;
    for (const { location, etag, body } of made) {
      const alone = await api.get(location);
      expect(alone.headers.get('etag')).toBe(etag);
      const { token: _token, ...shown } = body.data;
      expect(alone.body.data).toEqual(shown);
    }
    expect(made[4].body.data.token).toMatch(/^hg/);
    expect(made[2].body.warnings).toEqual((await alonely()).body.warnings);
  });

  /** The same revision in an app of its own, by single calls. */
  async function alonely(): Promise<Reply> {
    await api.post('/apps', { ...BILLING, slug: 'other', gateway_path: '/other' });
    await api.post('/apps/other/versions', { version: 'v1' });
    const body = { revision: 'r1', backend_host: 'billing.internal', is_current: true };
    return api.post('/apps/other/versions/v1/revisions', body);
  }

  it('leaves an audit entry for each operation and one for itself, with one request id', async () => {
    const reply = await run(WHOLE_APP);
    const { data } = (await api.get('/audit?limit=6&order=newest_first')).body;
    expect(data.map(({ action }: Json) => action).toSorted()).toEqual([
      'app.create',
      'endpoint.create',
      'revision.create',
      'token.create',
      'transaction.run',
      'version.create',
    ]);
    expect(new Set(data.map((entry: Json) => entry.request_id))).toEqual(
      new Set([reply.headers.get('x-request-id')]),
    );
    expect(JSON.stringify(data)).not.toContain(reply.body.data.operations[4].body.data.token);
  });

  it('may read what it has just written', async () => {
    const reply = await run([
      { method: 'POST', path: '/api/v1/apps', body: BILLING },
      { method: 'PATCH', path: '/api/v1/apps/billing', body: { description: 'changed' } },
      { method: 'GET', path: '/api/v1/apps/billing' },
    ]);
    expect(reply.body.data.operations[2].body.data.description).toBe('changed');
  });

  it('may make something and delete it again', async () => {
    const reply = await run([...WHOLE_APP, { method: 'DELETE', path: '/api/v1/apps/billing?cascade=true' }]);
    expect(reply.status).toBe(200);
    expect(reply.body.data.operations[5]).toMatchObject({ status: 204, body: null });
    expect((await api.get('/apps')).body.page.total).toBe(0);
  });

  it('that changes nothing makes no config version', async () => {
    await createBilling(api);
    const before = await state();
    const reply = await run([
      { method: 'PATCH', path: '/api/v1/apps/billing', body: { name: 'Billing' } },
      { method: 'GET', path: '/api/v1/apps/billing' },
    ]);
    expect(reply.body.data.operations.map(({ status }: Json) => status)).toEqual([200, 200]);
    expect(await state()).toEqual(before);
  });

  it('does what its own operation does on endpoints: only they are compiled', async () => {
    await createBilling(api);
    api.published.length = 0;
    const path = `/api/v1${VERSION}/revisions/r1/endpoints`;
    await run(['/a', '/b'].map((each) => ({ method: 'POST', path, body: { method: 'GET', path: each } })));
    expect(api.published[0]).toMatchObject({ versions: [], apps: [] });
    expect(api.published[0]?.endpoints?.map(({ endpoint }) => endpoint?.path)).toEqual(['/a', '/b']);
  });

  it('takes 1,000 operations', async () => {
    await createBilling(api);
    const path = `/api/v1${VERSION}/revisions/r1/endpoints`;
    const operations = Array.from({ length: 1_000 }, (_, index) => ({
      method: 'POST',
      path,
      body: { method: 'GET', path: `/e${index}/{id}` },
    }));
    const before = await configVersion();
    expect((await run(operations)).status).toBe(200);
    expect((await api.get(`${VERSION}/revisions/r1/endpoints`)).body.page.total).toBe(1_000);
    expect(await configVersion()).toBe(before + 1);
  });
});

describe('a transaction that fails', () => {
  const cases: readonly (readonly [string, readonly Json[], number, string, readonly string[]])[] = [
    [
      'a field',
      [WHOLE_APP[0], { method: 'POST', path: '/api/v1/apps/billing/versions', body: { version: 7 } }],
      422,
      'validation_failed',
      ['/operations/1/body/version'],
    ],
    [
      'a duplicate within it',
      [WHOLE_APP[0], WHOLE_APP[0] && { ...WHOLE_APP[0], id: 'again' }],
      409,
      'conflict',
      ['/operations/1/body/slug'],
    ],
    [
      'a record that is not there',
      [WHOLE_APP[0], { method: 'DELETE', path: '/api/v1/apps/shop' }],
      404,
      'not_found',
      ['/operations/1/path'],
    ],
    [
      'a path that is not there',
      [WHOLE_APP[0], { method: 'GET', path: '/api/v1/nothing' }],
      404,
      'not_found',
      ['/operations/1/path'],
    ],
    [
      'a method that is not there',
      [WHOLE_APP[0], { method: 'PUT', path: '/api/v1/apps', body: {} }],
      405,
      'management_method_not_allowed',
      ['/operations/1/path'],
    ],
    [
      'a query that is not known',
      [WHOLE_APP[0], { method: 'DELETE', path: '/api/v1/apps/billing?cascad=true' }],
      400,
      'invalid_query',
      ['/operations/1/path'],
    ],
    [
      'a precondition',
      [WHOLE_APP[0], { method: 'DELETE', path: '/api/v1/apps/billing', if_match: '"old"' }],
      412,
      'precondition_failed',
      ['/operations/1/if_match'],
    ],
    [
      'children',
      [...WHOLE_APP, { method: 'DELETE', path: '/api/v1/apps/billing' }],
      409,
      'has_children',
      ['/operations/5/path'],
    ],
    [
      'a body that is missing',
      [WHOLE_APP[0], { method: 'POST', path: '/api/v1/apps' }],
      400,
      'invalid_json',
      ['/operations/1/body'],
    ],
    [
      'a dry run of one operation',
      [WHOLE_APP[0], { method: 'DELETE', path: '/api/v1/apps/billing?dry_run=true' }],
      422,
      'validation_failed',
      ['/operations/1/path'],
    ],
  ];

  it.each(cases)(
    'by %s changes nothing and says where',
    async (_what, operations, status, code, pointers) => {
      const before = await state();
      const reply = await run(operations);
      expect(verdict(reply)).toEqual([status, code, pointers]);
      expect(reply.body.detail).toMatch(
        new RegExp(`^Operation ${operations.length - 1} \\(|^Operation 1 "again"`),
      );
      expect(await state()).toEqual(before);
      expect(api.published).toEqual([]);
    },
  );

  it('since the result does not compile changes nothing', async () => {
    const before = await state();
    refuse = true;
    const reply = await run(WHOLE_APP);
    expect([reply.status, reply.body.detail]).toEqual([422, 'Cannot compile the version "v1": the reason']);
    expect(await state()).toEqual(before);
  });

  it.each([
    ['POST', '/api/v1/transaction', { operations: [] }],
    ['POST', '/api/v1/config/apply', { config: {} }],
    ['GET', '/api/v1/config', undefined],
    ['POST', '/api/v1/explain', {}],
    ['POST', '/api/v1/admin/tokens', { name: 'x', role: 'admin' }],
    ['GET', '/api/v1/apps', undefined],
    ['GET', '/api/v1/audit', undefined],
    ['DELETE', '/api/v1/apps/billing/shadow-report', undefined],
    ['POST', '/api/v1/tokens/introspect', { token: 'x' }],
  ])('by %s %s, which cannot take part, says so', async (method, path, body) => {
    const reply = await run([WHOLE_APP[0], { method, path, ...(body && { body }) }]);
    expect(verdict(reply)).toEqual([422, 'validation_failed', ['/operations/1/path']]);
    expect(reply.body.errors[0].detail).toMatch(/^The operation \w+ cannot be part of a transaction$/);
    expect((await api.get('/apps')).body.page.total).toBe(0);
  });
});

describe('references', () => {
  const app = (body: object): Json => ({
    method: 'POST',
    path: '/api/v1/apps',
    body: { ...BILLING, ...body },
  });

  it.each([
    ['an id that no operation has', { ...WHOLE_APP[1], path: '/api/v1/apps/${nope.id}/versions' }, '/path'],
    ['a later operation', { ...WHOLE_APP[1], body: { version: '${later.id}' } }, '/body/version'],
    ['itself', { ...WHOLE_APP[1], body: { version: '${v.id}' } }, '/body/version'],
    ['a field that is not there', { ...WHOLE_APP[1], path: '/api/v1/apps/${app.nope}/versions' }, '/path'],
    ['an inherited field', { ...WHOLE_APP[1], body: { version: '${app.__proto__.x}' } }, '/body/version'],
    ['the constructor', { ...WHOLE_APP[1], body: { version: '${app.constructor.name}' } }, '/body/version'],
    ['a whole answer', { ...WHOLE_APP[1], body: { version: '${app}' } }, '/body/version'],
    ['nothing', { ...WHOLE_APP[1], body: { version: '${}' } }, '/body/version'],
    ['what does not end', { ...WHOLE_APP[1], body: { version: 'v${app.id' } }, '/body/version'],
    ['an object within a text', { ...WHOLE_APP[1], body: { version: 'v${app.labels}' } }, '/body/version'],
    ['null within a text', { ...WHOLE_APP[1], body: { version: 'v${app.description}' } }, '/body/version'],
    [
      'a deep field',
      { ...WHOLE_APP[1], body: { version: `\${app${'.a'.repeat(10_000)}}` } },
      '/body/version',
    ],
  ])('to %s are refused, and nothing is done', async (_what, operation, pointer) => {
    const reply = await run([
      WHOLE_APP[0],
      operation,
      { id: 'later', method: 'GET', path: '/api/v1/apps/billing' },
    ]);
    expect(verdict(reply)).toEqual([422, 'validation_failed', [`/operations/1${pointer}`]]);
    expect((await api.get('/apps')).body.page.total).toBe(0);
  });

  it('to an operation that failed are never followed: the first failure is the answer', async () => {
    const reply = await run([
      { id: 'app', method: 'POST', path: '/api/v1/apps', body: {} },
      { method: 'POST', path: '/api/v1/apps/${app.id}/versions', body: { version: 'v1' } },
    ]);
    expect(verdict(reply)[2].every((pointer) => pointer.startsWith('/operations/0/body/'))).toBe(true);
  });

  it('that form a cycle are refused', async () => {
    const reply = await run([
      { ...app({ description: '${b.id}' }), id: 'a' },
      { ...app({ slug: 'b', gateway_path: '/b', description: '${a.id}' }), id: 'b' },
    ]);
    expect(verdict(reply)).toEqual([422, 'validation_failed', ['/operations/0/body/description']]);
  });

  it('need ids that are given once', async () => {
    const reply = await run([WHOLE_APP[0], { ...app({ slug: 'b' }), id: 'app' }]);
    expect(verdict(reply)).toEqual([422, 'validation_failed', ['/operations/1/id']]);
  });

  it('give values of any type, and escaped ones stay texts', async () => {
    const reply = await run([
      { ...app({ labels: { team: 'a/b ?' } }), id: 'a' },
      app({
        slug: 'b',
        gateway_path: '/b',
        labels: '${a.labels}',
        description: 'of ${a.slug}, not $${a.slug} nor $$$${x and $ or {a.slug}',
      }),
    ]);
    const { data } = reply.body.data.operations[1].body;
    expect(data.labels).toEqual({ team: 'a/b ?' });
    expect(data.description).toBe('of billing, not ${a.slug} nor $$${x and $ or {a.slug}');
  });

  it('cannot add a segment or a parameter to a path', async () => {
    const reply = await run([
      { ...app({ labels: { team: 'x?cascade=true', up: '../..' } }), id: 'a' },
      { method: 'DELETE', path: '/api/v1/apps/${a.labels.team}' },
    ]);
    expect(verdict(reply)).toEqual([404, 'not_found', ['/operations/1/path']]);
    expect(reply.body.detail).toContain('"x?cascade=true"');
  });

  it('cannot put the value of a key anywhere', async () => {
    const reply = await run([
      ...WHOLE_APP,
      { method: 'PATCH', path: '/api/v1/apps/billing', body: { description: '${key.token}' } },
    ]);
    expect(verdict(reply)).toEqual([422, 'validation_failed', ['/operations/5/body/description']]);
  });

  it('cannot make a body grow without a bound', async () => {
    const description = 'd'.repeat(1_000);
    const reply = await run([
      { ...app({ description }), id: 'a' },
      app({ slug: 'b', gateway_path: '/b', description: '${a.description}'.repeat(10_000) }),
    ]);
    expect(verdict(reply)).toEqual([422, 'validation_failed', ['/operations/1/body/description']]);
    expect(reply.text.length).toBeLessThan(10_000);
  });
});

describe('the bounds of a transaction', () => {
  it.each([0, 1_001, 10_000])('%i operations are refused', async (count) => {
    const reply = await run(Array.from({ length: count }, () => ({ method: 'GET', path: '/api/v1/apps/x' })));
    expect(verdict(reply)).toEqual([422, 'validation_failed', ['/operations']]);
    expect(reply.body.errors[0].detail).toMatch(/must have at (?:least|most) 1(?:000)? item/);
  });

  it('a body of more than 8 MiB is refused', async () => {
    const reply = await run([{ method: 'GET', path: '/api/v1/apps/x', body: 'x'.repeat(8 * 1024 * 1024) }]);
    expect(verdict(reply)).toEqual([413, 'payload_too_large', []]);
    expect(reply.body.detail).toBe('The body is larger than 8 MiB');
  });

  it('a member __proto__ is refused', async () => {
    const body = '{"operations":[{"method":"POST","path":"/api/v1/apps","body":{"__proto__":{"slug":"x"}}}]}';
    expect(verdict(await api.post('/transaction', body))).toEqual([400, 'invalid_json', []]);
  });
});

describe('roles in a transaction', () => {
  it('a viewer may read, and try all other operations', async () => {
    await createBilling(api);
    const token = await adminToken('viewer');
    const read = { method: 'GET', path: '/api/v1/apps/billing' };
    expect((await run([read], '', token)).status).toBe(200);
    const write = { method: 'PATCH', path: '/api/v1/apps/billing', body: { name: 'Other' } };
    expect(verdict(await run([read, write], '', token))).toEqual([403, 'forbidden', ['/operations/1']]);
    const before = await state();
    expect((await run([read, write], '?dry_run=true', token)).status).toBe(200);
    expect(await state()).toEqual(before);
    const secret = { auth: { auth_type: 'jwt', jwt: { secret: 'a-guess-of-the-secret-of-billing-0123' } } };
    const guess = { ...write, body: { default_policy: secret } };
    expect(verdict(await run([guess], '?dry_run=true', token))).toEqual([
      403,
      'forbidden',
      ['/operations/0'],
    ]);
  });

  it('an editor may not bring the value of a key', async () => {
    await createBilling(api);
    const token = await adminToken('editor');
    const body = { name: 'brought', token: 'a-value-of-forty-characters-0123456789abcdef' };
    const reply = await run([{ method: 'POST', path: '/api/v1/apps/billing/tokens', body }], '', token);
    expect(verdict(reply)).toEqual([403, 'forbidden', ['/operations/0']]);
  });
});

describe('a dry run of a transaction', () => {
  it('answers what would be answered and what would change, and leaves nothing', async () => {
    await createBilling(api);
    await api.post('/apps/billing/tokens', { name: 'old' });
    const before = await state();
    const reply = await run(
      [
        { method: 'PATCH', path: `/api/v1${VERSION}/revisions/r1`, body: { is_current: true } },
        ...WHOLE_APP.map((operation, index) =>
          index === 0
            ? { ...operation, body: { ...BILLING, slug: 'shop', gateway_path: '/shop' } }
            : operation,
        ),
      ],
      '?dry_run=true',
    );
    expect(reply.status).toBe(200);
    const { would_answer: would, endpoints, keys } = reply.body.data;
    expect(would.data.operations.map(({ status }: Json) => status)).toEqual([200, 201, 201, 201, 201, 201]);
    expect(reply.text).not.toContain('"token":');
    expect(endpoints.map(({ change, after }: Json) => [change, after.route])).toEqual([
      ['changed', '/billing/v1/*'],
      ['added', '/shop/v1/invoices/{id}'],
      ['added', '/shop/v1/*'],
    ]);
    expect(keys).toMatchObject([{ change: 'added', name: 'mobile' }]);
    expect(await state()).toEqual(before);
  });

  it('fails as the transaction does', async () => {
    const reply = await run(
      [WHOLE_APP[0], WHOLE_APP[0]].map((each, index) => ({ ...each, id: `o${index}` })),
      '?dry_run=true',
    );
    expect(verdict(reply)).toEqual([409, 'conflict', ['/operations/1/body/slug']]);
  });
});
