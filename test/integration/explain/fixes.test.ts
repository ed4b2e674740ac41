/** Every kind of denial: explain foretells it, and the change that its fix names lets the request pass. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../../src/model/errors.ts';
import type { ExplainInput, Explanation, FixAction, StageName } from '../../../src/explain/schema.ts';
import { applyFix, explain, stageOf } from '../../support/explain.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { jwkOf, KEYS, signed, SECRET } from '../../support/data/jwts.ts';
import { startHoldingOrigin } from '../../support/backends/holding-origin.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createEndingKey, createKey, quietWindowSecs } from '../../support/policies.ts';
import {
  createEndpoint,
  createRevision,
  createService,
  createVersion,
  createApp,
  problem,
  request,
  revisionPath,
  type Fields,
} from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({ env: { GATEWAY_WORKERS: '2', GATEWAY_PROXY__MAX_HEADERS: '20' } }),
    startOrigin(),
  ]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

interface Described {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const inputOf = ({ method = 'GET', path, headers = {}, body }: Described): ExplainInput => ({
  method,
  url: path,
  headers: { Host: 'gateway.test', ...headers },
  ...(body === undefined ? {} : { body_bytes: body.length }),
});

const send = ({ path, ...parts }: Described) => request(gateway, path, parts);

interface Expected {
  readonly code: ErrorCode;
  readonly stage: StageName;
  readonly action: FixAction;
}

/** Explains, sends, and compares; neither has reached the backend. */
async function denied(described: Described, { code, stage, action }: Expected): Promise<Explanation> {
  const before = origin.seen.length;
  const explanation = await explain(gateway, inputOf(described));
  const response = await send(described);
  const document = problem(response);
  expect([explanation.outcome, explanation.code, explanation.response.status]).toEqual([
    'denied',
    code,
    response.status,
  ]);
  expect(document.code).toBe(code);
  expect(explanation.response.body).toMatchObject({ code, status: response.status, detail: document.detail });
  expect(stageOf(explanation, stage)).toMatchObject({ verdict: 'denied', code });
  expect(explanation.stages.filter(({ verdict }) => verdict === 'denied')).toHaveLength(1);
  expect(explanation.upstream).toBeNull();
  expect(explanation.fix?.action).toBe(action);
  expect(origin.seen).toHaveLength(before);
  return explanation;
}

/** Explain and the proxy agree that it passes. */
async function passes(described: Described): Promise<void> {
  const explanation = await explain(gateway, inputOf(described));
  expect([explanation.outcome, explanation.code, explanation.fix]).toEqual(['forwarded', null, null]);
  const response = await send(described);
  expect(response.status, response.body).toBe(200);
  const { url } = JSON.parse(response.body) as { readonly url: string };
  expect(explanation.upstream?.url).toBe(`http://127.0.0.1:${origin.port}${url}`);
}

async function deniedUntilFixed(
  slug: string,
  described: Described,
  expected: Expected,
): Promise<Explanation> {
  const explanation = await denied(described, expected);
  await applyFix(gateway, slug, explanation.fix);
  await passes(described);
  return explanation;
}

const serve = (slug: string, policy: Fields = {}, app: Fields = {}): Promise<void> =>
  createService(gateway, slug, origin.port, { app: { default_policy: policy, ...app } });

describe('routes', () => {
  it('no_route: a version with the gateway_path', async () => {
    const described = { path: '/nowhere/at/all' };
    const { fix } = await denied(described, { code: 'no_route', stage: 'route', action: 'create_version' });
    expect(fix?.value).toEqual({ gateway_path: '/nowhere' });
    await createApp(gateway, 'elsewhere');
    await createVersion(gateway, 'elsewhere', 'v1', fix?.value as Fields);
    await createRevision(gateway, 'elsewhere', origin.port);
    await passes(described);
  });

  it('no_route: a host that serves the path', async () => {
    const hosts = ['named.test', '*.named.test'];
    await createService(gateway, 'named', origin.port, { app: { hosts } });
    const described = { path: '/named/v1/x?y=1' };
    const expected = { code: 'no_route', stage: 'route', action: 'correct_request' } as const;
    const { fix } = await denied(described, expected);
    expect(fix?.detail).toBe(
      'Send the request to a host of app named (named.test, *.named.test), whose version v1 serves this path, or add gateway.test to its hosts',
    );
    const sent = await send(described);
    const recorded = await gateway.must('GET', `/explain/${String(sent.headers['x-request-id'])}`);
    expect(recorded.fix).toMatchObject({ action: 'correct_request', detail: fix?.detail });
    await passes({ ...described, headers: { Host: 'www.named.test' } });
    await gateway.must('PATCH', '/apps/named', { hosts: [...hosts, 'gateway.test'] });
    await passes(described);
  });

  it('no_route: a path below that of a version, also where its label is missing', async () => {
    await serve('near');
    await createVersion(gateway, 'near', 'v0', { status: 'retired' });
    const expected = { code: 'no_route', stage: 'route', action: 'correct_path' } as const;
    for (const path of ['/near/items', '/near/v9/items', '/near']) {
      const { fix } = await denied({ path }, expected);
      expect([fix?.detail, fix?.value]).toEqual([
        'Send the request to a path below /near/v1, which version v1 of app near serves, or create a version with another gateway_path',
        null,
      ]);
    }
    await passes({ path: '/near/v1/items' });
  });

  it('version_retired', async () => {
    await createService(gateway, 'retired', origin.port, { version: { status: 'retired' } });
    const expected = { code: 'version_retired', stage: 'route', action: 'set_version_status' } as const;
    const { version } = await deniedUntilFixed('retired', { path: '/retired/v1/x' }, expected);
    expect(version).toMatchObject({ version: 'v1', gateway_path: '/retired/v1', status: 'retired' });
  });

  it('endpoint_not_found, also for HEAD and for methods that endpoints cannot name', async () => {
    await serve('managed', {}, { routing_mode: 'managed_endpoint' });
    const expected = { code: 'endpoint_not_found', stage: 'route', action: 'register_endpoint' } as const;
    const cases = [
      { path: '/managed/v1/invoices/7' },
      { method: 'POST', path: '/managed/v1/invoices/7', body: 'x' },
      { method: 'REPORT', path: '/managed/v1/reports%3Abatch' },
      { path: '/managed/v1' },
    ];
    for (const described of cases) {
      const { endpoint } = await deniedUntilFixed('managed', described, expected);
      expect(endpoint).toBeNull();
    }
  });

  it('endpoint_not_found: a star in the path opens no more than its own segment', async () => {
    await serve('stars', {}, { routing_mode: 'managed_endpoint' });
    const expected = { code: 'endpoint_not_found', stage: 'route', action: 'register_endpoint' } as const;
    for (const path of ['/stars/v1/*', '/stars/v1/a/%2A/b*c']) {
      const { fix } = await deniedUntilFixed('stars', { path }, expected);
      expect(JSON.stringify(fix?.value)).not.toContain('*');
    }
    await denied({ path: '/stars/v1/a/b' }, expected);
    const endless = { path: `/stars/v1/b/${'a'.repeat(1_100)}` };
    await denied(endless, { ...expected, action: 'correct_path' });
    const { fix } = await denied(
      { path: '/st*rs/v1/x' },
      { code: 'no_route', stage: 'route', action: 'create_version' },
    );
    expect(fix?.value).toBeNull();
  });

  it('endpoint_disabled', async () => {
    await serve('disabled');
    await createEndpoint(gateway, 'disabled', 'GET', '/items/{id}', { is_active: false });
    const expected = { code: 'endpoint_disabled', stage: 'route', action: 'enable_endpoint' } as const;
    const { endpoint } = await deniedUntilFixed('disabled', { path: '/disabled/v1/items/7' }, expected);
    expect(endpoint).toMatchObject({ path: '/disabled/v1/items/{id}', parameters: { id: '7' } });
  });

  it('no_revision: none is current, or all have the weight 0', async () => {
    await createService(gateway, 'idle', origin.port, { revision: { is_current: false } });
    const idle = { code: 'no_revision', stage: 'route', action: 'activate_revision' } as const;
    const { candidates } = await deniedUntilFixed('idle', { path: '/idle/v1/x' }, idle);
    expect(candidates).toMatchObject([{ revision: 'r1', is_current: false, candidate: false }]);
    await createService(gateway, 'weightless', origin.port, { revision: { traffic_weight: 0 } });
    const weightless = { code: 'no_revision', stage: 'route', action: 'set_traffic_weight' } as const;
    await deniedUntilFixed('weightless', { path: '/weightless/v1/x' }, weightless);
  });

  it('bad_path: an encoded slash, where the app may allow it', async () => {
    await serve('slashes');
    const expected = { code: 'bad_path', stage: 'route', action: 'allow_encoded_slashes' } as const;
    const { fix } = await deniedUntilFixed('slashes', { path: '/slashes/v1/a%2Fb' }, expected);
    expect(fix?.target?.type).toBe('app');
  });

  it('bad_path: a path that no client may send', async () => {
    const expected = { code: 'bad_path', stage: 'path', action: 'correct_path' } as const;
    for (const path of ['/slashes/../x', '/a//b', '/a/%zz', '/a/%2e%2e/b', '/a\\b']) {
      const { version } = await denied({ path }, expected);
      expect(version).toBeNull();
    }
  });
});

describe('credentials', () => {
  it('credentials_missing: the credential is sent', async () => {
    await serve('keyed', { auth: { auth_type: 'api_key' }, required_scopes: ['read'] });
    const expected = { code: 'credentials_missing', stage: 'auth', action: 'send_credentials' } as const;
    const { fix } = await denied({ path: '/keyed/v1/x' }, expected);
    expect(fix?.detail).toContain('API key of app keyed that has read');
    const key = await createKey(gateway, 'keyed', { scopes: ['read'] });
    await passes({ path: '/keyed/v1/x', headers: bearer(key.token) });
  });

  it('credentials_missing: the scopes of a route without authentication', async () => {
    await serve('anonymous', { required_scopes: ['read'] });
    await gateway.must('PATCH', revisionPath('anonymous'), {
      default_policy: { auth: { auth_type: 'none' } },
    });
    const expected = { code: 'credentials_missing', stage: 'required_scopes', action: 'set_policy' } as const;
    const { fix } = await denied({ path: '/anonymous/v1/x' }, expected);
    expect(fix?.target?.type).toBe('revision');
    await applyFix(gateway, 'anonymous', fix);
    const key = await createKey(gateway, 'anonymous', { scopes: ['read'] });
    await passes({ path: '/anonymous/v1/x', headers: bearer(key.token) });
  });

  it('credentials_invalid: a key that is disabled, has expired, was rotated, is of another app, is unknown', async () => {
    await serve('keys', { auth: { auth_type: 'api_key' } });
    const described = (token: string): Described => ({ path: '/keys/v1/x', headers: bearer(token) });
    const invalid = { code: 'credentials_invalid', stage: 'auth' } as const;
    const disabled = await createKey(gateway, 'keys', { is_active: false });
    await deniedUntilFixed('keys', described(disabled.token), { ...invalid, action: 'enable_token' });
    const expiring = await createEndingKey(gateway, 'keys', 1_000);
    await until(() => Date.now() > Date.parse(expiring.expires_at));
    await deniedUntilFixed('keys', described(expiring.token), { ...invalid, action: 'extend_token' });
    const rotated = await createKey(gateway, 'keys');
    const next = await gateway.must('POST', `/apps/keys/tokens/${rotated.id}/rotate`);
    await denied(described(rotated.token), { ...invalid, action: 'replace_credentials' });
    await passes(described(next.token));
    await serve('others');
    const other = await createKey(gateway, 'others');
    await denied(described(other.token), { ...invalid, action: 'replace_credentials' });
    const mistyped = await denied(described('hgk_mistyped'), { ...invalid, action: 'replace_credentials' });
    expect(mistyped.fix?.target).toBeNull();
  });

  it('insufficient_scope: all scopes that the key lacks', async () => {
    await serve('scoped', {
      auth: { auth_type: 'api_key' },
      required_scopes: ['*', 'read', 'write', 'list'],
    });
    const key = await createKey(gateway, 'scoped', { scopes: ['write', 'other'] });
    const expected = { code: 'insufficient_scope', stage: 'required_scopes', action: 'add_scopes' } as const;
    const described = { path: '/scoped/v1/x', headers: bearer(key.token) };
    const explanation = await deniedUntilFixed('scoped', described, expected);
    expect(stageOf(explanation, 'required_scopes')).toMatchObject({ level: 'app' });
    expect(explanation.fix).toMatchObject({ target: { type: 'token', id: key.id } });
    expect(explanation.caller).toMatchObject({ kind: 'api_key', id: key.id });
    expect(stageOf(explanation, 'auth').verdict).toBe('passed');
    expect(stageOf(explanation, 'rate_limit').verdict).toBe('not_applicable');
  });

  it('JWT: missing_claim, insufficient_scope and an expired token', async () => {
    const auth = { auth_type: 'jwt', required_claims: ['email'], jwt: { secret: SECRET, issuer: 'us' } };
    await serve('jwt', { auth, required_scopes: ['read'] });
    const described = async (claims: Fields): Promise<Described> => ({
      path: '/jwt/v1/x',
      headers: bearer(await signed({ iss: 'us', sub: 'ann', ...claims })),
    });
    const claim = { code: 'missing_claim', stage: 'auth', action: 'request_token' } as const;
    const { stages } = await denied(await described({ scope: 'read' }), claim);
    expect(JSON.stringify(stages)).not.toContain(SECRET);
    const scope = { code: 'insufficient_scope', stage: 'required_scopes', action: 'request_token' } as const;
    await denied(await described({ email: 'a@b.c' }), scope);
    const expired = { code: 'credentials_invalid', stage: 'auth', action: 'replace_credentials' } as const;
    await denied(await described({ email: 'a@b.c', scope: 'read', exp: 1 }), expired);
    await passes(await described({ email: 'a@b.c', scope: 'read' }));
  });

  it('JWT: missing keys are fixed, not the token', async () => {
    const token = await signed({ sub: 'ann' });
    const expected = { code: 'credentials_invalid', stage: 'auth', action: 'fix_keys' } as const;
    const described = { path: '/keyless/v1/x', headers: bearer(token) };
    await serve('keyless', { auth: { auth_type: 'jwt' } });
    const { fix } = await denied(described, expected);
    expect(fix).toMatchObject({ target: { type: 'app' }, value: null });
    expect(fix?.detail).toContain('jwks_uri, jwks or secret');
    const uri = `http://127.0.0.1:${await freePort()}/jwks`;
    const auth = (jwt: Fields): Fields => ({ default_policy: { auth: { auth_type: 'jwt', jwt } } });
    await gateway.must('PATCH', '/apps/keyless', auth({ jwks_uri: uri }));
    const options = { alg: 'ES256', key: KEYS.ec.privateKey, header: { kid: 'ec' } };
    const other = { ...described, headers: bearer(await signed({ sub: 'ann' }, options)) };
    const unavailable = { ...expected, code: 'jwt_keys_unavailable' } as const;
    expect((await denied(other, unavailable)).fix?.detail).toContain(uri);
    await gateway.must('PATCH', '/apps/keyless', auth({ jwks_uri: null, secret: SECRET }));
    await passes(described);
  });

  it('JWT: a key set that was not fetched yet is fetched for the explanation', async () => {
    const keys = { keys: [await jwkOf('ec')] };
    const issuer = await startOrigin((_request, response) => void response.end(JSON.stringify(keys)));
    try {
      const jwt = { jwks_uri: `http://127.0.0.1:${issuer.port}/jwks` };
      await serve('jwks', { auth: { auth_type: 'jwt', jwt } });
      const options = { alg: 'ES256', key: KEYS.ec.privateKey, header: { kid: 'ec' } };
      const token = await signed({ sub: 'ann' }, options);
      const explanation = await explain(gateway, { method: 'GET', url: '/jwks/v1/x', token });
      expect(explanation).toMatchObject({ outcome: 'forwarded', caller: { kind: 'jwt', id: 'ann' } });
      expect(issuer.seen).toHaveLength(1);
      const forged = await signed({ sub: 'ann' }, { ...options, key: KEYS.stranger.privateKey });
      const { code } = await explain(gateway, { method: 'GET', url: '/jwks/v1/x', token: forged });
      expect(code).toBe('credentials_invalid');
    } finally {
      await issuer.close();
    }
  });
});

describe('cors', () => {
  const PAGE = 'https://page.test';
  const asks = (method: string, names?: string): Fields => ({
    Origin: PAGE,
    'Access-Control-Request-Method': method,
    ...(names === undefined ? {} : { 'Access-Control-Request-Headers': names }),
  });
  const preflight = (slug: string, headers: Fields): ExplainInput => ({
    method: 'OPTIONS',
    url: `/${slug}/v1/x`,
    headers: headers as Record<string, string>,
  });

  it('a preflight is granted after the changes that its explanations name, one for each refusal', async () => {
    const cors = { allowed_origins: ['https://other.test'], allowed_methods: ['GET'], allowed_headers: [] };
    await serve('pages', { cors }, { routing_mode: 'managed_endpoint' });
    await createEndpoint(gateway, 'pages', 'GET', '/x');
    // DELETE is registered nowhere: the answer has the policy of what no route gives.
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const input = preflight('pages', asks(method, 'x-one,x-two'));
      const fixes: string[] = [];
      for (let round = 0; round < 4; round++) {
        const { fix, outcome } = await explain(gateway, input);
        expect(outcome).toBe('answered');
        if (fix === null) break;
        expect(fix).toMatchObject({ action: 'set_policy', target: { type: 'app' } });
        fixes.push(fix.detail);
        await applyFix(gateway, 'pages', fix);
      }
      expect(fixes).toHaveLength(method === 'GET' ? 2 : 1);
      const { headers } = await request(gateway, '/pages/v1/x', {
        method: 'OPTIONS',
        headers: asks(method, 'x-one,x-two') as Record<string, string>,
      });
      expect(headers['access-control-allow-methods']).toContain(method);
      expect(headers['access-control-allow-headers']).toContain('x-two');
    }
  });

  it('cookies: allow_credentials, or another request where the policy may not have it', async () => {
    await serve('cookies', { cors: { allowed_origins: [PAGE] } });
    const input = { method: 'GET', url: '/cookies/v1/x', headers: { Origin: PAGE, Cookie: 'a=b' } };
    const { fix } = await explain(gateway, input);
    expect(fix?.value).toEqual({ cors: { allowed_origins: [PAGE], allow_credentials: true } });
    await applyFix(gateway, 'cookies', fix);
    expect((await explain(gateway, input)).fix).toBeNull();
    await gateway.must('PATCH', '/apps/cookies', {
      default_policy: { cors: { allowed_origins: ['*'], allow_credentials: null } },
    });
    expect((await explain(gateway, input)).fix).toMatchObject({ action: 'correct_request', value: null });
    const odd = { ...input, headers: { Origin: 'not an origin' } };
    await gateway.must('PATCH', '/apps/cookies', { default_policy: { cors: { allowed_origins: [PAGE] } } });
    expect((await explain(gateway, odd)).fix).toMatchObject({ action: 'correct_request', value: null });
  });
});

describe('methods, limits and bodies', () => {
  it('method_not_allowed: at the level that has the list', async () => {
    await serve('methods', { allowed_methods: ['POST'] });
    const expected = { code: 'method_not_allowed', stage: 'allowed_methods', action: 'set_policy' } as const;
    await createEndpoint(gateway, 'methods', '*', '/only', { policy_override: { allowed_methods: ['PUT'] } });
    const own = await deniedUntilFixed('methods', { path: '/methods/v1/only' }, expected);
    expect(stageOf(own, 'allowed_methods')).toMatchObject({ level: 'endpoint', value: ['PUT'] });
    const inherited = await deniedUntilFixed('methods', { path: '/methods/v1/other' }, expected);
    expect(stageOf(inherited, 'allowed_methods')).toMatchObject({ level: 'app', value: ['POST'] });
    const ofRevision = await gateway.must('PATCH', revisionPath('methods'), {
      default_policy: { allowed_methods: ['PATCH'] },
    });
    const between = await deniedUntilFixed('methods', { path: '/methods/v1/other' }, expected);
    expect(stageOf(between, 'allowed_methods')).toMatchObject({
      level: 'revision',
      source_id: ofRevision.id,
      value: ['PATCH'],
    });
  });

  it('rate_limited: after the wait', async () => {
    await serve('limited', {
      rate_limit: { enabled: true, requests: 2, window_seconds: 2, algorithm: 'sliding_window' },
    });
    const described = { path: '/limited/v1/x' };
    for (let count = 0; count < 5; count++) {
      const { limits } = await explain(gateway, inputOf(described));
      expect(limits).toMatchObject([{ kind: 'policy', limit: 2, remaining: 1, admitted: true }]);
    }
    await passes(described);
    expect((await send(described)).status).toBe(200);
    const expected = { code: 'rate_limited', stage: 'rate_limit', action: 'wait' } as const;
    const { limits } = await deniedUntilFixed('limited', described, expected);
    expect(limits).toMatchObject([{ algorithm: 'sliding_window', remaining: 0, admitted: false }]);
  });

  it('rate_limited: the plan of the key is named', async () => {
    await serve('plans', { auth: { auth_type: 'api_key' } });
    const plan = { enabled: true, requests: 1, window_seconds: quietWindowSecs() };
    const key = await createKey(gateway, 'plans', { rate_limit: plan });
    const described = { path: '/plans/v1/x', headers: bearer(key.token) };
    await passes(described);
    const explanation = await explain(gateway, inputOf(described));
    expect(stageOf(explanation, 'rate_limit')).toMatchObject({
      verdict: 'denied',
      level: 'key',
      source_id: key.id,
      value: plan,
    });
    expect(explanation.limits).toMatchObject([{ kind: 'key', counter: `key:${key.id}`, remaining: 0 }]);
    const perIp = await createKey(gateway, 'plans', { rate_limit: { ...plan, per: 'ip' } });
    const other = await explain(gateway, inputOf({ ...described, headers: bearer(perIp.token) }));
    expect(other.limits).toMatchObject([{ kind: 'key', counter: `key:${perIp.id} per ip = 127.0.0.1` }]);
  });

  it('concurrency_limited: at the level that has the cap', async () => {
    const holding = await startHoldingOrigin();
    try {
      await serve('capped', { concurrency: { max: 1 } });
      await gateway.must('PATCH', revisionPath('capped'), { backend_port: holding.port });
      const held = send({ path: '/capped/v1/held' });
      await until(() => holding.waiting === 1);
      await gateway.must('PATCH', revisionPath('capped'), { backend_port: origin.port });
      const expected = { code: 'concurrency_limited', stage: 'concurrency', action: 'set_policy' } as const;
      const { limits } = await deniedUntilFixed('capped', { path: '/capped/v1/x' }, expected);
      expect(limits).toMatchObject([{ kind: 'concurrency', limit: 1, remaining: 0, admitted: false }]);
      holding.answerAll();
      expect((await held).status).toBe(200);
    } finally {
      await holding.close();
    }
  });

  it('body_too_large: also for a chunked body', async () => {
    const limit = { enabled: true, requests: 100, window_seconds: 60 };
    await serve('bodies', { max_body_bytes: 10, rate_limit: limit });
    const expected = { code: 'body_too_large', stage: 'max_body_bytes', action: 'set_policy' } as const;
    const chunked = await explain(gateway, {
      method: 'POST',
      url: '/bodies/v1/x',
      headers: { 'Transfer-Encoding': 'chunked' },
      body_bytes: 11,
    });
    expect([chunked.code, chunked.response.status]).toEqual(['body_too_large', 413]);
    // It is on its way to the backend when it shows, with the limit charged.
    expect(stageOf(chunked, 'rate_limit').verdict).toBe('passed');
    expect(stageOf(chunked, 'forward').verdict).toBe('skipped');
    const announced = await deniedUntilFixed(
      'bodies',
      { method: 'POST', path: '/bodies/v1/x', body: 'a'.repeat(11) },
      expected,
    );
    expect(stageOf(announced, 'rate_limit').verdict).toBe('skipped');
  });

  it('circuit_open: after the wait, when the backend answers', async () => {
    await serve('broken');
    // Open for as long as a busy machine may need until it is asked about.
    const breaker = { backend_port: await freePort(), circuit_breaker: { failures: 1, open_secs: 3 } };
    await gateway.must('PATCH', revisionPath('broken'), breaker);
    const described = { path: '/broken/v1/x' };
    expect((await explain(gateway, inputOf(described))).outcome).toBe('forwarded');
    expect((await send(described)).status).toBe(502);
    const expected = { code: 'circuit_open', stage: 'circuit_breaker', action: 'wait' } as const;
    const { candidates, fix } = await denied(described, expected);
    expect(candidates).toMatchObject([{ breaker: 'open', candidate: false, chosen: false }]);
    await applyFix(gateway, 'broken', fix);
    for (let count = 0; count < 3; count++)
      expect((await explain(gateway, inputOf(described))).outcome).toBe('forwarded');
    await gateway.must('PATCH', revisionPath('broken'), { backend_port: origin.port });
    await passes(described);
  });
});

describe('what is no request', () => {
  it.each<[string, Partial<ExplainInput>, ErrorCode, FixAction]>([
    ['a space in the method', { method: 'GET /x' }, 'bad_request', 'correct_request'],
    ['two lengths', { headers: { 'Content-Length': ['1', '2'] } }, 'bad_request', 'correct_request'],
    [
      'length and chunks',
      { headers: { 'Content-Length': '1', 'Transfer-Encoding': 'chunked' } },
      'bad_request',
      'correct_request',
    ],
    ['an unknown coding', { headers: { 'Transfer-Encoding': 'gzip' } }, 'not_implemented', 'correct_request'],
    ['CONNECT', { method: 'CONNECT' }, 'not_implemented', 'correct_request'],
    ['an expectation', { headers: { Expect: 'tea' } }, 'expectation_failed', 'correct_request'],
    ['a space before the colon', { headers: { 'X ': '1' } }, 'bad_request', 'correct_request'],
    ['NUL in a value', { headers: { X: 'a\u0000b' } }, 'bad_request', 'correct_request'],
    ['two Host fields', { headers: { Host: ['a', 'b'] } }, 'bad_request', 'correct_request'],
    ['a fragment', { url: '/a#b' }, 'bad_request', 'correct_request'],
    ['a long target', { url: `/${'a'.repeat(9_000)}` }, 'target_too_long', 'shorten_request'],
    ['a large head', { headers: { X: 'a'.repeat(40_000) } }, 'header_too_large', 'shorten_request'],
    [
      'many fields',
      { headers: { X: Array.from({ length: 30 }, () => 'a') } },
      'header_too_large',
      'shorten_request',
    ],
  ])('%s is refused with the status of the parser', async (_name, parts, code, action) => {
    const explanation = await explain(gateway, { method: 'GET', url: '/x', ...parts });
    expect([explanation.outcome, explanation.code, explanation.fix?.action]).toEqual([
      'denied',
      code,
      action,
    ]);
    expect(stageOf(explanation, 'head').verdict).toBe('denied');
    expect(explanation.response.body).toMatchObject({ code });
    expect(explanation.request.path).toBeNull();
  });
});

describe('several revisions', () => {
  it('candidates with their shares and reasons, and turns that are not taken', async () => {
    await serve('shares', {}, { routing_mode: 'managed_endpoint' });
    await createEndpoint(gateway, 'shares', 'GET', '/x');
    await createRevision(gateway, 'shares', origin.port, { revision: 'r2', traffic_weight: 300 });
    await createEndpoint(gateway, 'shares', 'GET', '/x', {}, { revision: 'r2' });
    await createRevision(gateway, 'shares', origin.port, { revision: 'r3' });
    await createRevision(gateway, 'shares', origin.port, { revision: 'r4', traffic_weight: 0 });
    await createRevision(gateway, 'shares', origin.port, { revision: 'r5', is_current: false });
    const first = await explain(gateway, inputOf({ path: '/shares/v1/x' }));
    expect(first.candidates.map(({ revision, share, candidate }) => [revision, share, candidate])).toEqual([
      ['r1', 0.25, true],
      ['r2', 0.75, true],
      ['r3', 0, false],
      ['r4', 0, false],
      ['r5', 0, false],
    ]);
    expect(first.candidates.filter(({ chosen }) => chosen)).toHaveLength(1);
    for (const { reason } of first.candidates) expect(reason).toMatch(/\S/);
    for (let count = 0; count < 4; count++) {
      const again = await explain(gateway, inputOf({ path: '/shares/v1/x' }));
      expect(again.revision).toEqual(first.revision);
    }
  });
});
