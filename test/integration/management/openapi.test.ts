/**
 * Contract part 4 through the started program: the OpenAPI document that it serves is enough to write a client from.
 * Every operation is called through such a client, in a script that a deployment could be, and every answer, good or
 * bad, is what the document says.
 */
// oxlint-disable vitest/expect-expect -- the client asserts on every answer
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';
import { callPlain, NO_SUCH_ID } from '../../support/management.ts';
import { FULL_POLICY } from '../../support/data/management-resources.ts';
import {
  errorCodes,
  openApiClient,
  schemaErrors,
  type CallOptions,
  type OpenApiClient,
} from '../../support/clients/openapi-client.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { startWebhookReceiver } from '../../support/backends/webhook-receiver.ts';
import { openEvents } from '../../support/clients/event-stream.ts';
import { until } from '../../support/measure/until.ts';
import { request } from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
let client: OpenApiClient;
// oxlint-disable-next-line typescript/no-explicit-any -- documents are looked into freely by tests
let document: any;
beforeAll(async () => {
  // Each operation is called with a wrong token: more than an address may send in a minute.
  const env = {
    GATEWAY_SERVER__SWAGGER_ENABLED: 'true',
    GATEWAY_SERVER__AUTH_FAILURES_PER_MINUTE: '0',
    // Where no directory answers.
    GATEWAY_ACME__DIRECTORY: 'https://127.0.0.1:9/directory',
    GATEWAY_ACME__ACCEPT_TERMS: 'true',
    GATEWAY_PROXY__TLS__PORT: '0',
    GATEWAY_SECRET_KEY: 'ab'.repeat(32),
    GATEWAY_WEBHOOKS__RETRY_MAX_MS: '20',
    GATEWAY_WEBHOOKS__RETRY_MIN_MS: '10',
  };
  [gateway, origin] = await Promise.all([startGateway({ env }), startOrigin()]);
  document = (await callPlain(gateway, {}, 'GET', '/openapi.json')).body;
  client = openApiClient(document, gateway.base, ADMIN_TOKEN);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const app = { app_id: 'billing' };
const version = { ...app, version_id: 'v1' };
const revision = { ...version, revision_id: 'r1' };

describe('the document', () => {
  it('is OpenAPI 3.1, served as JSON without a token', async () => {
    const answer = await callPlain(gateway, {}, 'GET', '/openapi.json');
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.body.openapi).toMatch(/^3\.1\.\d+$/);
    expect(answer.body.info).toMatchObject({ title: expect.any(String), version: expect.any(String) });
  });

  it('spec 4: has every operation of the contract', () => {
    const has = (method: string, path: string): boolean =>
      client.operations.some((each) => each.method === method && each.path === `/api/v1${path}`);
    const below = '/apps/{app_id}/versions/{version_id}/revisions';
    const one = `${below}/{revision_id}`;
    for (const [method, path] of [
      ['GET', '/health'],
      ['POST', '/apps'],
      ['POST', '/apps/{app_id}/versions'],
      ['PATCH', '/apps/{app_id}/versions/{version_id}'],
      ['POST', below],
      ['PATCH', one],
      ['POST', `${one}/activate`],
      ['POST', `${one}/endpoints`],
      ['GET', `${one}/endpoints`],
      ['PATCH', `${one}/endpoints/{endpoint_id}`],
      ['POST', '/apps/{app_id}/tokens'],
    ] as const) {
      expect(has(method, path), `${method} ${path}`).toBe(true);
    }
  });

  it('its own schemas refuse what they should, so that the checks below mean something', async () => {
    const errors = schemaErrors(document);
    const schema = { $ref: '#/components/schemas/AppEnvelope' };
    const good = await gateway.api('POST', '/apps', { name: 'x', slug: 'sample', gateway_path: '/sample' });
    expect(errors(schema, good.body)).toEqual([]);
    for (const bad of [
      { ...good.body, extra: 1 },
      { ...good.body, status: '201' },
      { ...good.body, data: { ...good.body.data, id: 'x' } },
      { ...good.body, data: { ...good.body.data, routing_mode: 'other' } },
      { ...good.body, data: { ...good.body.data, created_at: 'today' } },
      { ...good.body, data: { ...good.body.data, default_policy: { nonsense: 1 } } },
      { status: 201, message: 'x' },
    ]) {
      expect(errors(schema, bad)).not.toEqual([]);
    }
    await gateway.must('DELETE', '/apps/sample');
  });
});

describe('a client made from the document', () => {
  it('does the whole work, and every answer is as documented', async () => {
    const { call } = client;
    const ok = async (operationId: string, options?: CallOptions): Promise<ReturnType<typeof JSON.parse>> => {
      const answer = await call(operationId, options);
      expect([operationId, answer.status < 300], JSON.stringify(answer.body)).toEqual([operationId, true]);
      return answer.body.data;
    };
    expect((await ok('getHealth')).db).toBe('ok');
    await ok('getLiveness');
    await ok('getReadiness');
    await ok('getOpenApi');
    await ok('getMetrics');

    const input = { name: 'Billing', slug: 'billing', gateway_path: '/billing', default_policy: FULL_POLICY };
    await ok('createApp', { body: input });
    await ok('getApp', { params: app });
    await ok('listApps', { query: { limit: '10' } });
    await ok('updateApp', {
      params: app,
      body: { default_policy: null, labels: { team: 'a' }, routing_mode: 'managed_endpoint' },
    });
    const renamed = { name: 'Invoices', slug: 'billing', gateway_path: '/billing' };
    await ok('replaceApp', { params: app, body: { ...renamed, routing_mode: 'managed_endpoint' } });
    await ok('createVersion', { params: app, body: { version: 'v1' } });
    await ok('replaceVersion', { params: version, body: { version: 'v1', status: 'active' } });
    await ok('getVersion', { params: version });
    await ok('listVersions', { params: app });
    await ok('updateVersion', {
      params: version,
      body: { status: 'deprecated', sunset_at: '2099-01-01T00:00:00Z' },
    });

    const backend = { backend_scheme: 'http', backend_host: '127.0.0.1', backend_port: origin.port };
    await ok('createRevision', {
      params: version,
      body: { revision: 'r1', ...backend, default_policy: FULL_POLICY },
    });
    await ok('getRevision', { params: revision });
    await ok('listRevisions', { params: version });
    await ok('updateRevision', { params: revision, body: { traffic_weight: 10, default_policy: null } });
    await ok('replaceRevision', { params: revision, body: { revision: 'r1', ...backend } });
    await ok('activateRevision', { params: revision });
    await ok('activateRevision', { params: revision, body: { exclusive: true } });
    await ok('setTraffic', { params: version, body: { r1: 10 } });
    await ok('getTraffic', { params: version });
    await ok('getRevisionBreaker', { params: revision });
    await ok('getRevisionHealth', { params: revision });
    await ok('getAppEffectivePolicy', { params: app });
    await ok('getRevisionEffectivePolicy', { params: revision });

    const { id: endpoint_id } = await ok('createEndpoint', {
      params: revision,
      body: { method: 'GET', path: '/invoices/{id}', policy_override: { auth: { auth_type: 'api_key' } } },
    });
    const endpoint = { ...revision, endpoint_id };
    await ok('replaceEndpoint', {
      params: endpoint,
      body: { method: 'GET', path: '/invoices/{id}', policy_override: { auth: { auth_type: 'api_key' } } },
    });
    await ok('getEndpoint', { params: endpoint });
    await ok('listEndpoints', { params: revision });
    await ok('updateEndpoint', { params: endpoint, body: { backend_path: '/inner/{id}' } });
    await ok('getEndpointEffectivePolicy', { params: endpoint });

    const created = await ok('createToken', { params: app, body: { name: 'mobile', scopes: ['read'] } });
    const token = { ...app, token_id: created.id };
    const rotated = await ok('rotateToken', { params: token, body: { overlap_secs: 60 } });
    await ok('rotateToken', { params: token, body: {} });
    await ok('getToken', { params: token });
    await ok('listTokens', { params: app });
    await ok('replaceToken', { params: token, body: { name: 'mobile', scopes: ['read'] } });
    await ok('updateToken', { params: token, body: { is_active: true, rate_limit: { enabled: false } } });
    expect(rotated.token).not.toBe(created.token);
    const fresh = await ok('rotateToken', { params: token });
    const headers = { Authorization: `Bearer ${fresh.token}` };
    const response = await request(gateway, '/billing/v1/invoices/7', { headers });
    expect([response.status, JSON.parse(response.body).url]).toEqual([200, '/inner/7']);
    expect((await ok('introspectToken', { body: { token: fresh.token } })).active).toBe(true);
    expect((await ok('introspectToken', { body: { token: 'hgk_none' } })).active).toBe(false);
    const days = { from: '2026-01-01', to: '2026-12-31' };
    expect((await ok('getTokenUsage', { params: token, query: days })).from).toBe(days.from);
    await ok('getTokenUsage', { params: token });

    await ok('updateEndpoint', { params: endpoint, body: { policy_override: { shadow: ['auth'] } } });
    expect((await request(gateway, '/billing/v1/invoices/7')).status).toBe(200);
    expect((await ok('getShadowReport', { params: app, query: { part: 'auth' } })).rows).toHaveLength(1);
    await ok('resetShadowReport', { params: app });

    await ok('startSampling', { body: { app: 'billing', rate: 0.5, seconds: 60 } });
    await ok('getSampling', {});
    const sampled = await request(gateway, '/billing/v1/invoices/7');
    await ok('explainExchange', { params: { request_id: sampled.headers['x-request-id'] ?? '' } });
    await ok('stopSampling', {});
    await ok('getSampling', {});
    const described = { method: 'GET', url: '/billing/v1/invoices/7', headers: { Accept: ['a', 'b'] } };
    await ok('explainRequest', { body: { ...described, token: fresh.token, body_bytes: 0 } });
    await ok('explainRequest', { body: { method: 'GET', url: '/nowhere' } });
    const debug = await ok('createDebugToken', { body: { seconds: 60 } });
    await ok('listDebugTokens', {});
    await ok('deleteDebugToken', { params: { debug_token_id: debug.id as string } });

    const admin = await ok('createAdminToken', { body: { name: 'ci', role: 'viewer' } });
    const admin_token_id = { admin_token_id: admin.id as string };
    await ok('getAdminToken', { params: admin_token_id });
    await ok('listAdminTokens', { query: { limit: '500' } });
    await ok('listApps', { token: admin.token });
    await ok('getSignInOptions', { token: null });
    const signedIn = await client.call('signIn', { token: null, body: { token: admin.token } });
    expect(signedIn.status).toBe(201);
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const browser = { Cookie: cookie, 'X-CSRF-Token': signedIn.body.data.csrf_token };
    expect((await ok('getCurrentSession', {})).via).toBe('token');
    await ok('getCurrentSession', { token: null, headers: browser });
    const [session] = await ok('listSessions', { token: null, headers: browser });
    await ok('signOut', { token: null, headers: browser });
    expect((await client.call('revokeSession', { params: { session_id: session.id } })).status).toBe(404);
    await ok('signIn', { token: null, body: { token: admin.token } });
    const [another] = await ok('listSessions', {});
    await ok('revokeSession', { params: { session_id: another.id } });
    await ok('listAuditEntries', { query: { limit: '3' } });
    await ok('listNodes', {});
    await ok('getState', {});
    const certified = { name: 'c', slug: 'certified', gateway_path: '/certified', hosts: ['c.test'] };
    const { id: certified_id } = await ok('createApp', { body: certified });
    await ok('listCertificates', { query: { limit: '3' } });
    await ok('renewCertificate', { params: { name: 'c.test' } });
    await ok('deleteApp', { params: { app_id: certified_id } });
    const refusing = await startWebhookReceiver(() => 400);
    const hook = await ok('createWebhook', {
      body: { name: 'hook', url: `http://127.0.0.1:${refusing.port}/` },
    });
    const webhook_id = hook.id as string;
    await ok('getWebhook', { params: { webhook_id } });
    await ok('listEvents', { query: { limit: '5', type: 'config.*' } });
    await ok('listWebhooks', { query: { limit: '3' } });
    await ok('replaceWebhook', {
      params: { webhook_id },
      body: { name: 'hook', url: `http://127.0.0.1:${refusing.port}/` },
    });
    await ok('updateWebhook', { params: { webhook_id }, body: { events: ['config.*'] } });
    await ok('rotateWebhook', { params: { webhook_id }, body: { overlap_secs: 60 } });
    await ok('testWebhook', { params: { webhook_id } });
    for (const path of ['/one', '/two']) {
      await ok('updateApp', { params: app, body: { description: path } });
    }
    const letters = await until(async () => {
      const found = await ok('listDeadLetters', { params: { webhook_id }, query: { limit: '5' } });
      return found.length > 1 && found;
    });
    const event_id = letters[0].event.id as string;
    await ok('listWebhookDeliveries', {});
    await ok('resendDeadLetter', { params: { webhook_id, event_id } });
    await ok('resendDeadLetters', { params: { webhook_id } });
    await ok('deleteDeadLetter', { params: { webhook_id, event_id } });
    await ok('deleteDeadLetters', { params: { webhook_id } });
    await ok('deleteWebhook', { params: { webhook_id } });
    await refusing.close();
    await ok('tryRequest', { body: { method: 'GET', path: '/billing/v1/invoices' } });
    await ok('getAppTree', { params: app, query: { limit: '10' } });
    await ok('search', { query: { q: 'bill' } });
    await ok('getSettings', { query: { changed: 'true' } });
    await ok('listProblems', {});
    await ok('listSecrets', {});
    await ok('rekeySecrets', {});
    await ok('getStats', { query: { app: 'billing', window: '24h', step: '3600' } });
    await ok('getStatsTop', { query: { by: 'route', app: 'billing', limit: '5' } });
    await ok('getConfigSchema', {});
    await ok('getConfigFile', {});
    await ok('backupConfig', {});
    await ok('createProfile', { body: { kind: 'cpu', seconds: 1 } });
    const { config } = await ok('getConfig', { query: { app: 'billing' } });
    await ok('planConfig', { body: { config } });
    await ok('applyConfig', { body: { config } });
    const document = { openapi: '3.1.0', info: { title: 'S', version: '1' }, paths: { '/a': { get: {} } } };
    await ok('importOpenApi', { body: { app: 'billing', document, backend: 'http://127.0.0.1:1' } });
    await ok('bisectConfig', { body: { request: { method: 'GET', url: '/billing/v1' } } });
    await ok('explainVersions', { body: { request: { method: 'GET', url: '/billing/v1' } } });
    await ok('watchTraffic', { query: { app: 'billing' } });
    const stream = await openEvents(`${gateway.base}/api/v1/live`, ADMIN_TOKEN);
    await until(() => stream.of('status').length > 0);
    await fetch(`${gateway.proxy}/billing/v1/invoices`);
    await until(() => stream.of('exchange').length > 0);
    await ok('explainLiveExchange', { params: { live_id: stream.of('exchange')[0].id } });
    stream.close();
    const { config_version: now } = await ok('getConfig', { query: { version: '1' } });
    expect(now).toBe(1);
    const [latest] = await ok('listConfigVersions', { query: { limit: '5', app: 'billing' } });
    const config_version = String(latest.config_version);
    await ok('getConfigVersion', { params: { config_version }, query: { limit: '1' } });
    await ok('diffConfigVersions', { query: { from: '1', to: config_version } });
    await ok('rollbackConfig', { params: { config_version }, body: { dry_run: true, delete_keys: true } });
    await ok('rollbackConfig', { params: { config_version }, body: { message: 'nothing to do' } });
    const operations = [
      { id: 'read', method: 'GET', path: '/api/v1/apps/billing' },
      { method: 'PATCH', path: '/api/v1/apps/${read.id}', body: { description: 'of ${read.slug}' } },
    ];
    await ok('runTransaction', { body: { operations } });
    await ok('runTransaction', { query: { dry_run: 'true' }, body: { operations } });

    const query = { dry_run: 'true' };
    await ok('updateApp', { params: app, query, body: { default_policy: FULL_POLICY } });
    await ok('createEndpoint', { params: revision, query, body: { method: 'PUT', path: '/invoices' } });
    await ok('updateToken', { params: token, query, body: { rate_limit: null, scopes: [] } });
    await ok('deactivateRevision', { params: revision, query });
    await ok('deleteVersion', { params: version, query: { ...query, cascade: 'true' } });

    await ok('deactivateRevision', { params: revision });
    await ok('deleteAdminToken', { params: admin_token_id });
    await ok('deleteToken', { params: token });
    await ok('deleteEndpoint', { params: endpoint });
    await ok('deleteRevision', { params: revision });
    await ok('deleteVersion', { params: version });
    await ok('deleteApp', { params: app });

    const untouched = client.operations
      .map(({ operationId }) => operationId)
      .filter((id) => ![...client.answered].some((answer) => answer.startsWith(`${id} 2`)));
    expect(untouched).toEqual([]);
  });

  it('gets a documented answer for every mistake, of every operation', async () => {
    const { token: viewer } = await gateway.must('POST', '/admin/tokens', { name: 'v', role: 'viewer' });
    for (const { operationId, operation, path } of client.operations) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
      const params = Object.fromEntries(names.map((name) => [name, NO_SUCH_ID]));
      const isPublic = operation.security?.length === 0;
      const needsBody = operation.requestBody?.required === true;
      const attempt = async (expected: number | undefined, options: CallOptions): Promise<void> => {
        const { status } = await client.call(operationId, { params, ...options });
        if (expected !== undefined) expect([operationId, status]).toEqual([operationId, expected]);
      };
      if (!needsBody) await attempt(400, { query: { nonsense: '1' } });
      if (!isPublic) {
        await attempt(401, { token: null });
        await attempt(401, { token: 'wrong' });
        // Those of a transaction need the roles of its operations.
        const needsRole = errorCodes(operation).includes('forbidden') && operationId !== 'runTransaction';
        if (needsRole) await attempt(403, { token: viewer });
      }
      if (operation.requestBody === undefined) {
        if (names.length > 0) await attempt(404, {});
        continue;
      }
      const json = 'application/json';
      await attempt(400, { raw: { text: '{"a":1,"a":2}', type: json } });
      const text = operationId === 'setTraffic' ? '{"r1":-1}' : '{"nonsense":1}';
      await attempt(422, { raw: { text, type: json } });
      await attempt(415, { raw: { text: 'x', type: 'text/plain' } });
      // A refusal of a far larger body ends the connection before all of it is sent.
      const takesMore = /^(?:planConfig|applyConfig|runTransaction|importOpenApi)$/.test(operationId);
      if (!takesMore) await attempt(413, { raw: { text: ' '.repeat(1_048_577), type: json } });
      const { example } = operation.requestBody.content[json];
      expect(example, `${operationId} has an example`).toBeDefined();
      if (names.length > 0) await attempt(404, { body: example });
    }
  });

  it('gets documented answers for conflicts and preconditions, too', async () => {
    const { call } = client;
    const input = { name: 'Billing', slug: 'billing', gateway_path: '/billing' };
    const first = await call('createApp', { body: input });
    expect((await call('createApp', { body: input })).status).toBe(409);
    await call('createVersion', { params: app, body: { version: 'v1' } });
    expect((await call('createVersion', { params: app, body: { version: 'v1' } })).status).toBe(409);
    expect((await call('deleteApp', { params: app })).status).toBe(409);
    const stale = { headers: { 'If-Match': '"old"' } };
    expect((await call('updateApp', { params: app, body: {}, ...stale })).status).toBe(412);
    expect((await call('deleteApp', { params: app, query: { cascade: 'true' }, ...stale })).status).toBe(412);
    const headers = { 'If-None-Match': first.headers.get('etag') ?? '' };
    expect((await call('getApp', { params: app, headers })).status).toBe(304);
    expect((await call('listApps', { query: { limit: '501' } })).status).toBe(400);
    expect((await call('deleteApp', { params: app, query: { cascade: 'true' } })).status).toBe(204);
  });

  it('can send every documented example', async () => {
    const { call } = client;
    const example = (operationId: string): unknown =>
      client.operations.find((each) => each.operationId === operationId)?.operation.requestBody.content[
        'application/json'
      ].example;
    const created = await call('createApp', { body: example('createApp') });
    expect(created.status).toBe(201);
    const params = { app_id: created.body.data.id as string, version_id: 'v1', revision_id: 'r1' };
    for (const [operationId, status] of [
      ['replaceApp', 200],
      ['updateApp', 200],
      ['createVersion', 201],
      ['updateVersion', 200],
      ['createRevision', 201],
      ['updateRevision', 200],
      ['activateRevision', 200],
      ['createEndpoint', 201],
      ['createToken', 201],
      ['createAdminToken', 201],
      ['createWebhook', 201],
    ] as const) {
      const answer = await call(operationId, { params, body: example(operationId) });
      expect([operationId, answer.status], JSON.stringify(answer.body)).toEqual([operationId, status]);
    }
    await call('deleteApp', { params, query: { cascade: 'true' } });
  });

  it('what the document does not have, the program does not serve', async () => {
    const known = new Set(client.operations.map(({ method, path }) => `${method} ${path}`));
    const paths = new Set(client.operations.map(({ path }) => path));
    for (const path of paths) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        if (known.has(`${method} ${path}`)) continue;
        const target = `/${path.replaceAll(/\{\w+\}/g, NO_SUCH_ID)}`;
        expect((await gateway.api(method, target)).status, `${method} ${path}`).toBe(405);
      }
    }
  });
});

describe('the explorer', () => {
  it('spec 1: is at /swagger-ui/ when GATEWAY_SERVER__SWAGGER_ENABLED is true', async () => {
    const page = await fetch(`${gateway.base}/swagger-ui/`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const html = await page.text();
    const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(
      ([, asset]) => new URL(asset ?? '', page.url),
    );
    expect(assets.length).toBeGreaterThan(3);
    for (const asset of assets) {
      expect(asset.host, 'nothing comes from elsewhere').toBe(new URL(gateway.base).host);
      expect((await fetch(asset)).status, asset.pathname).toBe(200);
    }
  });

  it('without its slash leads there', async () => {
    const answer = await fetch(`${gateway.base}/swagger-ui`);
    expect([answer.status, new URL(answer.url).pathname.startsWith('/swagger-ui')]).toEqual([200, true]);
    expect(await answer.text()).toContain('swagger-ui');
  });
});
