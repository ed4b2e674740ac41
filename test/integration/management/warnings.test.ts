/**
 * Warnings in answers: a write that is valid and surely not meant succeeds and says so, in its answer, in its dry
 * run and in effective-policy; and where traffic is concerned, what the warning foretells does happen.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CertificateMaker } from '../../support/programs/certificate-maker.ts';
import { WARNINGS } from '../../../src/policy/policy-warnings.ts';
import { startGateway, type Answer, type TestGateway } from '../../support/gateway.ts';
import { TLS_PAIR } from '../../support/clients/http2-client.ts';
import { SECRET } from '../../support/data/jwts.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import {
  createEndpoint,
  createService,
  request,
  revisionPath,
  versionPath,
  type Fields,
} from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
const seen = new Set<string>();
beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

/** `pointer code` of each warning; the members of the envelope and of the warnings are checked on the way. */
function warningsOf({ status, body }: Answer): string[] {
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  const { warnings } = body;
  if (warnings === undefined) {
    expect(Object.keys(body)).toEqual(['status', 'message', 'data']);
    return [];
  }
  expect(Object.keys(body)).toEqual(['status', 'message', 'data', 'warnings']);
  return warnings.map((each: Fields) => {
    expect(Object.keys(each)).toEqual(['pointer', 'code', 'detail']);
    expect(each['detail']).toMatch(/^[A-Z].*\. [A-Z]/);
    seen.add(String(each['code']));
    return `${each['pointer'] as string} ${each['code'] as string}`;
  });
}

/** What the dry run of a write warns of, and then the write itself, which must be the same. */
async function write(method: string, path: string, body?: unknown): Promise<string[]> {
  const tried = warningsOf(await gateway.api(method, `${path}?dry_run=true`, body));
  const written = warningsOf(await gateway.api(method, path, body));
  expect(tried, 'dry run').toEqual(written);
  return written;
}
const statusOf = async (path: string): Promise<number> => (await request(gateway, path)).status;
const service = (slug: string, fields: Parameters<typeof createService>[3] = {}) =>
  createService(gateway, slug, origin.port, fields);
const record = (slug: string, fields: Fields = {}): Fields => ({
  name: slug,
  slug,
  gateway_path: `/${slug}`,
  ...fields,
});

describe('policies', () => {
  it('rate_limit with numbers and without enabled: nothing is limited', async () => {
    await service('limited');
    const rate_limit = { requests: 2, window_seconds: 3600 };
    const pointer = '/default_policy/rate_limit/enabled';
    const expected = [`${pointer} rate_limit_not_enabled`];
    expect(await write('PATCH', '/apps/limited', { default_policy: { rate_limit } })).toEqual(expected);
    for (let sent = 0; sent < 4; sent++) expect(await statusOf('/limited/v1/x')).toBe(200);
    // A write that changes nothing is about the same record.
    expect(await write('PATCH', '/apps/limited', {})).toEqual(expected);
    for (const enabled of [false, true]) {
      const patch = { default_policy: { rate_limit: { enabled } } };
      expect(await write('PATCH', '/apps/limited', patch)).toEqual([]);
    }
    const statuses = [];
    for (let sent = 0; sent < 3; sent++) statuses.push(await statusOf('/limited/v1/x'));
    expect(statuses).toEqual([200, 200, 429]);
  });

  it.each([
    ['an app', 'PATCH', () => '/apps/levels', 'default_policy'],
    ['a revision', 'PATCH', () => revisionPath('levels'), 'default_policy'],
    ['an endpoint', 'POST', () => `${revisionPath('levels')}/endpoints`, 'policy_override'],
  ])('of %s are pointed at', async (_what, method, path, field) => {
    if (method === 'PATCH' && path() === '/apps/levels') await service('levels');
    const body = { [field]: { rate_limit: { requests: 5, window_seconds: 1 } } };
    const endpoint = { method: 'GET', path: '/own', ...body };
    const found = await write(method, path(), method === 'POST' ? endpoint : body);
    expect(found).toEqual([`/${field}/rate_limit/enabled rate_limit_not_enabled`]);
  });

  it('an inherited value is reported where it was written, and by effective-policy', async () => {
    const { id } = await createEndpoint(gateway, 'levels', 'GET', '/plain');
    await gateway.must('PATCH', revisionPath('levels'), { default_policy: null });
    const endpoint = `${revisionPath('levels')}/endpoints/${id}`;
    expect(await write('PATCH', endpoint, { is_active: true })).toEqual([]);
    for (const path of [revisionPath('levels'), endpoint]) {
      expect(warningsOf(await gateway.api('GET', `${path}/effective-policy`))).toEqual([
        '/policy/rate_limit/enabled rate_limit_not_enabled',
      ]);
    }
  });

  it('JWT without keys: no token can be verified', async () => {
    await service('keyless');
    const auth = (jwt?: Fields): Fields => ({ default_policy: { auth: { auth_type: 'jwt', jwt } } });
    const expected = ['/default_policy/auth/jwt jwt_without_keys'];
    expect(await write('PATCH', '/apps/keyless', auth())).toEqual(expected);
    expect(await write('PATCH', '/apps/keyless', auth({ jwks: { keys: [] } }))).toEqual(expected);
    const secret = await gateway.api('PATCH', '/apps/keyless', auth({ jwks: null, secret: SECRET }));
    expect(warningsOf(secret)).toEqual([]);
    expect(JSON.stringify(secret.body)).not.toContain(SECRET);
  });

  it('JWT keys of the settings are keys', async () => {
    const other = await startGateway({ env: { GATEWAY_JWT__SECRET: SECRET } });
    try {
      const auth = { auth_type: 'jwt' };
      const body = record('by-setting', { default_policy: { auth } });
      expect(warningsOf(await other.api('POST', '/apps', body))).toEqual([]);
      const unfit = { default_policy: { auth: { jwt: { jwks: { keys: [] } } } } };
      expect(warningsOf(await other.api('PATCH', '/apps/by-setting', unfit))).toEqual([
        '/default_policy/auth/jwt jwt_without_keys',
      ]);
    } finally {
      await other.stop();
    }
  });

  it('required scopes that no key of the app has', async () => {
    await service('scoped');
    await service('neighbour');
    await gateway.must('POST', '/apps/neighbour/tokens', { name: 'k', scopes: ['read', 'write'] });
    const needs = (...required_scopes: string[]) => ({ default_policy: { required_scopes } });
    const expected = ['/default_policy/required_scopes scopes_without_holder'];
    expect(await write('PATCH', '/apps/scoped', needs('read', 'write'))).toEqual(expected);
    const token = { name: 'k', scopes: ['read'] };
    expect(await write('POST', '/apps/scoped/tokens', token)).toEqual(['/scopes scopes_without_holder']);
    const both = { name: 'k2', scopes: ['write', 'read'], is_active: false };
    const { id } = await gateway.must('POST', '/apps/scoped/tokens', both);
    expect(await write('PATCH', '/apps/scoped', needs('write', 'read')), 'disabled').toEqual(expected);
    expect(await write('PATCH', `/apps/scoped/tokens/${id}`, { is_active: true })).toEqual([]);
    expect(await write('PATCH', '/apps/scoped', needs('read', 'write'))).toEqual([]);
    expect(await write('PATCH', '/apps/scoped', needs())).toEqual([]);
  });

  it('scopes where no level sets an authentication', async () => {
    await service('open', { app: { default_policy: { required_scopes: ['read'] } } });
    await gateway.must('POST', '/apps/open/tokens', { name: 'k', scopes: ['read'] });
    const none = { default_policy: { auth: { auth_type: 'none' } } };
    const found = await write('PATCH', revisionPath('open'), none);
    expect(found).toEqual(['/default_policy/auth scopes_without_auth']);
    expect(await statusOf('/open/v1/x')).toBe(401);
    const off = { default_policy: { required_scopes: [] } };
    expect(await write('PATCH', revisionPath('open'), off)).toEqual([]);
    expect(await statusOf('/open/v1/x')).toBe(200);
  });

  it('limits per a caller that the route does not know, shadow of nothing, a method that is not allowed', async () => {
    await service('mixed', { app: { default_policy: { allowed_methods: ['GET'] } } });
    const endpoints = `${revisionPath('mixed')}/endpoints`;
    const post = { method: 'POST', path: '/a' };
    expect(await write('POST', endpoints, post)).toEqual(['/method endpoint_method_not_allowed']);
    const rate_limit = { enabled: true, requests: 9, window_seconds: 1, per: 'api_key' };
    const policy_override = {
      rate_limit,
      concurrency: { max: 1, per: 'claim:sub' },
      shadow: ['cors', 'rate_limit'],
    };
    expect(await write('POST', endpoints, { method: 'GET', path: '/b', policy_override })).toEqual([
      '/policy_override/concurrency/per limit_without_caller',
      '/policy_override/rate_limit/per limit_without_caller',
      '/policy_override/shadow/0 shadow_part_not_set',
    ]);
    const own = { method: 'PUT', path: '/b', policy_override: { allowed_methods: ['PATCH'] } };
    expect(await write('POST', endpoints, own)).toEqual([
      '/policy_override/allowed_methods endpoint_method_not_allowed',
    ]);
    const known = { auth: { auth_type: 'api_key' }, rate_limit };
    expect(await write('POST', endpoints, { method: 'GET', path: '/c', policy_override: known })).toEqual([]);
  });

  it('cors with settings and no origin', async () => {
    const off = { allowed_origins: [] };
    expect(await write('POST', '/apps', record('cors', { default_policy: { cors: off } }))).toEqual([]);
    const cors = { ...off, allow_credentials: true };
    expect(await write('PUT', '/apps/cors', record('cors', { default_policy: { cors } }))).toEqual([
      '/default_policy/cors/allowed_origins cors_without_origins',
    ]);
  });
});

describe('versions', () => {
  it('a sunset in the past, or of a version that is not deprecated', async () => {
    await service('sunset');
    const path = versionPath('sunset');
    const late = { status: 'deprecated', sunset_at: '2001-01-01T00:00:00Z' };
    expect(await write('PATCH', path, late)).toEqual(['/sunset_at sunset_in_past']);
    expect(await write('PATCH', path, { status: 'retired' })).toEqual([]);
    const active = { status: 'active', sunset_at: '2099-01-01T00:00:00Z' };
    expect(await write('PATCH', path, active)).toEqual(['/sunset_at sunset_not_deprecated']);
    expect(await write('PATCH', path, { status: 'deprecated' })).toEqual([]);
  });
});

describe('revisions', () => {
  const backend = () => ({ backend_scheme: 'http', backend_host: '127.0.0.1', backend_port: origin.port });
  const at = (slug: string, name = 'r1'): string => revisionPath(slug, 'v1', name);

  it('a current revision of a managed app without an active endpoint', async () => {
    await gateway.must('POST', '/apps', record('managed', { routing_mode: 'managed_endpoint' }));
    await gateway.must('POST', '/apps/managed/versions', { version: 'v1' });
    const first = { revision: 'r1', ...backend() };
    const idle = ['/is_current no_current_revision'];
    expect(await write('POST', `${versionPath('managed')}/revisions`, first)).toEqual(idle);
    const expected = ['/is_current no_active_endpoint'];
    expect(await write('POST', `${at('managed')}/activate`)).toEqual(expected);
    expect(await statusOf('/managed/v1/x')).toBe(404);
    expect(await write('PATCH', '/apps/managed', { name: 'M' })).toEqual([
      '/routing_mode no_active_endpoint',
    ]);
    expect(await write('POST', `${at('managed')}/endpoints`, { method: 'GET', path: '/x' })).toEqual([]);
    expect(await statusOf('/managed/v1/x')).toBe(200);
    expect(await write('POST', `${at('managed')}/activate`)).toEqual([]);
    const { body } = await gateway.api('GET', `${at('managed')}/endpoints`);
    const endpoint = `${at('managed')}/endpoints/${body.data[0].id}`;
    const dry = await gateway.api('DELETE', `${endpoint}?dry_run=true`);
    expect(warningsOf(dry), 'deleting the last one').toEqual([' no_active_endpoint']);
    expect(await write('PATCH', endpoint, { is_active: false })).toEqual(['/is_active no_active_endpoint']);
    expect(await write('PATCH', '/apps/managed', { routing_mode: 'pass_through' })).toEqual([]);
  });

  it('weights that are all 0, and a version that loses its last current revision', async () => {
    await service('weights');
    const path = at('weights');
    const zero = ['/traffic_weight all_weights_zero'];
    expect(await write('PATCH', path, { traffic_weight: 0 })).toEqual(zero);
    expect(await statusOf('/weights/v1/x')).toBe(503);
    const second = { revision: 'r2', ...backend(), is_current: true, traffic_weight: 5 };
    expect(await write('POST', `${versionPath('weights')}/revisions`, second)).toEqual([]);
    expect(await write('PATCH', path, { preserve_host: true }), 'others have weight').toEqual([]);
    const tried = await gateway.api('DELETE', `${at('weights', 'r2')}?dry_run=true`);
    expect(warningsOf(tried)).toEqual([' all_weights_zero']);
    expect(await write('POST', `${at('weights', 'r2')}/deactivate`)).toEqual(zero);
    const none = ['/is_current no_current_revision'];
    expect(await write('PUT', path, { revision: 'r1', ...backend() })).toEqual(none);
    expect(await statusOf('/weights/v1/x')).toBe(503);
    expect(await write('PATCH', path, { preserve_host: true }), 'was not current before').toEqual([]);
  });

  it('a first revision that is not current, and none beside one that is', async () => {
    await gateway.must('POST', '/apps', { name: 'first', slug: 'first', gateway_path: '/first' });
    await gateway.must('POST', '/apps/first/versions', { version: 'v1' });
    const revisions = `${versionPath('first')}/revisions`;
    const none = ['/is_current no_current_revision'];
    expect(await write('POST', revisions, { revision: 'r1', ...backend() })).toEqual(none);
    expect(await statusOf('/first/v1/x')).toBe(503);
    expect(await write('PATCH', at('first'), { preserve_host: true }), 'it is known').toEqual([]);
    expect(await write('POST', `${at('first')}/activate`)).toEqual([]);
    expect(await statusOf('/first/v1/x')).toBe(200);
    expect(await write('POST', revisions, { revision: 'r2', ...backend() })).toEqual([]);
  });

  it('current beside others with a weight that the call does not give', async () => {
    await service('joined');
    const revisions = `${versionPath('joined')}/revisions`;
    const current = { ...backend(), is_current: true };
    const shares = ['/traffic_weight shares_traffic'];
    const { body } = await gateway.api('POST', `${revisions}?dry_run=true`, { revision: 'r2', ...current });
    expect(body.warnings[0].detail).toContain(
      'The revision "r2" gets 50 % of the traffic of the version "v1"',
    );
    expect(await write('POST', revisions, { revision: 'r2', ...current })).toEqual(shares);
    expect(await write('PATCH', at('joined', 'r2'), { preserve_host: true }), 'it is known').toEqual([]);
    expect(await write('POST', revisions, { revision: 'r3', ...current, traffic_weight: 100 })).toEqual([]);
    await gateway.must('PUT', `${versionPath('joined')}/traffic`, { r1: 100 });
    expect(await write('POST', `${at('joined', 'r2')}/activate`)).toEqual(shares);
    await gateway.must('PUT', `${versionPath('joined')}/traffic`, { r1: 100 });
    expect(await write('PATCH', at('joined', 'r2'), { is_current: true })).toEqual(shares);
    await gateway.must('PUT', `${versionPath('joined')}/traffic`, { r1: 100 });
    expect(await write('POST', `${at('joined', 'r2')}/activate`, { exclusive: false })).toEqual([]);
    expect(await write('POST', `${at('joined', 'r3')}/activate`, { exclusive: true })).toEqual([]);
  });

  it('a split of the traffic: all weights 0, or to a revision without endpoints', async () => {
    await service('split', { app: { routing_mode: 'managed_endpoint' } });
    const revisions = `${versionPath('split')}/revisions`;
    await gateway.must('POST', revisions, { revision: 'r2', ...backend(), copy_endpoints_from: 'r1' });
    await createEndpoint(gateway, 'split', 'GET', '/x');
    const traffic = `${versionPath('split')}/traffic`;
    expect(await write('PUT', traffic, { r1: 90, r2: 10 })).toEqual(['/r2 no_active_endpoint']);
    expect(await write('PUT', traffic, { r1: 0 })).toEqual([' all_weights_zero']);
    expect(await write('PUT', traffic, { r1: 1 })).toEqual([]);
  });

  it('current in a retired version, and backends that cannot be meant', async () => {
    await service('retired', { version: { status: 'retired' } });
    const expected = ['/is_current version_is_retired'];
    expect(await write('POST', `${at('retired')}/activate`)).toEqual(expected);
    expect(await statusOf('/retired/v1/x')).toBe(410);
    const revisions = `${versionPath('retired')}/revisions`;
    const plain = { revision: 'r2', backend_host: 'billing.internal', backend_port: 80 };
    expect(await write('POST', revisions, plain)).toEqual(['/backend_port scheme_and_port_differ']);
    const odd = { ...plain, backend_scheme: 'http', backend_port: 443, backend_tls: { verify: false } };
    expect(await write('PUT', `${revisions}/r2`, odd)).toEqual([
      '/backend_port scheme_and_port_differ',
      '/backend_tls tls_settings_unused',
    ]);
    const strange = { ...plain, backend_port: 443, backend_tls: { client_certificate: 'billing' } };
    expect(await write('PUT', `${revisions}/r2`, strange)).toEqual([
      '/backend_tls/client_certificate client_certificate_missing',
    ]);
    const loose = { ...plain, backend_port: 443, backend_tls: { ca: TLS_PAIR.cert, verify: false } };
    expect(await write('PUT', `${revisions}/r2`, loose)).toEqual(['/backend_tls/verify authority_not_used']);
    expect(await write('PATCH', `${revisions}/r2`, { backend_tls: { verify: true } })).toEqual([]);
    const listed = { revision: 'r3', discovery: { type: 'file', path: 'billing.yaml' } };
    expect(await write('POST', revisions, listed)).toEqual(['/discovery discovery_folder_not_set']);
    const web = { ...plain, backend_port: 443, default_policy: { grpc_web: true } };
    expect(await write('PUT', `${revisions}/r2`, web)).toEqual(['/backend_protocol grpc_web_without_http2']);
    expect(await write('PUT', `${revisions}/r2`, { ...web, backend_protocol: 'auto' })).toEqual([]);
  });
});

describe('hosts', () => {
  it('a name within a wildcard of another app, at the same path', async () => {
    await service('narrow', { app: { gateway_path: '/host', hosts: ['a.host.test'] } });
    expect(
      await write('POST', '/apps', record('wide', { gateway_path: '/host', hosts: ['*.host.test'] })),
    ).toEqual([]);
    expect(await write('POST', '/apps/wide/versions', { version: 'v1' })).toEqual([
      '/gateway_path host_shadowed',
    ]);
    expect(await write('PATCH', '/apps/narrow', { description: 'x' })).toEqual(['/hosts host_shadowed']);
    expect(await write('PATCH', '/apps/narrow', { hosts: ['b.other.test'] })).toEqual([]);
    expect(await write('PATCH', '/apps/wide', { hosts: ['*.test'] })).toEqual(['/hosts host_shadowed']);
  });

  it('a host that no certificate has', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-warnings-'));
    for (const [name, text] of Object.entries(TLS_PAIR)) writeFileSync(join(folder, `${name}.pem`), text);
    const env = {
      GATEWAY_PROXY__TLS__CERT_FILE: join(folder, 'cert.pem'),
      GATEWAY_PROXY__TLS__KEY_FILE: join(folder, 'key.pem'),
    };
    const secure = await startGateway({ env });
    const made = (slug: string, hosts: string[]) => secure.api('POST', '/apps', record(slug, { hosts }));
    // The certificate is for localhost, 127.0.0.1 and backend.test.
    expect(warningsOf(await made('covered', ['localhost', 'backend.test']))).toEqual([]);
    expect(warningsOf(await made('uncovered', ['localhost', 'x.backend.test', '*.test']))).toEqual([
      '/hosts/1 host_without_certificate',
    ]);
    expect(warningsOf(await made('wildcard', ['localhost', '*.backend.test']))).toEqual([
      '/hosts/1 host_without_certificate',
    ]);
    const changed = await secure.api('PATCH', '/apps/covered', {
      hosts: ['x.backend.test', 'y.backend.test'],
    });
    expect(changed.body.warnings[0].detail).toContain(
      'has the name "x.backend.test", and the same is true for 1 more',
    );
    await secure.stop();
    rmSync(folder, { recursive: true });
  });
});

describe('client certificates', () => {
  it('trusted certificates that are not here, have expired or cannot be read, and a listener without TLS', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-warnings-'));
    const maker = new CertificateMaker();
    const root = maker.authority('root');
    writeFileSync(join(folder, 'good.crt'), root.cert);
    writeFileSync(join(folder, 'old.crt'), maker.authority('old', { days: -1 }).cert);
    writeFileSync(join(folder, 'listed.crt'), root.cert);
    writeFileSync(join(folder, 'listed.crl'), 'junk');
    writeFileSync(join(folder, 'late.crt'), root.cert);
    writeFileSync(join(folder, 'late.crl'), maker.revocationList(root, [], -1));
    const plain = await startGateway({ env: { GATEWAY_PROXY__CLIENT_CAS: folder } });
    const made = async (ca: string): Promise<string[]> => {
      const policy = { auth: { auth_type: 'mtls', mtls: { ca } } };
      return warningsOf(await plain.api('POST', '/apps', record(ca, { default_policy: policy })));
    };
    const pointer = '/default_policy/auth/mtls/ca';
    expect(await made('good')).toEqual([`${pointer} mtls_without_tls`]);
    const missing = [`${pointer} trusted_certificates_missing`, `${pointer} mtls_without_tls`];
    expect(await made('absent')).toEqual(missing);
    const broken = [`${pointer} trusted_certificates_problem`, `${pointer} mtls_without_tls`];
    for (const name of ['old', 'listed', 'late']) expect(await made(name), name).toEqual(broken);
    // Also what the node tells of itself.
    expect((await plain.api('GET', '//readyz')).body.data.reason).toMatch(
      /"old" expired.*listed\.crl: it has no revocation list|listed\.crl: it has no revocation list.*"old" expired/,
    );
    const problems: { code: string; detail: string }[] = await plain.must('GET', '/problems');
    expect(problems.find(({ code }) => code === 'trusted_certificates_unusable')?.detail).toBe(
      'Cannot use the file listed.crl: it has no revocation list. Until it can be used, the client certificates of listed.crt are refused',
    );
    const codes = problems.map(({ code }) => code).filter((code) => /cert|revoc/.test(code));
    expect(codes.toSorted()).toEqual([
      'certificate_expired',
      'revocation_list_overdue',
      'trusted_certificates_missing',
      'trusted_certificates_unusable',
    ]);
    await plain.stop();
    maker.remove();
    rmSync(folder, { recursive: true });
  });
});

describe('hosts whose certificates are ordered', () => {
  it('a wildcard, for which none is', async () => {
    const env = {
      GATEWAY_ACME__DIRECTORY: 'https://127.0.0.1:9/directory',
      GATEWAY_ACME__ACCEPT_TERMS: 'true',
      GATEWAY_ACME__NAMES: '*.shop.test',
      GATEWAY_PROXY__TLS__PORT: '0',
    };
    const ordering = await startGateway({ env: { ...env, GATEWAY_SECRET_KEY: 'ab'.repeat(32) } });
    const made = (slug: string, hosts: string[]) => ordering.api('POST', '/apps', record(slug, { hosts }));
    expect(warningsOf(await made('ordered', ['a.shop.test']))).toEqual([]);
    expect(warningsOf(await made('wild', ['b.shop.test', '*.shop.test', 'other.test']))).toEqual([
      '/hosts/1 host_wildcard_without_certificate',
      '/hosts/2 host_without_certificate',
    ]);
    await ordering.stop();
  });
});

describe('endpoints and keys', () => {
  it('a path that repeats the gateway path', async () => {
    await service('twice');
    const endpoints = `${revisionPath('twice')}/endpoints`;
    expect(await write('POST', endpoints, { method: 'GET', path: '/twice/v1/x' })).toEqual([
      '/path endpoint_repeats_gateway_path',
    ]);
    expect(await write('POST', endpoints, { method: 'GET', path: '/twice/v10' })).toEqual([]);
  });

  it('a parameter with a colon, as other routers write it', async () => {
    await service('colon');
    const endpoints = `${revisionPath('colon')}/endpoints`;
    expect(await write('POST', endpoints, { method: 'GET', path: '/items/:id' })).toEqual([
      '/path literal_colon',
    ]);
    const renamed = { method: 'GET', path: '/old/{id}', backend_path: '/new/:id' };
    expect(await write('POST', endpoints, renamed)).toEqual(['/backend_path literal_colon']);
    const elsewhere = { name: 'c', slug: 'colons', gateway_path: '/colons/:tenant' };
    expect(await write('POST', '/apps', elsewhere)).toEqual(['/gateway_path literal_colon']);
    expect(await write('PATCH', revisionPath('colon'), { backend_base_path: '/:region/x' })).toContain(
      '/backend_base_path literal_colon',
    );
    // The methods of Google's APIs, and times.
    for (const path of ['/items/{id}/tasks:cancel', '/12:30', '/:'])
      expect(await write('POST', endpoints, { method: 'GET', path })).toEqual([]);
  });

  it('several scopes in one text', async () => {
    await service('spaced');
    expect(await write('POST', '/apps/spaced/tokens', { name: 'k', scopes: ['read write', 'x'] })).toEqual([
      '/scopes/0 scope_with_space',
    ]);
    const policy = { default_policy: { required_scopes: ['x', 'read write'] } };
    expect(await write('PATCH', '/apps/spaced', policy)).toEqual([
      '/default_policy/required_scopes/1 scope_with_space',
    ]);
    const { status, body } = await gateway.api('GET', '/apps/spaced/tokens/k');
    expect([status, body.detail]).toEqual([404, 'There is no token "k" here; expected the id of the token']);
  });

  it('a key that has expired, or is disabled and rotated', async () => {
    await service('old');
    const soon = new Date(Date.now() + 1_000).toISOString();
    const { id } = await gateway.must('POST', '/apps/old/tokens', { name: 'k', expires_at: soon });
    const path = `/apps/old/tokens/${id}`;
    let found: string[] = [];
    for (let tries = 0; tries < 100 && found.length === 0; tries++) {
      found = warningsOf(await gateway.api('PATCH', path, { name: `k${tries}` }));
      if (found.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(found).toEqual(['/expires_at key_expired']);
    const rotated = async () => warningsOf(await gateway.api('POST', `${path}/rotate`));
    expect(await rotated()).toEqual(['/expires_at key_expired']);
    expect(await write('PATCH', path, { expires_at: null, is_active: false })).toEqual([]);
    expect(await rotated()).toEqual(['/is_active key_disabled']);
    expect(await write('PATCH', path, { is_active: true })).toEqual([]);
    expect(await rotated()).toEqual([]);
  });
});

it('a webhook that is sent to in the clear', async () => {
  const to = async (url: string) =>
    warningsOf(await gateway.api('POST', '/webhooks', { name: `to ${url}`, url, is_active: false }));
  expect(await to('http://receiver.test/')).toEqual(['/url webhook_without_tls']);
  expect(await to('https://receiver.test/')).toEqual([]);
  expect(await to('http://[::1]:9/')).toEqual([]);
});

it('a webhook that is there twice', async () => {
  const url = 'https://twice.test/';
  const events = ['key.*', 'breaker.*'];
  const made = async (fields: Fields) =>
    warningsOf(await gateway.api('POST', '/webhooks', { name: 'twice', url, events, ...fields }));
  expect(await made({})).toEqual([]);
  expect(await made({})).toEqual(['/url webhook_repeated']);
  expect(await made({ name: 'other', events: ['breaker.*', 'key.*'] })).toEqual(['/url webhook_repeated']);
  expect(await made({ events: ['key.*'] })).toEqual(['/name webhook_repeated']);
  expect(await made({ name: 'off', is_active: false })).toEqual([]);
});

describe('many records at once', () => {
  const LIMIT = { rate_limit: { requests: 2, window_seconds: 60 } };
  const declared = (fields: Fields = {}): Fields => ({
    config: {
      owner: 'many',
      apps: {
        many: {
          gateway_path: '/many',
          routing_mode: 'managed_endpoint',
          versions: {
            v1: {
              revisions: {
                r1: { backend_host: '127.0.0.1', is_current: true, endpoints: { 'GET /a': {} }, ...fields },
                r2: { backend_host: '127.0.0.1' },
              },
            },
          },
        },
      },
    },
  });
  const REVISION = '/config/apps/many/versions/v1/revisions/r1';
  const config = async (what: string, body: Fields): Promise<string[]> =>
    warningsOf(await gateway.api('POST', `/config/${what}`, body));

  it('a plan and an apply warn about the final state of what they change', async () => {
    // Made before its endpoint, and yet not called empty.
    expect(await config('apply', declared())).toEqual([]);
    const { config_version: version } = await gateway.must('GET', '/config');
    const body = declared({ default_policy: LIMIT, traffic_weight: 0 });
    const expected = [
      `${REVISION}/default_policy/rate_limit/enabled rate_limit_not_enabled`,
      `${REVISION}/traffic_weight all_weights_zero`,
    ];
    for (const what of ['plan', 'apply']) expect((await config(what, body)).sort(), what).toEqual(expected);
    expect(await config('plan', body)).toEqual([]);
    expect(await config('apply', { ...declared(), max_deletes: 10 })).toEqual([]);
    const without = declared({ endpoints: {} });
    for (const what of ['plan', 'apply'])
      expect(await config(what, { ...without, max_deletes: 10 }), what).toEqual([
        `${REVISION} no_active_endpoint`,
      ]);
    const back = `/config/versions/${version + 1}/rollback`;
    for (const fields of [{ dry_run: true }, {}])
      expect(warningsOf(await gateway.api('POST', back, fields)).sort()).toEqual(
        expected.map((text) => text.replace('/config', '')),
      );
  });

  it('a revision that goes leaves its version without one', async () => {
    await gateway.must('POST', '/config/apply', declared({ default_policy: null, endpoints: {} }));
    const apps = {
      many: { gateway_path: '/many', versions: { v1: { revisions: { r2: { backend_host: '127.0.0.1' } } } } },
    };
    expect(await config('plan', { config: { owner: 'many', apps } })).toEqual([
      '/config/apps/many/versions/v1 no_current_revision',
    ]);
  });

  it('a thousand mistakes give a hundred warnings', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `c${index}`);
    const apps = Object.fromEntries(
      names.map((name) => [name, { gateway_path: `/${name}`, default_policy: LIMIT }]),
    );
    expect(await config('plan', { config: { apps } })).toHaveLength(100);
  });

  it('a transaction warns about the final state of its operations', async () => {
    const at = (path: string): string => `/api/v1/apps/\${app.id}${path}`;
    const revision = { revision: 'r1', backend_host: '127.0.0.1', is_current: true };
    const operations = [
      {
        id: 'app',
        method: 'POST',
        path: '/api/v1/apps',
        body: { ...record('together'), routing_mode: 'managed_endpoint' },
      },
      { method: 'POST', path: at('/versions'), body: { version: 'v1' } },
      { method: 'POST', path: at('/versions/v1/revisions'), body: { ...revision, default_policy: LIMIT } },
      {
        method: 'POST',
        path: at('/versions/v1/revisions/r1/endpoints'),
        body: { method: 'GET', path: '/a' },
      },
    ];
    const expected = ['/operations/2/body/default_policy/rate_limit/enabled rate_limit_not_enabled'];
    const empty = 'no_active_endpoint';
    expect(await write('POST', '/transaction', { operations: operations.slice(0, 3) })).toEqual([
      `/operations/0/body/routing_mode ${empty}`,
      ...expected,
      `/operations/2/body/is_current ${empty}`,
    ]);
    await gateway.must('DELETE', '/apps/together?cascade=true');
    expect(await write('POST', '/transaction', { operations })).toEqual(expected);
    await gateway.must('DELETE', '/apps/together?cascade=true');
    const { operations: answers } = await gateway.must('POST', '/transaction', { operations });
    expect(answers.map(({ body }: Fields) => (body as Answer['body'])['warnings']?.length ?? 0)).toEqual([
      0, 0, 1, 0,
    ]);
  });
});

it('every warning of the table has been met, here or in the tests of policy parts', () => {
  const folder = resolve(import.meta.dirname, '../policy');
  const tests = readdirSync(folder).map((file) => readFileSync(resolve(folder, file), 'utf8'));
  const metThere = Object.keys(WARNINGS).filter((code) => tests.some((text) => text.includes(`'${code}'`)));
  expect([...new Set([...seen, ...metThere])].sort()).toEqual(Object.keys(WARNINGS).sort());
});
