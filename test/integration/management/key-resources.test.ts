/**
 * Contract part 2 "API key" and part 5 "API key", through the started program: keys are made, changed, rotated and
 * deleted by the management API, and the next request obeys. Their value is shown once and kept nowhere.
 */
// oxlint-disable vitest/expect-expect -- expectData is an assertion
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { expectData, RFC3339_UTC } from '../../support/management.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createService, request } from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;
beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway(), startOrigin()]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

describe('spec 5: API keys', () => {
  const authorized = (token: string): Promise<number> =>
    request(gateway, '/keys/v1/x', { headers: { Authorization: `Bearer ${token}` } }).then(
      (response) => response.status,
    );
  const scope = 'read the "Größe"\\of it';
  beforeAll(async () => {
    const policy = { auth: { auth_type: 'api_key' }, required_scopes: [scope] };
    await createService(gateway, 'keys', origin.port, { app: { default_policy: policy } });
    await createService(gateway, 'other-keys', origin.port, { app: { default_policy: policy } });
  });
  const create = (fields: object = {}): Promise<{ id: string; token: string }> =>
    gateway.must('POST', '/apps/keys/tokens', { name: 'k', scopes: [scope], ...fields });

  it('the value has 256 random bits in a known form, and works at once', async () => {
    const { token, ...record } = await gateway.must('POST', '/apps/keys/tokens', {
      name: 'k',
      scopes: [scope],
    });
    expect(token).toMatch(/^hgk_[A-Za-z0-9_-]{43}[A-Za-z0-9_-]{6}$/);
    expect(token.startsWith(record.token_prefix)).toBe(true);
    expect(record.token_prefix.length).toBeLessThan(16);
    expect(await authorized(token)).toBe(200);
  });

  it('the value is in the creation response only', async () => {
    const { id, token } = await create({ name: 'shown once' });
    const path = `/apps/keys/tokens/${id}`;
    for (const answer of [
      await gateway.api('GET', path),
      await gateway.api('GET', '/apps/keys/tokens'),
      await gateway.api('PATCH', path, { name: 'renamed' }),
      await gateway.api('GET', '/audit?limit=500'),
      await gateway.api('GET', '//metrics'),
    ]) {
      expect(JSON.stringify(answer.body)).not.toContain(token.slice(12));
    }
    expect(await authorized(token)).toBe(200);
    expect(gateway.output()).not.toContain(token.slice(12));
  });

  it('scopes are arbitrary strings, compared as they are', async () => {
    const { token } = await create({ scopes: ['other', scope.toUpperCase()] });
    expect(await authorized(token)).toBe(403);
    expect(await authorized((await create({ scopes: ['other', scope] })).token)).toBe(200);
  });

  it('a key opens its own app only', async () => {
    const { token } = await gateway.must('POST', '/apps/other-keys/tokens', { name: 'k', scopes: [scope] });
    expect(await authorized(token)).toBe(401);
  });

  it('a change of scopes, activity or expiry is obeyed by the next request', async () => {
    const { id, token } = await create();
    const path = `/apps/keys/tokens/${id}`;
    for (const [change, expected] of [
      [{ scopes: [] }, 403],
      [{ scopes: [scope] }, 200],
      [{ is_active: false }, 401],
      [{ is_active: true }, 200],
      [{ rate_limit: { enabled: true, requests: 1, window_seconds: 3600 } }, 200],
      [{}, 429],
      [{ rate_limit: null }, 200],
    ] as const) {
      await gateway.must('PATCH', path, change);
      expect([JSON.stringify(change), await authorized(token)]).toEqual([JSON.stringify(change), expected]);
    }
    await gateway.must('DELETE', path);
    expect(await authorized(token)).toBe(401);
  });

  it('an expired key is refused', async () => {
    const { token } = await create({ expires_at: new Date(Date.now() + 4_000).toISOString() });
    expect(await authorized(token)).toBe(200);
    await expect.poll(() => authorized(token), { interval: 100 }).toBe(401);
  });

  it('rotation gives a new value; the old one lives for the overlap, and not without one', async () => {
    const created = await create();
    const path = `/apps/keys/tokens/${created.id}`;
    const rotate = async (body?: object): Promise<string> => {
      const answer = await gateway.api('POST', `${path}/rotate`, body);
      const { token, ...record } = expectData(answer);
      expect(record.id).toBe(created.id);
      expect(token.startsWith(record.token_prefix)).toBe(true);
      const { last_used_at: _sometime, ...read } = await gateway.must('GET', path);
      expect(record).toMatchObject(read);
      return token;
    };
    expect(await authorized(created.token)).toBe(200);
    const next = await rotate({ overlap_secs: 3600 });
    expect([await authorized(created.token), await authorized(next)]).toEqual([200, 200]);
    const last = await rotate();
    expect([await authorized(created.token), await authorized(next), await authorized(last)]).toEqual([
      401, 401, 200,
    ]);
  });

  it('the overlap ends by itself', async () => {
    const created = await create();
    const path = `/apps/keys/tokens/${created.id}/rotate`;
    const { token } = await gateway.must('POST', path, { overlap_secs: 4 });
    expect(await authorized(created.token)).toBe(200);
    await expect.poll(() => authorized(created.token), { interval: 100 }).toBe(401);
    expect(await authorized(token)).toBe(200);
  });

  it('last_used_at says when, and its change keeps the ETag', async () => {
    const { id, token } = await create();
    const path = `/apps/keys/tokens/${id}`;
    const before = await gateway.api('GET', path);
    expect(before.body.data.last_used_at).toBeNull();
    await authorized(token);
    const read = async (): Promise<unknown> => (await gateway.must('GET', path)).last_used_at;
    await expect.poll(read, { interval: 200 }).toMatch(RFC3339_UTC);
    expect((await gateway.api('GET', path)).headers.get('etag')).toBe(before.headers.get('etag'));
  });
});
