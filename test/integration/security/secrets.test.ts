/**
 * Nothing secret is logged or stored in the clear: one gateway at its most talkative meets every kind of secret, in
 * good requests and in bad ones; then its whole output, its metrics and its files are searched.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, startRawOrigin, type Origin, type RawOrigin } from '../../support/backends/origin.ts';
import { forgedToken, signed } from '../../support/data/jwts.ts';
import { bearer, createKey, createPolicies } from '../../support/policies.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';
import { storedText } from '../../support/programs/suite-database.ts';
import { createService, request, type RequestParts } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const SETTINGS_SECRET = 'settings-secret-0123456789-0123456789-0123456789';
const POLICY_SECRET = 'policy-secret-0123456789-0123456789-0123456789';
const BAD_SECRET = 'short-policy-secret';

let gateway: TestGateway;
let origin: Origin;
let broken: RawOrigin;
/** Name of each secret that was put in, and its text. */
const secrets = new Map<string, string>([
  ['the admin token', ADMIN_TOKEN],
  ['GATEWAY_JWT__SECRET', SETTINGS_SECRET],
  ['the secret of a policy', POLICY_SECRET],
  ['a secret that was refused', BAD_SECRET],
]);
let requests = 0;
let lastRequestId: string | undefined;

const secret = (name: string, text: string): string => {
  secrets.set(name, text);
  return text;
};
async function call(target: string, parts: RequestParts = {}): Promise<number> {
  const response = await request(gateway, target, parts);
  requests++;
  lastRequestId = response.headers['x-request-id'];
  return response.status;
}

beforeAll(async () => {
  [gateway, origin, broken] = await Promise.all([
    startGateway({ env: { GATEWAY_LOG__LEVEL: 'trace', GATEWAY_JWT__SECRET: SETTINGS_SECRET } }),
    startOrigin(),
    startRawOrigin((socket) => socket.end('HTTP/1.1 junk set-cookie=leaky-status-line\r\n\r\n')),
  ]);
  secret('what a broken backend said', 'leaky-status-line');
  const jwt = { auth_type: 'jwt', jwt: { secret: POLICY_SECRET } };
  await createPolicies(gateway, 'shop', origin.port, [
    { path: '/key', policy: { auth: { auth_type: 'api_key' } } },
    { path: '/jwt', policy: { auth: jwt } },
    { path: '/jwt-defaults', policy: { auth: { auth_type: 'jwt' } } },
    {
      path: '/header',
      policy: {
        rate_limit: { enabled: true, requests: 1, window_seconds: 9_999_999, per: 'header:X-Session' },
      },
    },
    { path: '/shadow', policy: { auth: { auth_type: 'api_key' }, shadow: ['auth'] } },
  ]);
  await createService(gateway, 'dead', 1);
  await createService(gateway, 'broken', broken.port);
  await useTraffic();
  await useManagement();
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([origin.close(), broken.close()]);
});

async function useTraffic(): Promise<void> {
  const key = await createKey(gateway, 'shop');
  const disabled = await createKey(gateway, 'shop', { is_active: false });
  secret('the token of a key', key.token);
  secret('the token of a disabled key', disabled.token);
  const rotated = await gateway.must('POST', `/apps/shop/tokens/${key.id}/rotate`, { overlap_secs: 60 });
  secret('the new token of a key', rotated.token);
  const query = `?access_token=${secret('a query', 'query-secret-1')}`;
  for (const token of [
    key.token,
    rotated.token,
    disabled.token,
    secret('a bad key', 'hgk_bad-key-of-a-caller'),
  ]) {
    for (const path of ['/key', '/shadow']) await call(`/shop/v1${path}${query}`, { headers: bearer(token) });
  }
  await call(`/shop/v1/${key.token}/x`);
  const good = secret('a JWT', await signed({ sub: 'ann', note: 'note-in-jwt' }));
  const expired = secret(
    'an expired JWT',
    forgedToken({ alg: 'HS256' }, { sub: 'ann', exp: 1 }, POLICY_SECRET),
  );
  const valid = secret('a valid JWT', forgedToken({ alg: 'HS256' }, { sub: 'ann' }, POLICY_SECRET));
  const byDefault = secret(
    'a JWT of the settings',
    forgedToken({ alg: 'HS256' }, { sub: 'ann' }, SETTINGS_SECRET),
  );
  for (const token of [good, expired, valid, byDefault]) {
    for (const path of ['/jwt', '/jwt-defaults', `/x/${token}`])
      await call(`/shop/v1${path}`, { headers: bearer(token) });
  }
  const fields = {
    Authorization: `Basic ${secret('Basic credentials', 'dXNlcjpiYXNpYy1wYXNzd29yZA')}`,
    Cookie: secret('a cookie', 'session=cookie-secret-1'),
    'X-Session': secret('a field that is counted by', 'session-secret-1'),
    'X-Forwarded-For': secret('a forged address', '203.0.113.199'),
    'X-Request-Id': secret('a request id of a stranger', 'request-id-secret-1'),
    Referer: `https://page.test/?${secret('a referer', 'referer-secret-1')}`,
  };
  const body = secret('a body', 'password=body-secret-1');
  for (const target of [
    '/shop/v1/header',
    '/shop/v1/header',
    '/dead/v1/x',
    '/broken/v1/x',
    '/nowhere',
    '/shop/v1/..%2f',
  ]) {
    await call(`${target}/x${query}`, { method: 'POST', headers: fields, body });
  }
  for (const target of ['/shop/v1/header', '/shop/v1/header'])
    await call(`${target}${query}`, { headers: fields });
  await sendRaw(gateway.proxyPort, `GET /x${query} HTTP/1.1\r\nHost: a\r\nCookie : ${fields.Cookie}\r\n\r\n`);
  await sendRaw(
    gateway.proxyPort,
    `GET http://user:${secret('a password in a target', 'target-password-1')}@a/x HTTP/1.1\r\nHost: a\r\n\r\n`,
  );
}

async function useManagement(): Promise<void> {
  const bad = secret('a wrong admin token', 'hga_wrong-admin-token-of-a-caller');
  await gateway.api(
    'GET',
    `/apps?token=${secret('a query of management', 'management-query-1')}`,
    undefined,
    {
      authorization: `Bearer ${bad}`,
    },
  );
  await gateway.api('GET', '/apps?limit=management-query-1');
  const created = await gateway.must('POST', '/admin/tokens', { name: 'second', role: 'viewer' });
  secret('the value of an admin token', created.token);
  await gateway.api('GET', '/apps', undefined, { authorization: `Bearer ${created.token}` });
  const policy = (text: string) => ({
    default_policy: { auth: { auth_type: 'jwt', jwt: { secret: text } } },
  });
  await gateway.must('PATCH', '/apps/dead', policy(POLICY_SECRET));
  await gateway.api('PATCH', '/apps/dead', policy(BAD_SECRET));
  await gateway.api('PATCH', '/apps/dead', `{"default_policy": {"auth": "${POLICY_SECRET}" oops`);
  await gateway.api('PATCH', '/apps/dead', { [secret('an unknown field', 'unknown-field-secret')]: 1 });
  await gateway.api('PATCH', '/apps/dead', policy(POLICY_SECRET), { 'if-match': '"stale"' });
}

/** What has to be found for a search to mean anything: the lines are all there. */
const wholeOutput = async (): Promise<string> => {
  await until(() =>
    gateway.logs().some((line) => line['msg'] === 'access' && line['request_id'] === lastRequestId),
  );
  return gateway.output();
};

describe('secrets', () => {
  it('the traffic was served, refused and logged', async () => {
    await wholeOutput();
    const accesses = () => gateway.logs().filter((line) => line['msg'] === 'access');
    // Each worker writes its own lines.
    await expect.poll(() => accesses().length).toBeGreaterThanOrEqual(requests);
    const lines = accesses();
    const statuses = new Set(lines.map((line) => line['status']));
    for (const status of [200, 400, 401, 404, 429, 502]) expect(statuses).toContain(status);
    await expect.poll(() => gateway.output()).toContain('a request to a backend failed');
    await expect.poll(() => gateway.output()).toContain('management request');
  });

  it('none is in the output, not even a large part of one', async () => {
    const output = await wholeOutput();
    const found = [...secrets].filter(([, text]) => output.includes(text)).map(([name]) => name);
    expect(found).toEqual([]);
    // The first characters of a key are shown to recognise it by; anything longer is too much.
    const parts = [...secrets].filter(([, text]) => text.length > 24 && output.includes(text.slice(8, 24)));
    expect(parts.map(([name]) => name)).toEqual([]);
  });

  it('no header field and no query is: there is no place for one', async () => {
    const output = (await wholeOutput()).toLowerCase();
    for (const text of ['authorization', 'bearer ', 'cookie', 'access_token', '?', 'referer']) {
      const line = output.split('\n').find((candidate) => candidate.includes(text));
      expect(line, `a line with ${JSON.stringify(text)}`).toBeUndefined();
    }
  });

  it('none is in the metrics', async () => {
    const { body } = await gateway.api('GET', '//metrics');
    expect(body).toContain('headgate_requests_total');
    const found = [...secrets].filter(([, text]) => String(body).includes(text)).map(([name]) => name);
    expect(found).toEqual([]);
  });

  it('none is in the database or the files beside it, which contain hashes and encrypted secrets of policies', async () => {
    const stored = await storedText(gateway.folder);
    expect(stored).toContain('path');
    expect(stored).toContain('"secret":"enc:v1:');
    expect(secrets.size).toBeGreaterThan(20);
    const found = [...secrets].filter(([, text]) => stored.includes(text)).map(([name]) => name);
    expect(found).toEqual([]);
  });

  it('no answer of the management API shows the secret of a policy, the audit neither', async () => {
    for (const path of [
      '/apps?limit=500',
      '/audit?limit=500',
      '/apps/dead',
      '/apps/shop/versions/v1/revisions/r1/endpoints?limit=500',
    ]) {
      const answer = await gateway.api('GET', path);
      expect(answer.status).toBe(200);
      const text = JSON.stringify(answer.body);
      expect([...secrets].filter(([, value]) => text.includes(value)).map(([name]) => name)).toEqual([]);
    }
  });

  it('a start that fails does not print them either', async () => {
    const { code, output } = await runToEnd({
      GATEWAY_DATABASE_URL: 'sqlite://:memory:',
      GATEWAY_ADMIN_TOKEN: 'admin token with spaces',
      GATEWAY_JWT__SECRET: 'too-short-a-secret',
      GATEWAY_JWT__JWKS_URI: 'ftp://user:password-in-url@id.test/',
    });
    expect(code).not.toBe(0);
    for (const text of ['admin token with spaces', 'too-short-a-secret', 'password-in-url']) {
      expect(output).not.toContain(text);
    }
    expect(output).toContain('GATEWAY_ADMIN_TOKEN');
    expect(output).toContain('GATEWAY_JWT__SECRET');
  });
});
