/**
 * `POST /api/v1/tokens/introspect`: whose a value is and whether it works, in the words of the gateway that decides it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey } from '../../support/policies.ts';
import { createService, request, type Served } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';
import { steadily } from '../../support/measure/steady.ts';

let gateway: TestGateway;
let origin: Origin;
const values: string[] = [];

beforeAll(async () => {
  // All that could ever be logged.
  const env = { GATEWAY_LOG__LEVEL: 'trace' };
  [gateway, origin] = await Promise.all([startGateway({ env }), startOrigin()]);
  await createService(gateway, 'shop', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

async function newKey(fields: object = {}): Promise<Served> {
  const key = await createKey(gateway, 'shop', { ...fields });
  values.push(key.token);
  return key;
}
const introspect = (token: string): Promise<Served> => gateway.must('POST', '/tokens/introspect', { token });
/** What introspection says must be what the proxy does. */
async function agreed(token: string): Promise<Served> {
  const found = await introspect(token);
  const { status } = await request(gateway, '/shop/v1/x', { headers: bearer(token) });
  expect(status).toBe(found.active ? 200 : 401);
  return found;
}

describe('introspection', () => {
  it('of a value that works: the record, its app, its plan, and never the value', async () => {
    const rate_limit = { enabled: true, requests: 1000, window_seconds: 60 };
    const expires_at = '2099-01-01T00:00:00.000Z';
    const key = await newKey({ name: 'till', scopes: ['a b', 'c'], rate_limit, expires_at });
    const found = await agreed(key.token);
    const { token, ...record } = key;
    expect(found).toEqual({
      ...record,
      active: true,
      reason: null,
      is_current_value: true,
      valid_until: expires_at,
      app_slug: 'shop',
      app_name: 'shop',
    });
    expect(JSON.stringify(found)).not.toContain(token);
    expect(JSON.stringify(found)).not.toMatch(/token_hash/);
  });

  it('is a read: last_used_at stays, nothing is audited', async () => {
    const key = await newKey();
    const audited = (await gateway.api('GET', '/audit')).body.page.total;
    await introspect(key.token);
    expect((await introspect(key.token)).last_used_at).toBeNull();
    expect((await gateway.api('GET', '/audit')).body.page.total).toBe(audited);
  });

  it('of a disabled one', async () => {
    const key = await newKey({ is_active: false });
    expect(await agreed(key.token)).toMatchObject({ active: false, reason: 'disabled', id: key.id });
  });

  it(
    'of one that expires: active until then',
    steadily(async () => {
      const expires_at = new Date(Date.now() + 4_000).toISOString();
      const key = await newKey({ expires_at });
      expect((await introspect(key.token)).active).toBe(true);
      const over = await until(async () => {
        const found = await introspect(key.token);
        return found.active ? undefined : found;
      });
      expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expires_at));
      expect(over).toMatchObject({ reason: 'expired', id: key.id, valid_until: expires_at });
      await agreed(key.token);
    }),
  );

  it(
    'of the value before a rotation: active for the overlap, then replaced',
    steadily(async () => {
      const key = await newKey();
      const rotated = await gateway.must('POST', `/apps/shop/tokens/${key.id}/rotate`, { overlap_secs: 4 });
      values.push(rotated.token);
      expect(await introspect(key.token)).toMatchObject({ active: true, is_current_value: false });
      expect(await agreed(rotated.token)).toMatchObject({
        active: true,
        is_current_value: true,
        valid_until: null,
      });
      const over = await until(async () => {
        const found = await introspect(key.token);
        return found.active ? undefined : found;
      });
      expect(over).toMatchObject({ reason: 'replaced', id: key.id });
      await agreed(key.token);
    }),
  );

  it('of a deleted one, and of one before a rotation without overlap: unknown, 200', async () => {
    const [deleted, replaced] = [await newKey(), await newKey()];
    await gateway.must('DELETE', `/apps/shop/tokens/${deleted.id}`);
    await gateway.must('POST', `/apps/shop/tokens/${replaced.id}/rotate`);
    for (const { token } of [deleted, replaced]) {
      expect(await agreed(token)).toEqual({ active: false, reason: 'unknown' });
    }
  });

  it.each([
    ['a mistyped one', (token: string) => token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))],
    ['one with two letters swapped', (token: string) => token.replace(/(.)(?!\1)(.)(.{8,30})$/, '$2$1$3')],
    ['one that was cut off', (token: string) => token.slice(0, -1)],
    ['one with a space', (token: string) => `${token} `],
    ['an admin token', () => `hga_${'A'.repeat(49)}`],
    ['a JWT', () => 'eyJhbGciOiJIUzI1NiJ9.e30.AAAA'],
    ['any text', () => "' OR 1=1 --"],
    ['a long text', () => 'hgk_'.repeat(10_000)],
  ])('of %s: malformed, 200', async (_name, make) => {
    const { token } = await newKey();
    const malformed = make(token);
    // Shorter ones may be in the log by chance.
    if (malformed.length > 20) values.push(malformed);
    expect(await introspect(malformed)).toEqual({ active: false, reason: 'malformed' });
  });

  it('bad bodies are refused without saying the value back', async () => {
    const { token } = await newKey();
    for (const body of [
      {},
      { token: 1 },
      { token: '' },
      { token, value: token },
      [token],
      { tokens: [token] },
    ]) {
      const answer = await gateway.api('POST', '/tokens/introspect', body);
      expect(answer.status, JSON.stringify(body)).toBe(422);
      expect(JSON.stringify(answer.body)).not.toContain(token);
    }
  });

  it('needs an editor', async () => {
    const { token } = await newKey();
    for (const [role, status] of [
      ['viewer', 403],
      ['editor', 200],
      ['admin', 200],
    ] as const) {
      const admin = await gateway.must('POST', '/admin/tokens', { name: role, role });
      const answer = await gateway.api(
        'POST',
        '/tokens/introspect',
        { token },
        { authorization: `Bearer ${admin.token}` },
      );
      expect(answer.status, role).toBe(status);
    }
    expect(
      (await gateway.api('POST', '/tokens/introspect', { token }, { authorization: 'none' })).status,
    ).toBe(401);
  });

  it('no value is ever logged', async () => {
    const { token } = await newKey({ name: 'logged' });
    const unknown = `${token.slice(0, -1)}!`;
    values.push(unknown);
    const linesOf = (): string[] =>
      gateway
        .output()
        .split('\n')
        .filter((line) => line.includes('/tokens/introspect'));
    const before = linesOf().length;
    for (const value of [token, unknown]) await introspect(value);
    await until(() => linesOf().length >= before + 2);
    for (const value of values) expect(gateway.output()).not.toContain(value);
  });
});
