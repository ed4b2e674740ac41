import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startManagement, type Fixture, type Json } from '../../../management/management.fixture.ts';
import { headgate, type Outcome } from '../../cli.fixture.ts';

let api: Fixture;
let folder: string;
beforeEach(async () => {
  api = await startManagement();
  folder = mkdtempSync(join(tmpdir(), 'headgate-import-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await api[Symbol.asyncDispose]();
});

const run = (document: unknown, ...flags: string[]): Promise<Outcome> =>
  headgate(api, ['import', 'openapi', '-', '--app', 'shop', ...flags], {}, JSON.stringify(document));
const shop = async (): Promise<Json> => (await api.get('/config?app=shop')).body.data.config.apps.shop;
const endpointsOf = async (): Promise<Json> => (await shop()).versions.v2.revisions.r1.endpoints;

const SHOP = {
  openapi: '3.0.3',
  info: { title: 'Shop', version: '2.4.1' },
  servers: [{ url: 'http://{host}:8000/base', variables: { host: { default: 'shop.internal' } } }],
  security: [{ token: ['orders:read'] }],
  paths: {
    '/orders': { get: {}, post: { security: [{ token: ['orders:write'] }] }, head: {} },
    '/orders/{id}': { $ref: '#/components/pathItems/Order' },
    '/health': { get: { security: [] } },
    '/search': { get: { security: [{}, { key: [] }, { cookie: [] }] } },
    '/reports/{name}.csv': { get: {} },
    '/carts/{cart.id}': { get: {} },
    '/carts/{other}': { get: {} },
    '/elsewhere': { $ref: 'https://example.com/paths.yaml' },
    '/secret': { get: { security: [{ cookie: [] }] } },
    'x-internal': {},
  },
  components: {
    pathItems: { Order: { get: {}, delete: { security: [{ key: [] }, { token: [] }] } } },
    securitySchemes: {
      token: { type: 'oauth2', flows: {} },
      key: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      cookie: { type: 'apiKey', in: 'cookie', name: 'session' },
    },
  },
};

describe('headgate import openapi', () => {
  it('plans endpoints and says what could not be carried over', async () => {
    const { code, out, err } = await run(SHOP);
    expect([code, err]).toEqual([2, '']);
    expect(out).toContain('  + endpoint  shop  v2  r1  DELETE /orders/{id}\n');
    expect(out).toContain('HEAD /orders: the endpoint of GET also serves HEAD');
    expect(out).toContain('/elsewhere: its path item is in another document, which is not read');
    expect(out).toMatch(
      /GET \/reports\/\{name\}\.csv: no endpoint can have this path \(the segment .*\); the nearest alternative is a "\*" segment/,
    );
    expect(out).toContain(
      'GET /carts/{other}: left out, because GET /carts/{cart_id} matches the same requests',
    );
    expect((await api.get('/apps')).body.data).toEqual([]);
  });

  it('says first that operations would be open to every client, unless a policy or --security protects them', async () => {
    const note =
      'Not carried over:\n  security: left out, so every client may call operations that require credentials in the description; import with "security" (--security), or give the app a policy with "auth"\n';
    expect((await run(SHOP)).out).toContain(note);
    expect(
      (await run({ ...SHOP, security: undefined, paths: { '/health': { get: {} } } })).out,
    ).not.toContain('security:');
    expect((await run(SHOP, '--security')).out).not.toContain('security: left out');
    await run(SHOP, '--apply');
    expect((await run(SHOP)).out).toContain(note);
    await api.patch('/apps/shop', { default_policy: { auth: { auth_type: 'api_key' } } });
    expect((await run(SHOP)).out).not.toContain('security: left out');
  });

  it('names the configuration of other gateways, wherever it is', async () => {
    const { out } = await run({
      ...SHOP,
      'x-tyk-api-gateway': { upstream: { url: 'http://orders.internal' } },
      'x-logo': { url: 'logo.png' },
      paths: {
        '/a': { 'x-kong-plugin-key-auth': {}, get: { 'x-amazon-apigateway-integration': {} } },
        '/b': { get: { 'x-amazon-apigateway-integration': {}, 'x-codegen': 'b' } },
      },
    });
    expect(out.match(/x-.*/g)).toEqual(
      ['x-tyk-api-gateway', 'x-kong-plugin-key-auth', 'x-amazon-apigateway-integration'].map(
        (name) => `${name}: is configuration of another gateway, which is not read`,
      ),
    );
  });

  it.each(['/config?app=shop', '/config/plan'])(
    'does not replace an app that another user creates right after %s',
    async (path) => {
      const mine = { name: 'Mine', slug: 'shop', gateway_path: '/mine' };
      await using relay = await relayTo(api, async (called) => {
        if (called === `/api/v1${path}`) await api.post('/apps', mine);
      });
      const outcome = await headgate(
        relay,
        ['import', 'openapi', '-', '--app', 'shop', '--apply'],
        {},
        JSON.stringify(SHOP),
      );
      expect(outcome.code).toBe(1);
      expect(outcome.err).toMatch(
        /^(?:The app "shop" was created meanwhile. Nothing was changed|The plan was made on config version 0, but 1 is in force)/,
      );
      expect(await shop()).toEqual({ name: 'Mine', gateway_path: '/mine' });
    },
  );

  it('makes a managed app with a backend from the first server', async () => {
    const { code } = await run(SHOP, '--apply');
    expect(code).toBe(0);
    const { gateway_path, name, routing_mode, versions } = await shop();
    expect([gateway_path, name, routing_mode]).toEqual(['/shop', 'Shop', 'managed_endpoint']);
    expect(versions.v2.revisions.r1).toMatchObject({
      backend_scheme: 'http',
      backend_host: 'shop.internal',
      backend_port: 8000,
      backend_base_path: '/base',
      is_current: true,
    });
    expect(Object.keys(await endpointsOf())).toEqual([
      'DELETE /orders/{id}',
      'GET /carts/{cart_id}',
      'GET /health',
      'GET /orders',
      'GET /orders/{id}',
      'GET /search',
      'GET /secret',
      'POST /orders',
    ]);
  });

  it('carries security over, the common one to the revision', async () => {
    const { out } = await run(SHOP, '--apply', '--security');
    const { r1 } = (await shop()).versions.v2.revisions;
    expect(r1.default_policy).toEqual({ auth: { auth_type: 'jwt' }, required_scopes: ['orders:read'] });
    expect(r1.endpoints).toMatchObject({
      'GET /orders': {},
      'POST /orders': { policy_override: { auth: { auth_type: 'jwt' }, required_scopes: ['orders:write'] } },
      'GET /health': { policy_override: { auth: { auth_type: 'none' }, required_scopes: [] } },
      'DELETE /orders/{id}': {
        policy_override: { auth: { auth_type: 'api_key', in: 'X-API-Key' }, required_scopes: [] },
      },
      'GET /search': {
        policy_override: { auth: { auth_type: 'api_key', in: 'X-API-Key', required: false } },
      },
    });
    expect(r1.endpoints['GET /orders']).toEqual({});
    expect(out).toContain('GET /secret: the security cookie cannot be carried over');
    expect(out).toContain('DELETE /orders/{id}: the first supported one of 2 ways to authenticate was used');
  });

  it('imported again changes only what the document changed, and disables what is gone', async () => {
    await run(SHOP, '--apply', '--security');
    expect((await run(SHOP, '--security')).out).toContain('Nothing to change.');
    const revision = '/apps/shop/versions/v2/revisions/r1';
    const { data } = (await api.get(`${revision}/endpoints`)).body;
    const orders = data.find((endpoint: Json) => endpoint.path === '/orders' && endpoint.method === 'GET');
    const limit = { enabled: true, requests: 5, window_seconds: 60 };
    await api.patch(`${revision}/endpoints/${orders.id}`, { policy_override: { rate_limit: limit } });
    await api.patch(revision, { traffic_weight: 7 });
    await api.post('/apps/shop/tokens', { name: 'mobile' });
    const { '/health': _gone, ...paths } = SHOP.paths;
    const changed = { ...SHOP, paths: { ...paths, '/new': { get: {} } } };
    const { out } = await run(changed, '--apply', '--security');
    expect(out).toContain('1 created, 1 updated, 0 deleted.');
    const endpoints = await endpointsOf();
    expect(endpoints['GET /orders'].policy_override).toEqual({ rate_limit: limit });
    expect(endpoints['GET /health'].is_active).toBe(false);
    expect((await shop()).versions.v2.revisions.r1.traffic_weight).toBe(7);
    await run(SHOP, '--apply', '--security');
    expect((await endpointsOf())['GET /health'].is_active).toBeUndefined();
    expect((await endpointsOf())['GET /new'].is_active).toBe(false);
  });

  it('protects a route again that the description no longer leaves open', async () => {
    await run(SHOP, '--apply', '--security');
    await run({ ...SHOP, paths: { ...SHOP.paths, '/health': { get: {} } } }, '--apply', '--security');
    expect((await endpointsOf())['GET /health']).toEqual({});
  });

  it('says that a reference with a broken percent-encoding leads nowhere, and follows one that is a name', async () => {
    const paths = {
      '/broken': { $ref: '#/components/pathItems/%E0%A4%A' },
      '/named': { $ref: '#/components/pathItems/100%' },
    };
    const components = { pathItems: { '100%': { get: {} } } };
    const { code, out, err } = await run({ ...SHOP, paths, components });
    expect([code, err]).toEqual([2, '']);
    expect(out).toContain('/broken: its path item');
    expect(out).toContain('GET /named\n');
  });

  it('reads Swagger 2.0, and writes a file without a gateway', async () => {
    const swagger = {
      swagger: '2.0',
      info: { title: 'Pets', version: '1' },
      host: 'pets.example.com',
      basePath: '/v1',
      schemes: ['https'],
      paths: { '/pets': { get: { responses: {} } } },
    };
    const out = join(folder, 'pets.yaml');
    const flags = ['--app', 'pets', '--out', out, '--api-version', 'v1', '--gateway-path', '/animals'];
    const env = { HEADGATE_TOKEN: '', HEADGATE_SERVER: 'http://127.0.0.1:1' };
    const file = join(folder, 'swagger.json');
    writeFileSync(file, JSON.stringify(swagger));
    const outcome = await headgate(api, ['import', 'openapi', file, ...flags], env);
    expect(outcome).toMatchObject({ code: 0, err: '' });
    expect(readFileSync(out, 'utf8')).toBe(`apps:
  pets:
    name: Pets
    gateway_path: /animals
    routing_mode: managed_endpoint
    versions:
      v1:
        revisions:
          r1:
            backend_host: pets.example.com
            backend_base_path: /v1
            is_current: true
            endpoints:
              GET /pets: {}
`);
    expect((await headgate(api, ['config', 'validate', out], env)).code).toBe(0);
  });

  it('writes texts that look like references so that the file has them as they are', async () => {
    const out = join(folder, 'pets.yaml');
    const described = { openapi: '3.1.0', info: { title: 'Pets ${env:SECRET}', version: '1' }, paths: {} };
    const flags = ['--app', 'pets', '--out', out, '--backend', 'https://pets.example.com'];
    const run = await headgate(api, ['import', 'openapi', '-', ...flags], {}, JSON.stringify(described));
    expect(run).toMatchObject({ code: 0, err: '' });
    expect((await headgate(api, ['config', 'apply', out], {})).code).toBe(0);
    expect((await api.get('/apps/pets')).body.data.name).toBe('Pets ${env:SECRET}');
  });

  it.each([
    ['{', 'Cannot read -: '],
    ['[]', 'Cannot import -: it is not an object'],
    [
      '{"swagger_version": "2.0"}',
      'Cannot import -: it has neither `openapi` nor `swagger`, which name the format',
    ],
    ['{"openapi": "4.0"}', 'Cannot import -: it is not OpenAPI 2.0, 3.0 or 3.1 (openapi: 4.0)'],
    [
      '{"openapi": "3.1.0", "servers": [{"url": "/v1"}], "paths": {}}',
      'names no server with a host; pass --backend',
    ],
    [`${'['.repeat(300)}${']'.repeat(300)}`, 'Cannot read -: it is nested'],
  ])('says plainly why it cannot import %s', async (text, message) => {
    const { code, err } = await headgate(api, ['import', 'openapi', '-', '--app', 'shop'], {}, text);
    expect(code).toBe(1);
    expect(err).toContain(message);
  });
});

/** The management API behind a server that tells which call it has answered, before the client has the answer. */
async function relayTo({ url }: Fixture, answered: (path: string) => Promise<void>) {
  const relay = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url: path = '', headers } = request;
    const body = method === 'GET' ? null : await text(request);
    const { authorization = '', 'content-type': type = '' } = headers;
    const answer = await fetch(new URL(path, url), {
      method,
      body,
      headers: { authorization, ...(type !== '' && { 'content-type': type }) },
    });
    const content = await answer.text();
    await answered(path);
    response
      .writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
      .end(content);
  };
  const server = createServer((request, response) => void relay(request, response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
