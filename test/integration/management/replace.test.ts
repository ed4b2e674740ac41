/**
 * PUT through the started program: the record becomes what the body says and nothing of the old one stays, with the
 * same checks, ETag, dry run and audit entry as a PATCH. Beside it what a PATCH that does not fit is told.
 */
// oxlint-disable vitest/expect-expect -- expectData and expectProblem are assertions
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { expectData, expectPage, expectProblem, NO_SUCH_ID } from '../../support/management.ts';
import {
  ADMIN_TOKEN_CASE,
  APP,
  createBase,
  ENDPOINT,
  expectTime,
  REVISION,
  TOKEN,
  VERSION,
  type Fields,
  type ResourceCase,
} from '../../support/data/management-resources.ts';
import { SECRET, signed } from '../../support/data/jwts.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createService, request } from '../../support/traffic.ts';

const MASK = '********';
let gateway: TestGateway;
let origin: Origin;
beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  await createBase(gateway);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

function expectFields(record: Fields, expected: Fields): void {
  for (const [name, value] of Object.entries(expected)) {
    if (value instanceof RegExp) expect(record[name], name).toMatch(value);
    else if (value === expectTime) expect(expectTime(record[name]), name).toBe(true);
    else expect(record[name], name).toEqual(value);
  }
}

const KINDS = [APP, VERSION, REVISION, ENDPOINT, TOKEN].map((resource) => [resource.name, resource] as const);

describe.each(KINDS)('PUT of the kind %s', (_name, resource) => {
  const make = async (fields: Fields) => {
    const { id, token: _token, ...rest } = await gateway.must('POST', resource.collection, fields);
    return { path: `${resource.collection}/${id}`, before: { id, ...rest } };
  };
  const remove = (path: string) =>
    gateway.must('DELETE', [ENDPOINT, TOKEN].includes(resource) ? path : `${path}?cascade=true`);

  it('replaces everything, and what is not given goes back to its default', async () => {
    const { path, before } = await make(resource.full);
    const answer = await gateway.api('PUT', path, resource.minimal);
    const after = expectData(answer);
    expectFields(after, { ...resource.defaults, token_prefix: before.token_prefix });
    expect([after.id, after.created_at]).toEqual([before.id, before.created_at]);
    expect(Date.parse(after.updated_at)).toBeGreaterThan(Date.parse(before.updated_at));
    const fetched = await gateway.api('GET', path);
    expect(expectData(fetched)).toEqual(after);
    expect(fetched.headers.get('etag')).toBe(answer.headers.get('etag'));
    expectFields(expectData(await gateway.api('PUT', path, resource.full)), {
      ...resource.full,
      ...resource.fullServed,
    });
    await remove(path);
  });

  it('with what is stored changes nothing, also when secrets and times come as they are served', async () => {
    const { path, before } = await make(resource.full);
    const written = Object.fromEntries(Object.keys(resource.full).map((name) => [name, before[name]]));
    const answer = await gateway.api('PUT', path, written);
    expect(expectData(answer)).toEqual(before);
    await remove(path);
  });

  it.each(resource.required)('needs %s, as a creation does', async (field) => {
    const { path, before } = await make(resource.minimal);
    const { [field]: _left, ...rest } = resource.minimal;
    expectProblem(await gateway.api('PUT', path, rest), 'validation_failed', { pointers: [`/${field}`] });
    expect(await gateway.must('GET', path)).toEqual(before);
    await remove(path);
  });

  it('refuses unknown and read-only fields', async () => {
    const { path } = await make(resource.minimal);
    for (const field of [...resource.readOnly, 'nonsense']) {
      const answer = await gateway.api('PUT', path, { ...resource.minimal, [field]: 'x' });
      expectProblem(answer, 'validation_failed', { pointers: [`/${field}`] });
    }
    await remove(path);
  });

  it('makes no record: one that is not there is 404', async () => {
    const path = `${resource.collection}/${NO_SUCH_ID}`;
    expectProblem(await gateway.api('PUT', path, resource.minimal), 'not_found');
  });

  it('obeys If-Match, can be tried, and is audited with the fields that changed', async () => {
    const { path, before } = await make(resource.full);
    const tag = (await gateway.api('GET', path)).headers.get('etag') ?? '';
    const dry = await gateway.api('PUT', `${path}?dry_run=true`, resource.minimal, { 'if-match': tag });
    expect([dry.status, dry.headers.get('etag')]).toEqual([200, tag]);
    expectFields(dry.body.data.would_answer.data, resource.minimal);
    expect(await gateway.must('GET', path)).toEqual(before);

    const real = await gateway.api('PUT', path, resource.minimal, { 'if-match': tag });
    expectFields(expectData(real), resource.minimal);
    const stale = await gateway.api('PUT', path, resource.full, { 'if-match': tag });
    expectProblem(stale, 'precondition_failed');
    const { data } = expectPage(await gateway.api('GET', '/audit?order=newest_first&limit=1'));
    expect(data[0]).toMatchObject({ action: `${resource.name}.update`, resource_id: before.id });
    expect(Object.keys(data[0].change)).toEqual(expect.arrayContaining(changedNames(resource)));
    await remove(path);
  });
});

/** Those that the full record has other than the least one. */
function changedNames({ full, defaults }: ResourceCase): string[] {
  return Object.keys(full).filter((name) => JSON.stringify(full[name]) !== JSON.stringify(defaults[name]));
}

describe('PUT and secrets', () => {
  const LEVELS: readonly (readonly [string, string, ResourceCase])[] = [
    ['an app', 'default_policy', APP],
    ['a revision', 'default_policy', REVISION],
    ['an endpoint', 'policy_override', ENDPOINT],
  ];
  const jwt = (settings: Fields): Fields => ({ auth: { auth_type: 'jwt', jwt: settings } });

  it.each(LEVELS)(
    'of %s: the mask keeps the stored secret, leaving it out removes it',
    async (_n, field, kind) => {
      const { id } = await gateway.must('POST', kind.collection, {
        ...kind.minimal,
        [field]: jwt({ secret: SECRET }),
      });
      const path = `${kind.collection}/${id}`;
      const masked = await gateway.must('PUT', path, {
        ...kind.minimal,
        [field]: jwt({ secret: MASK, leeway_secs: 7 }),
      });
      expect(masked[field]).toEqual(jwt({ secret: MASK, leeway_secs: 7 }));
      const removed = await gateway.must('PUT', path, { ...kind.minimal, [field]: jwt({ leeway_secs: 7 }) });
      expect(removed[field]).toEqual(jwt({ leeway_secs: 7 }));
      // Nothing is stored any more that the mask could stand for: it must not become the secret itself.
      const pointers = [`/${field}/auth/jwt/secret`];
      for (const method of ['PUT', 'PATCH']) {
        const body = { ...kind.minimal, [field]: jwt({ secret: MASK }) };
        expectProblem(await gateway.api(method, path, body), 'validation_failed', { pointers });
      }
      await gateway.must('DELETE', path);
    },
  );

  it('a policy that is put back masked still takes the tokens that its secret signed', async () => {
    await createService(gateway, 'signed', origin.port, { app: { default_policy: jwt({ secret: SECRET }) } });
    const token = await signed({ sub: 'ann' });
    const status = async (): Promise<number> =>
      (await request(gateway, '/signed/v1/x', { headers: { Authorization: `Bearer ${token}` } })).status;
    expect(await status()).toBe(200);
    const body = { name: 'S', slug: 'signed', gateway_path: '/signed' };
    await gateway.must('PUT', '/apps/signed', {
      ...body,
      default_policy: jwt({ secret: MASK, leeway_secs: 1 }),
    });
    expect(await status()).toBe(200);
    await gateway.must('PUT', '/apps/signed', { ...body, default_policy: jwt({}) });
    expect(await status()).toBe(401);
    await gateway.must('PUT', '/apps/signed', body);
    expect((await request(gateway, '/signed/v1/x')).status).toBe(200);
  });
});

describe('PUT of a key', () => {
  it('keeps its value', async () => {
    await createService(gateway, 'kept', origin.port, {
      app: { default_policy: { auth: { auth_type: 'api_key' } } },
    });
    const { id, token } = await gateway.must('POST', '/apps/kept/tokens', { name: 'k', scopes: ['a'] });
    const status = async (): Promise<number> =>
      (await request(gateway, '/kept/v1/x', { headers: { Authorization: `Bearer ${token}` } })).status;
    await gateway.must('PUT', `/apps/kept/tokens/${id}`, { name: 'k2' });
    expect(await status()).toBe(200);
    await gateway.must('PUT', `/apps/kept/tokens/${id}`, { name: 'k2', is_active: false });
    expect(await status()).toBe(401);
  });

  it('admin tokens have none: they are made and deleted', async () => {
    const { id } = await gateway.must('POST', ADMIN_TOKEN_CASE.collection, ADMIN_TOKEN_CASE.minimal);
    const answer = await gateway.api('PUT', `/admin/tokens/${id}`, ADMIN_TOKEN_CASE.minimal);
    expectProblem(answer, 'management_method_not_allowed');
  });
});

describe('a PATCH whose result does not hold', () => {
  it('names the field, and says so where the record had it before', async () => {
    const policy = { auth: { auth_type: 'jwt', jwt: { secret: SECRET } } };
    await gateway.must('POST', '/apps', {
      ...APP.minimal,
      slug: 'left',
      gateway_path: '/left',
      default_policy: policy,
    });
    const refused = await gateway.api('PATCH', '/apps/left', {
      default_policy: { auth: { auth_type: 'api_key' } },
    });
    const pointers = ['/default_policy/auth/jwt'];
    const { detail } = expectProblem(refused, 'validation_failed', { pointers });
    expect(detail).toContain('the record already has this value, and null removes it');
    const changed = await gateway.must('PATCH', '/apps/left', {
      default_policy: { auth: { auth_type: 'api_key', jwt: null } },
    });
    expect(changed.default_policy).toEqual({ auth: { auth_type: 'api_key' } });
  });

  it('an unknown field deep inside is 422 by its pointer', async () => {
    const answer = await gateway.api('PATCH', '/apps/base', {
      default_policy: { rate_limit: { request: 5 } },
    });
    expectProblem(answer, 'validation_failed', { pointers: ['/default_policy/rate_limit/request'] });
  });
});
