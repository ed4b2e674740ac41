/** An API key from its creation to its end, as the very next requests see it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createEndingKey, createKey } from '../../support/policies.ts';
import { createService, problem, request, type Served } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
  await createService(gateway, 'shop', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const call = (token: string) => request(gateway, '/shop/v1/x', { headers: bearer(token) });
const statusOf = async (token: string): Promise<number> => (await call(token)).status;
const pathOf = (key: Served): string => `/apps/shop/tokens/${key.id}`;

describe('creation', () => {
  it('spec 4: POST /apps/{app_id}/tokens takes the slug, and answers with the key and its value', async () => {
    const answer = await gateway.api('POST', '/apps/shop/tokens', { name: 'till', scopes: ['a', 'b'] });
    expect(answer.status).toBe(201);
    expect(answer.body.data).toMatchObject({ name: 'till', scopes: ['a', 'b'], is_active: true });
    expect(answer.body.data.token).toMatch(/^hgk_[A-Za-z0-9_-]{49}$/);
    expect(answer.body.data.token.startsWith(answer.body.data.token_prefix)).toBe(true);
    expect(await statusOf(answer.body.data.token)).toBe(200);
  });

  it('spec 5.3: the value is in no other answer', async () => {
    const key = await createKey(gateway, 'shop', { name: 'once' });
    const answers = [
      await gateway.api('GET', pathOf(key)),
      await gateway.api('GET', '/apps/shop/tokens?limit=500'),
      await gateway.api('PATCH', pathOf(key), { name: 'twice' }),
      await gateway.api('GET', '/audit?limit=500'),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain(key.token);
    }
  });

  it('two keys never share a value, and a key survives its namesake', async () => {
    const [first, second] = [await createKey(gateway, 'shop'), await createKey(gateway, 'shop')];
    expect(first.token).not.toBe(second.token);
    await gateway.must('DELETE', pathOf(first));
    expect(await statusOf(first.token)).toBe(401);
    expect(await statusOf(second.token)).toBe(200);
  });
});

describe('end', () => {
  it('is_active false refuses the next request, true lets it in again', async () => {
    const key = await createKey(gateway, 'shop');
    expect(await statusOf(key.token)).toBe(200);
    await gateway.must('PATCH', pathOf(key), { is_active: false });
    const refused = await call(key.token);
    expect(refused.status).toBe(401);
    expect(refused.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(problem(refused).code).toBe('credentials_invalid');
    await gateway.must('PATCH', pathOf(key), { is_active: true });
    expect(await statusOf(key.token)).toBe(200);
  });

  it('a key created with is_active false opens nothing', async () => {
    expect(await statusOf((await createKey(gateway, 'shop', { is_active: false })).token)).toBe(401);
  });

  it('DELETE ends the key with the next request', async () => {
    const key = await createKey(gateway, 'shop');
    expect(await statusOf(key.token)).toBe(200);
    expect((await gateway.api('DELETE', pathOf(key))).status).toBe(204);
    expect(await statusOf(key.token)).toBe(401);
  });

  it('expires_at ends it by itself, without a write', async () => {
    const { key, expiresAt, before } = await until(async () => {
      const ending = await createEndingKey(gateway, 'shop', 2_000);
      const endsAt = Date.parse(ending.expires_at);
      const status = await statusOf(ending.token);
      // On a machine so busy that the key has expired already, only its end could be seen.
      return Date.now() < endsAt && { key: ending, expiresAt: endsAt, before: status };
    });
    expect(before).toBe(200);
    const refused = await until(async () => {
      const response = await call(key.token);
      return response.status === 401 ? response : undefined;
    });
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
    expect(problem(refused).detail).toMatch(/expired/);
    await gateway.must('PATCH', pathOf(key), { expires_at: null });
    expect(await statusOf(key.token)).toBe(200);
  });

  it('an expiry in the past is 422', async () => {
    const answer = await gateway.api('POST', '/apps/shop/tokens', {
      name: 'late',
      scopes: [],
      expires_at: '2001-01-01T00:00:00Z',
    });
    expect(answer.status).toBe(422);
    expect(answer.body.errors[0].pointer).toBe('/expires_at');
  });
});

describe('rotation', () => {
  it('without an overlap the old value stops with the answer, the new one works', async () => {
    const key = await createKey(gateway, 'shop', { scopes: ['kept'] });
    const rotated = await gateway.must('POST', `${pathOf(key)}/rotate`);
    expect(rotated).toMatchObject({ id: key.id, name: key.name, scopes: ['kept'] });
    expect(rotated.token).not.toBe(key.token);
    expect(await statusOf(key.token)).toBe(401);
    expect(await statusOf(rotated.token)).toBe(200);
  });

  it('overlap_secs keeps the old value alive for the overlap, and no longer', async () => {
    const { key, sentAt, rotated, old } = await until(async () => {
      const made = await createKey(gateway, 'shop');
      const sentMs = Date.now();
      const answer = await gateway.must('POST', `${pathOf(made)}/rotate`, { overlap_secs: 2 });
      const status = await statusOf(made.token);
      // On a machine so busy that the overlap is over already, only its end could be seen.
      return Date.now() < sentMs + 2_000 && { key: made, sentAt: sentMs, rotated: answer, old: status };
    });
    expect(old).toBe(200);
    expect(await statusOf(rotated.token)).toBe(200);
    await until(async () => (await statusOf(key.token)) === 401);
    expect(Date.now()).toBeGreaterThanOrEqual(sentAt + 2_000);
    expect(await statusOf(rotated.token)).toBe(200);
  });

  it('a second rotation within the overlap ends the value before the last', async () => {
    const first = await createKey(gateway, 'shop');
    const second = await gateway.must('POST', `${pathOf(first)}/rotate`, { overlap_secs: 600 });
    const { updated_at, previous_expires_at } = await gateway.must('GET', pathOf(first));
    expect(Date.parse(previous_expires_at) - Date.parse(updated_at)).toBe(600_000);
    const third = await gateway.must('POST', `${pathOf(first)}/rotate`, { overlap_secs: 600 });
    const statuses = [await statusOf(first.token), await statusOf(second.token), await statusOf(third.token)];
    expect(statuses).toEqual([401, 200, 200]);
  });

  it('disabling a key disables both of its values', async () => {
    const key = await createKey(gateway, 'shop');
    const rotated = await gateway.must('POST', `${pathOf(key)}/rotate`, { overlap_secs: 600 });
    await gateway.must('PATCH', pathOf(key), { is_active: false });
    expect([await statusOf(key.token), await statusOf(rotated.token)]).toEqual([401, 401]);
  });
});

describe('last_used_at', () => {
  it('is null until the key is used, and follows its use', async () => {
    const key = await createKey(gateway, 'shop');
    expect((await gateway.must('GET', pathOf(key))).last_used_at).toBeNull();
    const before = Date.now();
    expect(await statusOf(key.token)).toBe(200);
    const after = Date.now();
    const used: string = await until(
      async () => (await gateway.must('GET', pathOf(key))).last_used_at ?? undefined,
    );
    expect(Date.parse(used)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(used)).toBeLessThanOrEqual(after);
  });

  it('a refused use does not count', async () => {
    const [refused, marker] = [
      await createKey(gateway, 'shop', { is_active: false }),
      await createKey(gateway, 'shop'),
    ];
    expect(await statusOf(refused.token)).toBe(401);
    expect(await statusOf(marker.token)).toBe(200);
    await until(async () => (await gateway.must('GET', pathOf(marker))).last_used_at ?? undefined);
    expect((await gateway.must('GET', pathOf(refused))).last_used_at).toBeNull();
  });
});
