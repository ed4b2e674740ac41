/**
 * Keys that are created with an imported value: they do what other keys do, and only those that imported the value
 * know it.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_KEY_PREFIX, createToken, tokenHash } from '../../../src/model/token.ts';
import { expectProblem } from '../../support/management.ts';
import { ADMIN_TOKEN, startGateway, type Answer, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey, createPolicies } from '../../support/policies.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { createService, echoed, request, type Fields } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const WORKERS = 2;
const CONNECTIONS = 12;
let gateway: TestGateway;
let origin: Origin;
const values: string[] = [];

/** 192 bits; remembered, so that all can be looked for at the end. */
function newValue(): string {
  const value = randomBytes(24).toString('base64url');
  values.push(value);
  return value;
}

beforeAll(async () => {
  // All that could ever be logged.
  const env = { GATEWAY_WORKERS: String(WORKERS), GATEWAY_LOG__LEVEL: 'trace' };
  [gateway, origin] = await Promise.all([startGateway({ env }), startOrigin()]);
  await createPolicies(gateway, 'shop', origin.port, [
    { path: '/x', policy: { auth: { auth_type: 'api_key' } } },
    { path: '/optional', policy: { auth: { auth_type: 'api_key', required: false } } },
    { path: '/placed', policy: { auth: { auth_type: 'api_key', in: 'X-API-Key' } } },
  ]);
  await createService(gateway, 'bank', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const get = (path: string, headers: Record<string, string>) =>
  request(gateway, `/shop/v1${path}`, { headers });
const statusOf = async (token: string): Promise<number> => (await get('/x', bearer(token))).status;
const create = (fields: Fields, slug = 'shop', headers: Record<string, string> = {}): Promise<Answer> =>
  gateway.api('POST', `/apps/${slug}/tokens`, { name: 'brought', ...fields }, headers);

describe('a key with an imported value', () => {
  it('gives access to its app on every worker, and is shown once, with a prefix that reveals nothing', async () => {
    const token = newValue();
    const { status, body } = await create({ token, scopes: ['a'] });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({ token, token_prefix: `sha256:${tokenHash(token).slice(0, 8)}` });
    const clients = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => connectRaw(gateway.proxyPort)),
    );
    for (let round = 0; round < 2; round++) {
      for (const client of clients) {
        client.write(`GET /shop/v1/x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`);
        const { headers } = echoed(await client.response());
        expect(headers).toMatchObject({ 'x-headgate-key-id': body.data.id, 'x-headgate-scopes': 'a' });
        expect(headers.authorization).toBeUndefined();
      }
    }
    for (const client of clients) client.end();
    const { token: _token, ...record } = body.data;
    const stored = await gateway.must('GET', `/apps/shop/tokens/${record.id}`);
    expect({ ...stored, last_used_at: null }).toEqual(record);
    for (const path of ['/apps/shop/tokens?limit=200', '/audit?limit=200'])
      expect(JSON.stringify((await gateway.api('GET', path)).body)).not.toContain(token);
  });

  it('gives no access to another app, and also works in another header', async () => {
    const token = newValue();
    await create({ token });
    expect((await request(gateway, '/bank/v1/x', { headers: bearer(token) })).status).toBe(401);
    const seen = echoed(await get('/placed', { 'X-API-Key': token }));
    expect(seen.headers['x-api-key']).toBeUndefined();
  });

  it('is disabled, changed, deleted, counted and introspected as others are', async () => {
    const token = newValue();
    const { id } = (await create({ token })).body.data;
    const path = `/apps/shop/tokens/${id}`;
    expect(await statusOf(token)).toBe(200);
    expect(await gateway.must('POST', '/tokens/introspect', { token })).toMatchObject({ active: true, id });
    await gateway.must('PATCH', path, { is_active: false });
    expect(await statusOf(token)).toBe(401);
    expect(await gateway.must('POST', '/tokens/introspect', { token })).toMatchObject({
      reason: 'disabled',
      id,
    });
    const totals = await until(async () => {
      // Each worker reports its own: the refusal may be known before the request that was let through.
      const { totals: known } = await gateway.must('GET', `${path}/usage`);
      return known.allowed + known.denied >= 2 ? known : undefined;
    });
    expect(totals).toEqual({ allowed: 1, limited: 0, denied: 1 });
    await expect.poll(async () => (await gateway.must('GET', path)).last_used_at).not.toBeNull();
    await gateway.must('DELETE', path);
    expect(await statusOf(token)).toBe(401);
    expect(await gateway.must('POST', '/tokens/introspect', { token })).toEqual({
      active: false,
      reason: 'unknown',
    });
  });

  it('does not reach a backend when it is known and refused; what is no key passes where none is needed', async () => {
    const token = newValue();
    await create({ token, is_active: false });
    expect(echoed(await get('/optional', bearer(token))).headers.authorization).toBeUndefined();
    const other = 'of-the-backend-q5DzPHUhfKo_mrW3uT0-xA';
    expect(echoed(await get('/optional', bearer(other))).headers.authorization).toBe(`Bearer ${other}`);
  });

  it("gets one of the gateway's own by rotation, and works on for the overlap", async () => {
    const token = newValue();
    const { id } = (await create({ token })).body.data;
    const rotated = await gateway.must('POST', `/apps/shop/tokens/${id}/rotate`, { overlap_secs: 600 });
    expect(rotated.token).toMatch(/^hgk_/);
    expect(rotated.token_prefix).toBe(rotated.token.slice(0, 12));
    expect([await statusOf(token), await statusOf(rotated.token)]).toEqual([200, 200]);
    expect(await gateway.must('POST', '/tokens/introspect', { token })).toMatchObject({
      active: true,
      is_current_value: false,
    });
    expectProblem(await create({ token }, 'bank'), 'conflict', { pointers: ['/token'] });
    await gateway.must('POST', `/apps/shop/tokens/${id}/rotate`);
    expect([await statusOf(token), await statusOf(rotated.token)]).toEqual([401, 401]);
    expect((await create({ token }, 'bank')).status).toBe(201);
  });

  it('may be a key of another Headgate, whole, and no admin token', async () => {
    const token = createToken(API_KEY_PREFIX, randomBytes(32));
    const { status, body } = await create({ token });
    expect([status, body.data.token_prefix]).toEqual([201, token.slice(0, 12)]);
    expect(await statusOf(token)).toBe(200);
    for (const wrong of [token.replace(/.$/, token.endsWith('A') ? 'B' : 'A'), `hga_${token.slice(4)}`]) {
      const answer = await create({ token: wrong });
      expectProblem(answer, 'validation_failed', { pointers: ['/token'] });
      expect(JSON.stringify(answer.body)).not.toContain(wrong);
    }
  });
});

describe('bringing a value', () => {
  it('needs the role admin: an editor, who may create keys, gets an error that says so', async () => {
    const token = newValue();
    for (const role of ['viewer', 'editor', 'admin']) {
      const admin = await gateway.must('POST', '/admin/tokens', { name: role, role });
      const as = { authorization: `Bearer ${admin.token}` };
      const answer = await create({ token }, 'shop', as);
      if (role === 'admin') expect(answer.status).toBe(201);
      else expectProblem(answer, 'forbidden');
      if (role !== 'editor') continue;
      expect(answer.body.detail).toBe(
        'The field "token" needs the role "admin"; the admin token has the role "editor"',
      );
      expect((await create({}, 'shop', as)).status).toBe(201);
    }
  });

  it('that a key of any app already has is 409, and the answer does not say which key', async () => {
    const token = newValue();
    const { id } = (await create({ token, name: 'of the bank' }, 'bank')).body.data;
    const drawn = await createKey(gateway, 'bank');
    for (const value of [token, drawn.token]) {
      const answer = await create({ token: value });
      expectProblem(answer, 'conflict', { pointers: ['/token'] });
      const text = JSON.stringify(answer.body);
      for (const told of [value, id, drawn.id, 'bank']) expect(text).not.toContain(told);
    }
    await gateway.must('DELETE', `/apps/bank/tokens/${id}`);
    expect((await create({ token })).status).toBe(201);
  });

  it('at once from many sides makes one key', async () => {
    const token = newValue();
    const answers = await Promise.all(
      ['shop', 'bank', 'shop', 'bank'].map((slug) => create({ token }, slug)),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409, 409]);
  });

  it('as a dry run stores nothing and shows nothing', async () => {
    const token = newValue();
    const answer = await gateway.api('POST', '/apps/shop/tokens?dry_run=true', { name: 'tried', token });
    expect(answer.body.data.would_answer.status).toBe(201);
    expect(JSON.stringify(answer.body)).not.toContain(token);
    expect(await statusOf(token)).toBe(401);
  });

  it('is for creations only', async () => {
    const token = newValue();
    const { id } = await createKey(gateway, 'shop');
    for (const method of ['PATCH', 'PUT']) {
      const answer = await gateway.api(method, `/apps/shop/tokens/${id}`, { name: 'x', token });
      expectProblem(answer, 'validation_failed', { pointers: ['/token'] });
      expect(JSON.stringify(answer.body)).not.toContain(token);
    }
  });

  it('a body that is no JSON is refused without saying the value back', async () => {
    const token = newValue();
    for (const text of [`{"name":"x","token":"${token}"`, `{"name":"x","token":${token}}`]) {
      const response = await fetch(`${gateway.base}/api/v1/apps/shop/tokens`, {
        method: 'POST',
        headers: { ...bearer(ADMIN_TOKEN), 'content-type': 'application/json' },
        body: text,
      });
      expect(response.status).toBe(400);
      expect(await response.text()).not.toContain(token);
    }
  });
});

it('no value is in the log, the database or the snapshot file', async () => {
  expect(values.length).toBeGreaterThan(5);
  const files = readdirSync(gateway.folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
  expect(files.length).toBeGreaterThan(0);
  for (const text of [gateway.output(), ...files]) {
    for (const value of values) expect(text.includes(value)).toBe(false);
  }
});
