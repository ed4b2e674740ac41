/**
 * Contract part 2 through the started program: every field of every resource, whether it is required, its default and
 * its type, what is written is what is read; and contract part 4: create, fetch, change and delete a single record, by
 * its id and by its label.
 */
// oxlint-disable vitest/expect-expect -- expectData, expectPage and expectProblem are assertions
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import {
  expectData,
  expectPage,
  expectProblem,
  expectRecord,
  NO_SUCH_ID,
  UUID_V7,
} from '../../support/management.ts';
import {
  APP,
  createBase,
  ENDPOINT,
  expectTime,
  FULL_POLICY,
  RESOURCES,
  REVISION,
  TOKEN,
  VERSION,
  type Fields,
  type ResourceCase,
} from '../../support/data/management-resources.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  await createBase(gateway);
});
afterAll(() => gateway.stop());

/** Compares field by field; a pattern or a function in `expected` stands for a check. */
function expectFields(record: Fields, expected: Fields): void {
  for (const [name, value] of Object.entries(expected)) {
    if (value instanceof RegExp) expect(record[name], name).toMatch(value);
    else if (value === expectTime) expect(expectTime(record[name]), name).toBe(true);
    else expect(record[name], name).toEqual(value);
  }
}

const withTag = (answer: { headers: Headers }): string => answer.headers.get('etag') ?? '';

describe.each(RESOURCES.map((resource) => [resource.name, resource] as const))(
  'spec 2: a record of the kind %s',
  (_name, resource) => {
    const own = Object.keys(resource.defaults);
    const members = ['id', 'created_at', 'updated_at', ...own, ...(resource.parent ? [resource.parent] : [])];

    it('has the documented defaults, exactly the documented members, and is fetched as it was answered', async () => {
      const created = await gateway.api('POST', resource.collection, resource.minimal);
      const { token, ...record } = expectRecord(expectData(created, 201));
      expect(Object.keys(record).sort()).toEqual(members.sort());
      expectFields(record, resource.defaults);
      if (resource.parent) expect(record[resource.parent]).toMatch(UUID_V7);
      expect(record['created_at']).toBe(record['updated_at']);
      expect(token === undefined).toBe(!resource.readOnly.includes('token'));

      expect(created.headers.get('location')).toBe(`/api/v1${resource.collection}/${record['id']}`);
      const fetched = await gateway.api('GET', `/${created.headers.get('location')}`);
      expect(expectData(fetched)).toEqual(record);
      expect(withTag(fetched)).toBe(withTag(created));
      const { data } = expectPage(await gateway.api('GET', resource.collection));
      expect(data.find(({ id }) => id === record['id'])).toEqual(record);
      await gateway.must('DELETE', `${resource.collection}/${record['id']}`);
    });

    it('takes every field and gives it back', async () => {
      const { token: _token, ...record } = await gateway.must('POST', resource.collection, resource.full);
      expectFields(record, { ...resource.full, ...resource.fullServed });
      expect(await gateway.must('GET', `${resource.collection}/${record.id}`)).toEqual(record);
      await gateway.must('DELETE', `${resource.collection}/${record.id}?${cascade(resource)}`);
    });

    it.each(resource.required)('needs %s', async (field) => {
      const { [field]: _left, ...rest } = resource.minimal;
      for (const body of [rest, { ...rest, [field]: null }]) {
        const answer = await gateway.api('POST', resource.collection, body);
        expectProblem(answer, 'validation_failed', { pointers: [`/${field}`] });
      }
    });

    it('takes null for optional fields as absent, or refuses it; never stores something else', async () => {
      for (const field of Object.keys(resource.full).filter((name) => !resource.required.includes(name))) {
        const answer = await gateway.api('POST', resource.collection, { ...resource.minimal, [field]: null });
        if (answer.status === 201) {
          expect(answer.body.data[field], field).toEqual(resource.defaults[field]);
          await gateway.must('DELETE', `${resource.collection}/${answer.body.data.id}`);
        } else expectProblem(answer, 'validation_failed', { pointers: [`/${field}`] });
      }
    });

    it.each(resource.readOnly)('does not let a client set %s', async (field) => {
      const answer = await gateway.api('POST', resource.collection, { ...resource.minimal, [field]: 'x' });
      expectProblem(answer, 'validation_failed', { pointers: [`/${field}`] });
    });

    it('refuses a field that does not exist, naming it', async () => {
      const answer = await gateway.api('POST', resource.collection, { ...resource.minimal, 'a/b~c': 1 });
      expectProblem(answer, 'validation_failed', { pointers: ['/a~1b~0c'] });
    });

    it('refuses a field that only the gateway sets, and says that it is one', async () => {
      const answer = await gateway.api('POST', resource.collection, { ...resource.minimal, id: 'x' });
      expect(expectProblem(answer, 'validation_failed', { pointers: ['/id'] }).detail).toBe(
        '/id can only be read, not written',
      );
    });

    it('is gone after DELETE, and the label is free again', async () => {
      for (let round = 1; round <= 2; round++) {
        const { id } = await gateway.must('POST', resource.collection, resource.minimal);
        const answer = await gateway.api('DELETE', `${resource.collection}/${id}`);
        expect([answer.status, answer.body]).toEqual([204, undefined]);
        for (const method of ['GET', 'DELETE']) {
          expectProblem(await gateway.api(method, `${resource.collection}/${id}`), 'not_found');
        }
      }
    });

    it('that does not exist is 404', async () => {
      for (const reference of [NO_SUCH_ID, 'nope', '%00', 'a%2Fb', '..%2f..', 'x'.repeat(100)]) {
        const path = `${resource.collection}/${reference}`;
        expectProblem(await gateway.api('GET', path), 'not_found');
        expectProblem(await gateway.api('DELETE', path), 'not_found');
        if (resource.name !== 'admin token') expectProblem(await gateway.api('PATCH', path, {}), 'not_found');
      }
    });
  },
);

const CHANGEABLE = [APP, VERSION, REVISION, ENDPOINT, TOKEN];

describe.each(CHANGEABLE.map((resource) => [resource.name, resource] as const))(
  'spec 4: PATCH of the kind %s',
  (_name, resource) => {
    it.each(Object.entries(resource.changes))('changes %s alone', async (field, value) => {
      const created = await gateway.api('POST', resource.collection, resource.minimal);
      const { token: _token, ...before } = created.body.data;
      const path = `${resource.collection}/${before.id}`;
      const answer = await gateway.api('PATCH', path, { [field]: value });
      const after = expectData(answer);
      expect(after).toEqual({
        ...before,
        [field]: value,
        updated_at: after.updated_at,
        ...followers(resource, field, value),
      });
      expect(Date.parse(after.updated_at)).toBeGreaterThan(Date.parse(before.updated_at));
      expect(withTag(answer)).not.toBe(withTag(created));
      const fetched = await gateway.api('GET', path);
      expect(expectData(fetched)).toEqual(after);
      expect(withTag(fetched)).toBe(withTag(answer));

      const undone = await gateway.api('PATCH', path, { [field]: null });
      if (resource.required.includes(field)) {
        expectProblem(undone, 'validation_failed', { pointers: [`/${field}`] });
      } else {
        expectFields(expectData(undone), resource.defaults);
      }
      await gateway.must('DELETE', path);
    });

    it('changes everything at once', async () => {
      const { id } = await gateway.must('POST', resource.collection, resource.minimal);
      const path = `${resource.collection}/${id}`;
      expectFields(await gateway.must('PATCH', path, resource.changes), resource.changes);
      expectFields(await gateway.must('GET', path), resource.changes);
      await gateway.must('DELETE', path);
    });

    it('takes back what was read, field by field', async () => {
      const { id } = await gateway.must('POST', resource.collection, resource.full);
      const path = `${resource.collection}/${id}`;
      const before = await gateway.must('GET', path);
      const written = Object.fromEntries(Object.keys(resource.full).map((name) => [name, before[name]]));
      expect(await gateway.must('PATCH', path, written)).toEqual(before);
      await gateway.must('DELETE', path);
    });

    it('with nothing in it changes nothing', async () => {
      const created = await gateway.api('POST', resource.collection, resource.minimal);
      const { token: _token, ...before } = created.body.data;
      const path = `${resource.collection}/${before.id}`;
      const answer = await gateway.api('PATCH', path, {});
      expect(expectData(answer)).toEqual(before);
      expect(withTag(answer)).toBe(withTag(created));
      await gateway.must('DELETE', path);
    });

    it('refuses unknown and read-only fields, also when they are null', async () => {
      const { id } = await gateway.must('POST', resource.collection, resource.minimal);
      const path = `${resource.collection}/${id}`;
      for (const field of [...resource.readOnly, 'nonsense']) {
        for (const value of ['x', null]) {
          const answer = await gateway.api('PATCH', path, { [field]: value });
          expectProblem(answer, 'validation_failed', { pointers: [`/${field}`] });
        }
      }
      await gateway.must('DELETE', path);
    });
  },
);

/** What a change of one field changes along with it. */
function followers(resource: ResourceCase, field: string, value: unknown): Fields {
  if (resource !== VERSION) return {};
  if (field === 'gateway_path') return { gateway_path_is_default: false };
  return field === 'version' ? { gateway_path: `/base/${String(value)}` } : {};
}

function cascade(resource: ResourceCase): string {
  return [APP, VERSION, REVISION].includes(resource) ? 'cascade=true' : '';
}

describe('labels can replace ids wherever an id is accepted', () => {
  it('in every position of every path', async () => {
    const app = await gateway.must('GET', '/apps/base');
    const version = await gateway.must('GET', '/apps/base/versions/v1');
    const revision = await gateway.must('GET', '/apps/base/versions/v1/revisions/r1');
    const endpoint = await gateway.must('POST', ENDPOINT.collection, { method: 'PUT', path: '/by-label' });
    for (const a of ['base', app.id]) {
      expect(await gateway.must('GET', `/apps/${a}`)).toEqual(app);
      for (const v of ['v1', version.id]) {
        expect(await gateway.must('GET', `/apps/${a}/versions/${v}`)).toEqual(version);
        for (const r of ['r1', revision.id]) {
          const path = `/apps/${a}/versions/${v}/revisions/${r}`;
          expect(await gateway.must('GET', path)).toEqual(revision);
          expect(await gateway.must('GET', `${path}/endpoints/${endpoint.id}`)).toEqual(endpoint);
          expect(await gateway.must('PATCH', `${path}/endpoints/${endpoint.id}`, {})).toEqual(endpoint);
        }
      }
    }
  });

  it('spec 4: the key-creation path takes the slug and the id, and Location says what was used', async () => {
    const { id } = await gateway.must('GET', '/apps/base');
    for (const reference of ['base', id]) {
      const answer = await gateway.api('POST', `/apps/${reference}/tokens`, { name: 'k', scopes: [] });
      const created = expectData(answer, 201);
      expect(created.app_id).toBe(id);
      expect(answer.headers.get('location')).toBe(`/api/v1/apps/${reference}/tokens/${created.id}`);
      expect(expectData(await gateway.api('GET', `/${answer.headers.get('location')}`)).id).toBe(created.id);
    }
  });

  it('a renamed record is found under its new label only, and always under its id', async () => {
    const { id } = await gateway.must('POST', '/apps', { name: 'R', slug: 'old-name', gateway_path: '/r' });
    await gateway.must('PATCH', '/apps/old-name', { slug: 'new-name' });
    expectProblem(await gateway.api('GET', '/apps/old-name'), 'not_found');
    for (const reference of ['new-name', id]) {
      expect((await gateway.must('GET', `/apps/${reference}`)).id).toBe(id);
    }
  });

  it('labels are case-sensitive and may need percent-encoding', async () => {
    await gateway.must('POST', '/apps/base/versions', { version: '~a._-Z' });
    expect((await gateway.must('GET', '/apps/base/versions/%7ea._-Z')).version).toBe('~a._-Z');
    expectProblem(await gateway.api('GET', '/apps/base/versions/~a._-z'), 'not_found');
    expectProblem(await gateway.api('GET', '/apps/BASE'), 'not_found');
  });

  it('a record is found below its own parents only', async () => {
    await gateway.must('POST', '/apps', { name: 'O', slug: 'other', gateway_path: '/other' });
    await gateway.must('POST', '/apps/other/versions', { version: 'v1' });
    const version = await gateway.must('GET', '/apps/base/versions/v1');
    const revision = await gateway.must('GET', '/apps/base/versions/v1/revisions/r1');
    const token = await gateway.must('POST', '/apps/base/tokens', { name: 'mine' });
    for (const path of [
      `/apps/other/versions/${version.id}`,
      `/apps/other/versions/v1/revisions/${revision.id}`,
      `/apps/other/versions/v1/revisions/r1`,
      `/apps/other/tokens/${token.id}`,
    ]) {
      expectProblem(await gateway.api('GET', path), 'not_found');
      expectProblem(await gateway.api('PATCH', path, {}), 'not_found');
      expectProblem(await gateway.api('DELETE', path), 'not_found');
    }
    expect((await gateway.must('GET', `/apps/base/tokens/${token.id}`)).name).toBe('mine');
  });
});

describe('spec 2: gateway paths of versions', () => {
  it('the default follows the app, an explicit one stays', async () => {
    await gateway.must('POST', '/apps', { name: 'M', slug: 'mover', gateway_path: '/before' });
    await gateway.must('POST', '/apps/mover/versions', { version: 'v1' });
    await gateway.must('POST', '/apps/mover/versions', { version: 'v2', gateway_path: '/fixed/v2' });
    await gateway.must('PATCH', '/apps/mover', { gateway_path: '/after' });
    const { data } = expectPage(await gateway.api('GET', '/apps/mover/versions'));
    expect(data.map((version) => [version.gateway_path, version.gateway_path_is_default])).toEqual([
      ['/after/v1', true],
      ['/fixed/v2', false],
    ]);
  });

  it('an explicit path that equals the default does not follow: it was given explicitly', async () => {
    await gateway.must('POST', '/apps', { name: 'E', slug: 'explicit', gateway_path: '/explicit' });
    await gateway.must('POST', '/apps/explicit/versions', { version: 'v1', gateway_path: '/explicit/v1' });
    await gateway.must('PATCH', '/apps/explicit', { gateway_path: '/moved' });
    expect((await gateway.must('GET', '/apps/explicit/versions/v1')).gateway_path).toBe('/explicit/v1');
  });
});

describe('deleting what has children', () => {
  const build = async (slug: string): Promise<void> => {
    await gateway.must('POST', '/apps', { name: slug, slug, gateway_path: `/${slug}` });
    await gateway.must('POST', `/apps/${slug}/versions`, { version: 'v1' });
    const revisions = `/apps/${slug}/versions/v1/revisions`;
    await gateway.must('POST', revisions, { revision: 'r1', backend_host: 'b.example' });
    await gateway.must('POST', `${revisions}/r1/endpoints`, { method: 'GET', path: '/x' });
    await gateway.must('POST', `/apps/${slug}/tokens`, { name: 'k' });
  };

  it('is refused with 409 at every level, and nothing is deleted', async () => {
    await build('family');
    for (const [path, told] of [
      ['/apps/family', /1 version and 1 token/],
      ['/apps/family/versions/v1', /1 revision/],
      ['/apps/family/versions/v1/revisions/r1', /1 endpoint/],
    ] as const) {
      for (const query of ['', '?cascade=false']) {
        const { detail } = expectProblem(await gateway.api('DELETE', path + query), 'has_children');
        expect(detail).toMatch(told);
        expect(detail).toContain('cascade=true');
      }
      expectData(await gateway.api('GET', path));
    }
  });

  it('an app that has only tokens is refused, too', async () => {
    await gateway.must('POST', '/apps', { name: 'T', slug: 'token-only', gateway_path: '/token-only' });
    const { id } = await gateway.must('POST', '/apps/token-only/tokens', { name: 'k' });
    expectProblem(await gateway.api('DELETE', '/apps/token-only'), 'has_children');
    await gateway.must('DELETE', `/apps/token-only/tokens/${id}`);
    expect((await gateway.api('DELETE', '/apps/token-only')).status).toBe(204);
  });

  it('bottom up it goes without cascade', async () => {
    await build('bottom-up');
    const revision = '/apps/bottom-up/versions/v1/revisions/r1';
    const { data } = expectPage(await gateway.api('GET', `${revision}/endpoints`));
    const tokens = expectPage(await gateway.api('GET', '/apps/bottom-up/tokens')).data;
    for (const path of [
      `${revision}/endpoints/${data[0].id}`,
      revision,
      '/apps/bottom-up/versions/v1',
      `/apps/bottom-up/tokens/${tokens[0].id}`,
      '/apps/bottom-up',
    ]) {
      expect((await gateway.api('DELETE', path)).status, path).toBe(204);
    }
  });

  it('cascade=true takes everything along, and slug and paths are free again', async () => {
    for (let round = 1; round <= 2; round++) {
      await build('cascaded');
      expect((await gateway.api('DELETE', '/apps/cascaded?cascade=true')).status).toBe(204);
      for (const path of ['', '/versions/v1', '/versions/v1/revisions/r1', '/tokens']) {
        expectProblem(await gateway.api('GET', `/apps/cascaded${path}`), 'not_found');
      }
    }
  });

  it.each(['yes', '1', 'TRUE', ''])('cascade=%s is 400, and nothing is deleted', async (value) => {
    expectProblem(await gateway.api('DELETE', `/apps/family?cascade=${value}`), 'invalid_query');
    expectData(await gateway.api('GET', '/apps/family'));
  });

  it('a mistyped cascade is 400, not ignored', async () => {
    expectProblem(await gateway.api('DELETE', '/apps/family?cascde=true'), 'invalid_query');
    expectProblem(await gateway.api('DELETE', '/apps/family?cascade=true&cascade=true'), 'invalid_query');
  });
});

describe('a PATCH of a policy merges at every depth (RFC 7396)', () => {
  const LEVELS: readonly (readonly [string, string, ResourceCase])[] = [
    ['an app', 'default_policy', APP],
    ['a revision', 'default_policy', REVISION],
    ['an endpoint', 'policy_override', ENDPOINT],
  ];

  it.each(LEVELS)('of %s', async (_what, field, resource) => {
    const body = { ...resource.minimal, [field]: FULL_POLICY };
    const { id } = await gateway.must('POST', resource.collection, body);
    const path = `${resource.collection}/${id}`;
    const patch = async (policy: unknown): Promise<unknown> =>
      (await gateway.must('PATCH', path, { [field]: policy }))[field];

    const limited = { ...FULL_POLICY, rate_limit: { ...FULL_POLICY.rate_limit, enabled: false } };
    expect(await patch({ rate_limit: { enabled: false } }), 'a field changes alone').toEqual(limited);
    const { leeway_secs: _leeway, ...jwt } = FULL_POLICY.auth.jwt;
    const claims = { email: 'X-Email', name: 'X-Name' };
    const deep = { ...limited, auth: { ...FULL_POLICY.auth, jwt: { ...jwt, claims_to_headers: claims } } };
    expect(
      await patch({ auth: { jwt: { leeway_secs: null, claims_to_headers: { name: 'X-Name' } } } }),
      'at every depth',
    ).toEqual(deep);
    const fewerOrigins = { ...deep, cors: { ...FULL_POLICY.cors, allowed_headers: ['X-A'] } };
    expect(await patch({ cors: { allowed_headers: ['X-A'] } }), 'arrays are replaced').toEqual(fewerOrigins);
    const { cors: _cors, auth: _auth, ...fewer } = limited;
    expect(await patch({ cors: null, auth: null }), 'null removes a part').toEqual(fewer);
    expect(await patch({}), 'nothing given changes nothing').toEqual(fewer);
    expect(await patch(null), 'null removes the policy').toBeNull();
    expect(await patch({ allowed_methods: ['GET'] })).toEqual({ allowed_methods: ['GET'] });
    expect(await patch({ allowed_methods: null })).toEqual({});
    await gateway.must('DELETE', path);
  });

  it.each(LEVELS)('of %s is checked as a whole', async (_what, field, resource) => {
    const policy = { auth: { auth_type: 'jwt' }, rate_limit: { per: 'claim:sub' } };
    const { id } = await gateway.must('POST', resource.collection, { ...resource.minimal, [field]: policy });
    const path = `${resource.collection}/${id}`;
    const answer = await gateway.api('PATCH', path, { [field]: { auth: { auth_type: 'api_key' } } });
    expectProblem(answer, 'validation_failed', { pointers: [`/${field}/rate_limit/per`] });
    expect((await gateway.must('GET', path))[field]).toEqual(policy);
    await gateway.must('DELETE', path);
  });

  it.each(LEVELS)('of %s never shows a JWT secret', async (_what, field, resource) => {
    const secret = 'correct-horse-battery-staple-0123456789';
    const policy = { auth: { auth_type: 'jwt', jwt: { secret } } };
    const created = await gateway.api('POST', resource.collection, { ...resource.minimal, [field]: policy });
    const { id } = expectData(created, 201);
    const path = `${resource.collection}/${id}`;
    const masked = { auth: { auth_type: 'jwt', jwt: { secret: '********' } } };
    expect(created.body.data[field]).toEqual(masked);
    expect((await gateway.must('PATCH', path, { [field]: masked }))[field]).toEqual(masked);
    const seen = [
      await gateway.api('GET', path),
      await gateway.api('GET', resource.collection),
      await gateway.api('GET', '/audit?limit=500'),
    ];
    for (const answer of seen) expect(JSON.stringify(answer.body)).not.toContain(secret);
    expect(gateway.output()).not.toContain(secret);
    await gateway.must('DELETE', path);
  });
});

describe('spec 2: values are kept to the letter', () => {
  it.each([
    ['emoji and combining marks', 'e\u0301 \u{1F469}\u200D\u{1F4BB} \u0416'],
    ['quotes, markup and SQL', `"'<b>&amp;</b>'; drop table app; --`],
    ['200 characters', '\u5927'.repeat(200)],
  ])('%s in a name', async (_what, name) => {
    const { id } = await gateway.must('POST', '/apps', { ...APP.minimal, name });
    expect((await gateway.must('GET', `/apps/${id}`)).name).toBe(name);
    await gateway.must('DELETE', `/apps/${id}`);
  });

  it('scopes keep their order, claims and labels their case', async () => {
    const scopes = ['z', 'A', 'a', 'invoices:read'];
    const { id } = await gateway.must('POST', TOKEN.collection, { name: 'k', scopes });
    expect((await gateway.must('GET', `${TOKEN.collection}/${id}`)).scopes).toEqual(scopes);
  });
});
