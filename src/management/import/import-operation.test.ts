import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sharedManagement, verdict, type Json, type Reply } from '../management.fixture.ts';

const api = await sharedManagement();
const DOCUMENT = {
  openapi: '3.0.3',
  info: { title: 'Shop', version: '2.4' },
  servers: [{ url: 'https://shop.internal/base' }],
  paths: { '/orders': { get: {}, head: {} }, '/orders/{id}': { $ref: '#/components/pathItems/Order' } },
  components: { pathItems: { Order: { get: {} } } },
};
const imported = (fields: object): Promise<Reply> => api.post('/import/openapi', { app: 'shop', ...fields });

describe('POST /import/openapi', () => {
  it('answers a configuration that a plan takes, and what is not in it, and writes nothing', async () => {
    const { status, body } = await imported({ document: DOCUMENT });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ operations: 3 - 1, base_version: 0, notes_total: 1 });
    expect(body.data.notes).toEqual(['HEAD /orders: the endpoint of GET also serves HEAD']);
    const { shop } = body.data.config.apps;
    expect(shop).toMatchObject({ name: 'Shop', gateway_path: '/shop' });
    expect(shop.versions.v2.revisions.r1).toMatchObject({ backend_host: 'shop.internal', is_current: true });
    expect(Object.keys(shop.versions.v2.revisions.r1.endpoints)).toEqual(['GET /orders', 'GET /orders/{id}']);
    expect(api.published).toEqual([]);
    const plan = await api.post('/config/plan', { config: body.data.config });
    expect(plan.body.data.changes).toHaveLength(5);
    expect((await api.get('/apps')).body.data).toEqual([]);
  });

  it('builds on the app as it is, and on the options', async () => {
    const options = { version: 'v9', revision: 'blue', backend: 'http://127.0.0.1:9' };
    const first = await imported({ document: JSON.stringify(DOCUMENT), ...options, gateway_path: '/s' });
    const applied = await api.post('/config/apply', { config: first.body.data.config });
    expect(applied.status).toBe(200);
    const smaller = { ...DOCUMENT, paths: { '/orders': { post: {} } } };
    const { body } = await imported({ document: smaller, version: 'v9', revision: 'blue' });
    expect(body.data.base_version).toBe(applied.body.data.config_version ?? 1);
    const { shop } = body.data.config.apps;
    expect(shop.gateway_path).toBe('/s');
    expect(shop.versions.v9.revisions.blue).toMatchObject({
      backend_port: 9,
      endpoints: { 'POST /orders': {}, 'GET /orders': { is_active: false } },
    });
  });

  it('does not replace an app that was created after the conversion', async () => {
    const { config, base_version } = (await imported({ app: 'raced', document: DOCUMENT })).body.data;
    await api.post('/apps', { name: 'Mine', slug: 'raced', gateway_path: '/raced' });
    const refused = await api.post('/config/apply', { config, base_version });
    expect(refused.status).toBe(409);
    expect((await api.get('/apps/raced')).body.data.name).toBe('Mine');
  });

  it('takes YAML as text', async () => {
    const document =
      'swagger: "2.0"\ninfo: {title: T, version: "1"}\nhost: a.test\npaths:\n  /a: {get: {}}\n';
    const { body } = await imported({ document });
    expect(body.data.config.apps.shop.versions.v1.revisions.r1).toMatchObject({
      backend_host: 'a.test',
      endpoints: { 'GET /a': {} },
    });
  });

  const ALIASES = `a: &a [x, x, x, x, x, x, x, x, x]
${Array.from('bcdefghi', (name, at) => `${name}: &${name} [${`*${'abcdefgh'[at]}, `.repeat(9)}]`).join('\n')}
openapi: 3.1.0`;

  it.each<[string, () => Json, string]>([
    ['an alias bomb', () => ALIASES, '/document'],
    ['a deep text', () => `{"openapi":"3.1.0","a":${'['.repeat(300)}${']'.repeat(300)}}`, '/document'],
    [
      'aliases that stand for much',
      () => `openapi: 3.1.0\na: &a [${'1,'.repeat(1_000)}]\nb: [${'*a,'.repeat(1_500)}]`,
      '/document',
    ],
    ['much YAML', () => `openapi: 3.1.0\n# ${'x'.repeat(600_000)}`, '/document'],
    ['no JSON', () => '{"openapi":', '/document'],
    ['no description', () => ({ hello: 1 }), '/document'],
    ['no object', () => null, '/document'],
    ['no backend', () => ({ ...DOCUMENT, servers: [] }), '/backend'],
  ])('refuses %s', async (_what, document, pointer) => {
    const startMs = performance.now();
    expect(verdict(await imported({ document: document() }))).toEqual([422, 'validation_failed', [pointer]]);
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });

  it.each<[string, Json]>([
    [
      'a server with many slashes',
      { ...DOCUMENT, servers: [{ url: `http://shop.internal/${'/'.repeat(2_000_000)}x` }] },
    ],
    [
      'ways to authenticate that nothing can carry over, of many operations',
      {
        ...DOCUMENT,
        security: Array.from({ length: 5_000 }, (_, at) => ({ [`scheme-${at}`]: [] })),
        paths: Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`/p${at}`, { get: {} }])),
      },
    ],
    [
      'scopes of many operations',
      {
        ...DOCUMENT,
        components: { securitySchemes: { oauth: { type: 'oauth2' } } },
        security: [{ oauth: Array.from({ length: 100_000 }, (_, at) => `scope-${at}`) }],
        paths: Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`/p${at}`, { get: {} }])),
      },
    ],
  ])('takes time that grows with the length: %s', async (_what, document) => {
    const startMs = performance.now();
    const { status, text } = await imported({ document, security: true });
    expect([status, text.length < 4_000_000]).toEqual([200, true]);
    expect(performance.now() - startMs).toBeLessThan(8_000);
  });

  it('does not treat a label as a member that all objects inherit', async () => {
    const first = await imported({ document: DOCUMENT });
    await api.post('/config/apply', { config: first.body.data.config });
    for (const name of ['constructor', 'valueOf', 'toString']) {
      const { body } = await imported({ document: DOCUMENT, version: name, revision: name });
      expect(body.data.config.apps.shop.versions[name].revisions[name]).toMatchObject({
        backend_host: 'shop.internal',
        is_current: true,
      });
    }
  });

  it('makes client certificates of mutualTLS, and says which file is wanted', async () => {
    const document = {
      ...DOCUMENT,
      components: { securitySchemes: { 'partner certs': { type: 'mutualTLS' } } },
      security: [{ 'partner certs': [] }, {}],
    };
    const { body } = await imported({ document, security: true });
    const [version] = Object.values<Json>(body.data.config.apps.shop.versions);
    const [revision] = Object.values<Json>(version.revisions);
    expect(revision.default_policy.auth).toEqual({
      auth_type: 'mtls',
      required: false,
      mtls: { ca: 'partner-certs' },
    });
    expect(JSON.stringify(body.data.notes)).toContain('partner-certs.crt');
  });

  it.each<[string, Json]>([
    ['the name of a scheme in place of an object', ['token']],
    ['an object in place of a list', { token: [] }],
    ['a name alone', 'token'],
    ['no scopes', [{ token: null }]],
  ])('asks for credentials where the description does so with %s', async (_what, security) => {
    const document = {
      ...DOCUMENT,
      paths: { '/orders': { get: { security } } },
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    };
    const { body } = await imported({ document, security: true });
    const endpoint = body.data.config.apps.shop.versions.v2.revisions.r1.endpoints['GET /orders'];
    expect(endpoint).toEqual({ policy_override: { auth: { auth_type: 'api_key' } } });
    const left = await imported({ document });
    expect(left.body.data.notes).toEqual([expect.stringMatching(/^security: left out/)]);
  });

  it('says first that operations stay open whose credentials have no counterpart, or cannot be read', async () => {
    const asked = [[{ basic: [] }], [{ token: { read: true } }], [null]];
    const paths = Object.fromEntries(
      asked.map((security, at) => [`/${'abc'[at]}`, { head: {}, get: { security } }]),
    );
    const securitySchemes = {
      basic: { type: 'http', scheme: 'basic' },
      token: { type: 'http', scheme: 'bearer' },
    };
    const document = { ...DOCUMENT, paths: { ...paths, orders: {} }, components: { securitySchemes } };
    const { notes } = (await imported({ document, security: true })).body.data;
    expect(notes[0]).toBe(
      'security: every client may call 3 operations whose credentials cannot be carried over; give the app a policy with "auth"',
    );
    expect(notes.filter((note: string) => note.includes('no policy was set'))).toHaveLength(3);
    expect(notes).toContain('orders: is no path, because it does not start with "/"');
    const open = { ...document, security: [{ token: [] }] };
    expect((await imported({ document: open, security: true })).body.data.notes[0]).not.toContain('security');
  });

  it('ends where references go round, and reads no other document', async () => {
    const items = { A: { $ref: '#/components/pathItems/B' }, B: { $ref: '#/components/pathItems/A' } };
    const paths = { '/a': { $ref: '#/components/pathItems/A' }, '/b': { $ref: 'http://127.0.0.1:9/x.yaml' } };
    const { body } = await imported({ document: { ...DOCUMENT, paths, components: { pathItems: items } } });
    expect(body.data).toMatchObject({ operations: 0, notes_total: 2 });
  });

  it('is for editors, and takes 4 MiB', async () => {
    const { token } = (await api.post('/admin/tokens', { name: 'v', role: 'viewer' })).body.data;
    const refused = await api.post('/import/openapi', { app: 'shop', document: DOCUMENT }, { token });
    expect(refused.status).toBe(403);
    const description = 'x'.repeat(3_000_000);
    const large = { ...DOCUMENT, info: { ...DOCUMENT.info, description } };
    expect((await imported({ document: large })).status).toBe(200);
    expect((await imported({ document: { ...large, more: description } })).status).toBe(413);
  });

  it('gives an answer for any parts of a description', async () => {
    const part = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom({ get: null }, [{}], [{ url: 1 }]));
    const description = fc.record(
      {
        openapi: fc.constantFrom('3.1.0', '3.0.0'),
        swagger: fc.constantFrom('2.0'),
        info: part,
        servers: part,
        security: part,
        components: part,
        definitions: part,
        parameters: part,
        paths: fc.oneof(part, fc.dictionary(fc.constantFrom('/a', '/a/{b}'), part)),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(description, fc.boolean(), async (document, security) => {
        const { status, text } = await imported({ document, security, backend: 'http://a.test' });
        // A key that no body may have.
        const isForbidden = JSON.stringify(document).includes('"__proto__":');
        expect(isForbidden ? [400] : [200, 422], text).toContain(status);
      }),
      { numRuns: 150 },
    );
  });
});
