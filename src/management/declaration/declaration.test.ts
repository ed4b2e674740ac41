import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readDocument } from '../../declaration/yaml-reader.ts';
import { writeYaml } from '../../declaration/yaml-writer.ts';
import { configurations, SAMPLE_SECRET as SECRET } from './configurations.fixture.ts';
import { startManagement, type Fixture, type Json, type Reply } from '../management.fixture.ts';

let api: Fixture;
beforeEach(async () => {
  api = await startManagement();
});
afterEach(() => api[Symbol.asyncDispose]());

const dump = async (from: Fixture = api, query = ''): Promise<Json> =>
  (await from.get(`/config${query}`)).body.data.config;
const apply = (config: unknown, rest: object = {}, to: Fixture = api): Promise<Reply> =>
  to.post('/config/apply', { config, ...rest });
const plan = (config: unknown, rest: object = {}): Promise<Reply> =>
  api.post('/config/plan', { config, ...rest });
const summary = (reply: Reply): string[] =>
  reply.body.data.changes.map((change: Json) => `${change.change} ${change.type} ${change.path.join(' ')}`);

const BILLING = {
  gateway_path: '/billing',
  versions: {
    v1: {
      revisions: {
        r1: {
          backend_host: '127.0.0.1',
          backend_scheme: 'http',
          is_current: true,
          endpoints: { 'GET /invoices': {}, 'POST /invoices/{id}': { is_active: false } },
        },
      },
    },
  },
  keys: { mobile: { scopes: ['invoices:read'] } },
};

describe('a declared configuration', () => {
  it('is applied, shown without defaults and ids, and then equals the present configuration', async () => {
    const applied = await apply({ apps: { billing: BILLING } });
    expect(applied.status).toBe(200);
    expect(summary(applied)).toEqual([
      'create app billing',
      'create version billing v1',
      'create revision billing v1 r1',
      'create endpoint billing v1 r1 GET /invoices',
      'create endpoint billing v1 r1 POST /invoices/{id}',
      'create key billing mobile',
    ]);
    const [key] = applied.body.data.created_keys;
    expect(key).toMatchObject({ app: 'billing', name: 'mobile' });
    expect(key.token).toMatch(/^hgk_/);
    expect(await dump()).toEqual({ apps: { billing: BILLING } });
    const again = await apply({ apps: { billing: BILLING } });
    expect(again.body).toMatchObject({
      message: 'Nothing to change',
      data: { changes: [], created_keys: [] },
    });
  });

  it('shows targets without what is at its default, and a Unix socket without a port', async () => {
    const targets = [
      { host: '10.0.0.1' },
      { host: 'unix:/run/a', weight: 1 },
      { host: '10.0.0.2', port: 80 },
    ];
    const config = {
      apps: {
        billing: { gateway_path: '/billing', versions: { v1: { revisions: { r1: { targets } } } } },
      },
    };
    expect((await apply(config)).status).toBe(200);
    expect(await dump()).toEqual(config);
    expect(summary(await plan(config))).toEqual([]);
  });

  it('says what a plan would change, and changes nothing', async () => {
    await apply({ apps: { billing: BILLING } });
    const before = await dump();
    const { versions, ...rest } = BILLING;
    const planned = await plan({
      apps: { billing: { ...rest, description: 'x', versions: { v2: {}, ...versions } } },
    });
    expect(summary(planned)).toEqual(['update app billing', 'create version billing v2']);
    expect(planned.body.data.changes[0].fields).toEqual({ description: { before: null, after: 'x' } });
    expect(planned.body.data).not.toHaveProperty('created_keys');
    expect(await dump()).toEqual(before);
  });

  it('leaves alone what it does not name: other apps, and the keys of apps that name none', async () => {
    await apply({ apps: { billing: BILLING, orders: { gateway_path: '/orders' } } });
    const { keys: _keys, ...withoutKeys } = BILLING;
    expect((await apply({ apps: { billing: withoutKeys } })).body.message).toBe('Nothing to change');
    const withNoKeys = await apply({ apps: { billing: { ...BILLING, keys: {} } } });
    expect(summary(withNoKeys)).toEqual(['delete key billing mobile']);
  });

  it('deletes what an app, a version or a revision leaves out', async () => {
    await apply({ apps: { billing: BILLING } });
    const { r1 } = BILLING.versions.v1.revisions;
    const fewer = {
      ...BILLING,
      versions: { v1: { revisions: { r1: { ...r1, endpoints: { 'GET /invoices': null } } } } },
    };
    expect(summary(await apply({ apps: { billing: fewer } }))).toEqual([
      'delete endpoint billing v1 r1 POST /invoices/{id}',
    ]);
    expect(summary(await apply({ apps: { billing: { gateway_path: '/billing' } } }))).toEqual([
      'delete version billing v1',
    ]);
  });

  it('deletes no more than it may', async () => {
    await apply({ apps: { billing: BILLING } });
    const refused = await apply({ apps: { billing: { gateway_path: '/billing' } } }, { max_deletes: 2 });
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toBe(
      'Would delete 4 records, first the version billing v1; max_deletes allows 2',
    );
    expect(await dump()).toEqual({ apps: { billing: BILLING } });
  });

  it('swaps paths between apps and versions, and gives a deleted app’s path to a new one', async () => {
    const two = (a: string, b: string) => ({
      apps: {
        a: { gateway_path: a, versions: { v1: {}, v2: { gateway_path: `${a}/two` } } },
        b: { gateway_path: b, versions: { v1: {}, v2: { gateway_path: `${b}/two` } } },
      },
    });
    await apply({ owner: 'x', ...two('/a', '/b') });
    const swapped = await apply({ owner: 'x', ...two('/b', '/a') });
    expect(swapped.status).toBe(200);
    expect(await dump()).toEqual({
      apps: {
        a: { labels: { owner: 'x' }, ...two('/b', '/a').apps.a },
        b: { labels: { owner: 'x' }, ...two('/b', '/a').apps.b },
      },
    });
    const renamed = await apply({
      owner: 'x',
      apps: { a: two('/b', '/a').apps.a, c: two('/b', '/a').apps.b },
    });
    expect(summary(renamed).slice(0, 2)).toEqual(['delete app b', 'create app c']);
    expect(Object.keys((await dump()).apps)).toEqual(['a', 'c']);
  });

  it('swaps hosts between apps of one path, also with an app without hosts', async () => {
    const app = (hosts: readonly string[]) => ({
      gateway_path: '/p',
      ...(hosts.length > 0 && { hosts }),
      versions: { v1: {}, v2: { gateway_path: '/two' } },
    });
    const three = (a: readonly string[], b: readonly string[], c: readonly string[]) => ({
      apps: { a: app(a), b: app(b), c: app(c) },
    });
    const states = [
      three(['a.test', '*.a.test'], ['b.test'], []),
      three([], ['a.test'], ['*.a.test', 'b.test']),
      three(['b.test'], [], ['a.test']),
      three(['a.test'], ['c.test'], []),
    ];
    for (const state of states) {
      expect((await apply(state)).status).toBe(200);
      expect(await dump()).toEqual(state);
      expect((await apply(state)).body.message).toBe('Nothing to change');
    }
    const spelled = three(['A.Test.'], ['c.test'], []);
    expect((await apply(spelled)).body.message).toBe('Nothing to change');
    const clash = await apply(three(['a.test'], ['c.test', 'a.test'], []));
    expect([clash.status, clash.body.errors]).toEqual([
      409,
      [
        {
          pointer: '/config/apps/b/gateway_path',
          detail: '"/p" is already taken by the app "a" at the host "a.test"',
        },
      ],
    ]);
    const both = await apply(three(['a.test'], [], []));
    expect([both.status, both.body.errors[0].detail]).toEqual([409, '"/p" is already taken by the app "c"']);
    expect(await dump()).toEqual(states.at(-1));
    const moved = { apps: { ...states.at(-1)?.apps, c: { ...app(['c.test']), gateway_path: '/q' } } };
    expect((await apply(moved)).body.errors[0].pointer).toBe('/config/apps/c/hosts');
  });

  it('swaps the paths of two versions of an app, and follows a moved app', async () => {
    const versions = (one: string, two: string) => ({ v1: { gateway_path: one }, v2: { gateway_path: two } });
    await apply({ apps: { a: { gateway_path: '/a', versions: { ...versions('/x', '/y'), v3: {} } } } });
    const moved = { gateway_path: '/b', versions: { ...versions('/y', '/x'), v3: {} } };
    expect((await apply({ apps: { a: moved } })).status).toBe(200);
    expect((await api.get('/apps/a/versions/v3')).body.data.gateway_path).toBe('/b/v3');
    expect((await apply({ apps: { a: moved } })).body.message).toBe('Nothing to change');
  });

  it('takes successors in any order, also in a circle', async () => {
    const versions = {
      v1: { status: 'deprecated', successor: 'v2' },
      v2: { successor: 'v3' },
      v3: { successor: 'v1' },
    };
    const applied = await apply({ apps: { a: { gateway_path: '/a', versions } } });
    expect(applied.status).toBe(200);
    expect(summary(applied)).toHaveLength(4);
    expect((await apply({ apps: { a: { gateway_path: '/a', versions } } })).body.message).toBe(
      'Nothing to change',
    );
    const dangling = await apply({ apps: { a: { gateway_path: '/a', versions: { v1: versions.v1 } } } });
    expect(dangling.body.errors).toEqual([
      {
        pointer: '/config/apps/a/versions/v1/successor',
        detail: 'must be another version of the app; the app has no version "v2"',
      },
    ]);
  });

  it('touches only apps of its owner', async () => {
    await apply({ owner: 'team-a', apps: { a: { gateway_path: '/a' }, b: { gateway_path: '/b' } } });
    await apply({ apps: { free: { gateway_path: '/free' } } });
    const foreign = await apply({
      owner: 'team-b',
      apps: { a: { gateway_path: '/a' }, free: { gateway_path: '/free' } },
    });
    expect(foreign.status).toBe(409);
    expect(foreign.body.errors).toEqual([
      {
        pointer: '/config/apps/a',
        detail: 'has the owner "team-a"; an apply changes it only with adopt (option --adopt)',
      },
      {
        pointer: '/config/apps/free',
        detail: 'has no owner; an apply changes it only with adopt (option --adopt)',
      },
    ]);
    const fewer = await apply({ owner: 'team-a', apps: { a: { gateway_path: '/a' } } });
    expect(summary(fewer)).toEqual(['delete app b']);
    const adopted = await apply({ owner: 'team-b', apps: { a: { gateway_path: '/a' } } }, { adopt: true });
    expect(summary(adopted)).toEqual(['update app a']);
    expect(Object.keys((await dump(api, '?owner=team-b')).apps)).toEqual(['a']);
  });

  it('without an owner prunes apps without one, when it is asked to', async () => {
    await apply({ owner: 'team-a', apps: { a: { gateway_path: '/a' } } });
    await apply({ apps: { b: { gateway_path: '/b' }, c: { gateway_path: '/c' } } });
    expect(summary(await apply({ apps: { b: { gateway_path: '/b' } } }, { prune: true }))).toEqual([
      'delete app c',
    ]);
    expect(Object.keys((await dump()).apps)).toEqual(['a', 'b']);
  });

  it('is refused when the configuration has moved since the plan', async () => {
    const planned = await plan({ apps: { billing: BILLING } });
    const { base_version } = planned.body.data;
    await api.post('/apps', { name: 'O', slug: 'orders', gateway_path: '/orders' });
    const refused = await apply({ apps: { billing: BILLING } }, { base_version });
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain('since then: app.create orders by environment');
    const { token } = (await api.post('/admin/tokens', { name: 'e', role: 'editor' })).body.data;
    const told = await api.post('/config/apply', { config: { apps: {} }, base_version }, { token });
    expect(told.body.detail).not.toContain('since then');
    expect((await apply({ apps: { billing: BILLING } }, { base_version, rebase: true })).status).toBe(200);
  });

  it('is one config version, and leaves each change in the audit log', async () => {
    const before = (await api.get('/config')).body.data.config_version;
    await apply({ apps: { billing: BILLING } }, { message: 'goes live' });
    expect((await api.get('/config')).body.data.config_version).toBe(before + 1);
    const { data } = (await api.get('/audit?order=newest_first&limit=20')).body;
    const mine = data.filter((entry: Json) => entry.config_version === before + 1);
    expect(mine.map((entry: Json) => entry.action).sort()).toEqual([
      'app.create',
      'config.apply',
      'endpoint.create',
      'endpoint.create',
      'revision.create',
      'token.create',
      'version.create',
    ]);
    expect(mine.find((entry: Json) => entry.action === 'config.apply').change).toMatchObject({
      create: 6,
      message: 'goes live',
    });
  });

  it('keeps secrets by their handles, and does not move them to another place', async () => {
    const secret = 'a-secret-of-at-least-32-characters-here';
    const policy = { auth: { auth_type: 'jwt', jwt: { secret } } };
    await apply({ apps: { a: { gateway_path: '/a', default_policy: policy }, b: { gateway_path: '/b' } } });
    const shown = await dump();
    const handle = '${sealed:/apps/a/default_policy/auth/jwt/secret}';
    expect(shown.apps.a.default_policy.auth.jwt.secret).toBe(handle);
    expect(JSON.stringify(shown)).not.toContain(secret);
    expect((await apply(shown)).body.message).toBe('Nothing to change');
    const changed = { ...shown.apps.a, description: 'x' };
    expect(summary(await apply({ apps: { a: changed } }))).toEqual(['update app a']);
    expect((await api.repository.read((reader) => reader.findApp('a')))?.default_policy).toEqual(policy);

    const refused = async (app: string, item: object): Promise<string> =>
      (await apply({ apps: { [app]: { gateway_path: `/${app}`, ...item } } })).body.errors[0].detail;
    expect(await refused('a', { description: handle })).toContain(
      'must not contain the handle of a stored secret',
    );
    expect(await refused('b', { default_policy: shown.apps.a.default_policy })).toContain(
      'names a secret of another app',
    );
    const missing = {
      auth: { auth_type: 'jwt', jwt: { secret: '${sealed:/apps/b/default_policy/auth/jwt/secret}' } },
    };
    expect(await refused('b', { default_policy: missing })).toContain(
      'names a secret that is not stored here',
    );
  });

  it('names the place of what is wrong', async () => {
    const errors = async (app: object): Promise<Json> =>
      (await apply({ apps: { a: { gateway_path: '/a', ...app } } })).body.errors;
    expect(await errors({ gateway_pth: '/x' })).toEqual([
      { pointer: '/config/apps/a/gateway_pth', detail: 'is not a known field; did you mean "gateway_path"?' },
    ]);
    const inRevision = { versions: { v1: { revisions: { r1: { backend_host: 'x y' } } } } };
    expect(await errors(inRevision)).toMatchObject([
      { pointer: '/config/apps/a/versions/v1/revisions/r1/backend_host' },
    ]);
    const inEndpoint = {
      versions: { v1: { revisions: { r1: { backend_host: 'x', endpoints: { 'GET /a~{': {} } } } } },
    };
    expect(await errors(inEndpoint)).toMatchObject([
      { pointer: '/config/apps/a/versions/v1/revisions/r1/endpoints/GET ~1a~0{/path' },
    ]);
    const badLabel = {
      versions: { v1: { revisions: { r1: { backend_host: 'x', endpoints: { 'FETCH /a': {} } } } } },
    };
    expect(await errors(badLabel)).toMatchObject([
      {
        detail:
          'is not an allowed key: it must be GET, POST, PUT, PATCH, DELETE or *, a space, and a path such as "/items/{id}"',
      },
    ]);
    expect(await dump()).toEqual({ apps: {} });
  });

  it('labels keys that share a name by the ends of their ids, and keeps each what it is', async () => {
    await apply({ apps: { a: { gateway_path: '/a' } } });
    for (const scopes of [['admin'], ['read']]) await api.post('/apps/a/tokens', { name: 'k', scopes });
    const shown = await dump();
    const labels = Object.keys(shown.apps.a.keys);
    expect(labels).toEqual([expect.stringMatching(/^k \([0-9a-f]{6}\)$/), expect.stringMatching(/^k \(/)]);
    expect((await apply(shown)).body.message).toBe('Nothing to change');
    const keysOf = async (): Promise<Json[]> => (await api.get('/apps/a/tokens')).body.data;
    const [older, newer] = await keysOf();
    await api.delete(`/apps/a/tokens/${older.id}`);
    const again = await apply(shown);
    expect(summary(again)).toEqual([expect.stringMatching(/^create key a k \(/)]);
    expect((await keysOf()).find(({ id }) => id === newer.id)).toMatchObject({ scopes: ['read'] });
    expect((await apply(shown)).body.message).toBe('Nothing to change');
  });

  it('keeps a key that is declared under another label than its name', async () => {
    const declared = { apps: { a: { gateway_path: '/a', keys: { mobile: { name: 'Mobile app' } } } } };
    expect(summary(await apply(declared))).toContain('create key a mobile');
    expect((await apply(declared)).body.message).toBe('Nothing to change');
  });

  it('leaves keys alone that have expired, declared or not', async () => {
    const expires_at = new Date(api.clock.nowMs() + 1_000).toISOString();
    const declared = { apps: { a: { gateway_path: '/a', keys: { k: { expires_at } } } } };
    await apply(declared);
    api.clock.advance(2_000);
    expect((await apply(declared)).body.message).toBe('Nothing to change');
    expect((await apply({ apps: { a: { gateway_path: '/a', keys: {} } } })).body.message).toBe(
      'Nothing to change',
    );
    expect((await dump()).apps.a).not.toHaveProperty('keys');
  });

  it('can be planned by viewers and applied by editors', async () => {
    const make = async (role: string): Promise<string> =>
      (await api.post('/admin/tokens', { name: role, role })).body.data.token;
    const viewer = { token: await make('viewer') };
    const editor = { token: await make('editor') };
    const body = { config: { apps: { billing: BILLING } } };
    expect((await api.post('/config/plan', body, viewer)).status).toBe(200);
    expect((await api.post('/config/apply', body, viewer)).status).toBe(403);
    expect((await api.post('/config/apply', body, editor)).status).toBe(200);
    expect((await api.get('/config', viewer)).status).toBe(200);
  });

  it('does not confirm a secret that a viewer guesses: a secret in the clear always counts as changed', async () => {
    const viewer = (await api.post('/admin/tokens', { name: 'v', role: 'viewer' })).body.data.token;
    const item = (secret: string, rest: object = {}) => ({
      apps: {
        a: {
          gateway_path: '/a',
          default_policy: { auth: { auth_type: 'jwt', jwt: { secret } } },
          ...rest,
        },
      },
    });
    await apply(item(SECRET));
    const asked = async (config: unknown): Promise<Json> => {
      const { body } = await api.post('/config/plan', { config }, { token: viewer });
      return [body.message, body.data.changes];
    };
    const [right, wrong] = [await asked(item(SECRET)), await asked(item(SECRET.replace('a-', 'b-')))];
    expect(right).toEqual(wrong);
    expect(right[1]).toHaveLength(1);
    const more = { description: 'x' };
    expect(await asked(item(SECRET, more))).toEqual(await asked(item(SECRET.replace('a-', 'b-'), more)));
    // A handle is what is stored, and editors may know.
    const handle = '${sealed:/apps/a/default_policy/auth/jwt/secret}';
    expect(await asked(item(handle))).toEqual(['Nothing to change', []]);
    const [, changes] = await asked(item(handle, more));
    expect(Object.keys(changes[0].fields)).toEqual(['description']);
    expect((await plan(item(SECRET))).body.message).toBe('Nothing to change');
    expect(await dump()).toEqual(item(handle));
  });

  it('names in the audit log the keys that go with a deleted app', async () => {
    await apply({
      owner: 'x',
      apps: { a: { gateway_path: '/a', keys: { one: {}, two: {} } }, b: { gateway_path: '/b' } },
    });
    await apply({ owner: 'x', apps: { b: { gateway_path: '/b' } } });
    const { data } = (await api.get('/audit?action=app.delete')).body;
    expect(data[0].change).toEqual({
      cascade: true,
      below: 2,
      keys: ['one', 'two'].map((name) => ({ id: expect.any(String), name })),
    });
    await api.post('/apps/b/tokens', { name: 'three' });
    await api.delete('/apps/b?cascade=true');
    const last = (await api.get('/audit?action=app.delete&order=newest_first')).body.data[0];
    expect(last.change).toEqual({ cascade: true, keys: [{ id: expect.any(String), name: 'three' }] });
  });
});

describe('any configuration', () => {
  it('an applied dump is no change, two dumps have the same bytes, and an empty gateway becomes the same', async () => {
    await fc.assert(
      fc.asyncProperty(configurations, async (apps) => {
        await using first = await startManagement();
        await using second = await startManagement();
        const made = await apply({ apps }, {}, first);
        expect(made.status, made.text).toBe(200);
        const yaml = writeYaml(await dump(first));
        expect(writeYaml(await dump(first))).toBe(yaml);
        const read = readDocument('dump.yaml', new TextEncoder().encode(yaml));
        if (!('locate' in read)) throw new Error(JSON.stringify(read));
        expect((await apply(read.value, {}, first)).body.data.changes).toEqual([]);
        expect((await apply({ apps }, {}, first)).body.data.changes).toEqual([]);
        // Secrets do not travel; everything else is the same.
        const elsewhere = JSON.parse(JSON.stringify(read.value), (_name, value: unknown) =>
          typeof value === 'string' && value.startsWith('${sealed:') ? SECRET : value,
        ) as unknown;
        const copied = await apply(elsewhere, {}, second);
        expect(copied.status, copied.text).toBe(200);
        expect(writeYaml(await dump(second))).toBe(yaml);
      }),
      { numRuns: 20 },
    );
  }, 120_000);

  it('is reached from any other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(configurations, { minLength: 2, maxLength: 4 }), async (states) => {
        await using gateway = await startManagement();
        for (const apps of states) {
          const owned = Object.fromEntries(
            Object.entries(apps).map(([slug, item]) => [
              slug,
              { ...item, labels: { team: 'a' }, keys: item.keys ?? {} },
            ]),
          );
          const reply = await apply({ owner: 'x', apps: owned }, { max_deletes: 1_000 }, gateway);
          expect(reply.status, reply.text).toBe(200);
          const shown = await dump(gateway);
          await using fresh = await startManagement();
          await apply({ owner: 'x', apps: owned }, {}, fresh);
          expect(shown).toEqual(await dump(fresh));
        }
      }),
      { numRuns: 4 },
    );
  }, 120_000);
});
