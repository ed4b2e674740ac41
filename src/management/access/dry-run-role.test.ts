/** Dry runs of transactions by viewers, over HTTP on a real database. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createBilling, startManagement, verdict, type Fixture, type Reply } from '../management.fixture.ts';
import { MASK } from '../write/policy-secrets-view.ts';

let api: Fixture;
let token: string;
beforeAll(async () => {
  api = await startManagement();
});
beforeEach(async () => {
  await api.reset();
  await createBilling(api);
  token = (await api.post('/admin/tokens', { name: 'reader', role: 'viewer' })).body.data.token;
});
afterAll(() => api[Symbol.asyncDispose]());

const jwt = (secret: string) => ({ default_policy: { auth: { auth_type: 'jwt', jwt: { secret } } } });
const SECRET = 'the-stored-secret-of-billing-0123456789';

function attempt(query: string, path: string, body: unknown, method = 'PATCH'): Promise<Reply> {
  const operations = [{ method, path: `/api/v1${path}`, body }];
  return api.post(`/transaction${query}`, { operations }, { token });
}

it('a viewer may try a write, and the configuration stays as it is', async () => {
  const reply = await attempt('?dry_run=true', '/apps/billing', { name: 'Other' });
  expect(reply.status).toBe(200);
  expect((await api.get('/apps/billing')).body.data.name).not.toBe('Other');
});

it.each(['', '?dry_run=false', '?dry_run=1', '?dry_run=true&dry_run=true', '?dry_run=true&dry_run=false'])(
  'a viewer may not write with "%s"',
  async (query) => {
    const reply = await attempt(query, '/apps/billing', { name: 'Other' });
    expect([400, 403]).toContain(reply.status);
    expect((await api.get('/apps/billing')).body.data.name).not.toBe('Other');
  },
);

it('a viewer cannot try a secret, which would tell whether it is the stored one', async () => {
  await api.patch('/apps/billing', jwt(SECRET));
  for (const guess of [SECRET, `${SECRET}x`]) {
    const reply = await attempt('?dry_run=true', '/apps/billing', jwt(guess));
    expect(verdict(reply).slice(0, 2)).toEqual([403, 'forbidden']);
    expect(reply.text).not.toContain(guess);
  }
  expect((await attempt('?dry_run=true', '/apps/billing', jwt(MASK))).status).toBe(200);
});

it('a viewer may not try operations for admins', async () => {
  const brought = { name: 'brought', token: 'a-value-of-forty-characters-0123456789abcdef' };
  expect((await attempt('?dry_run=true', '/apps/billing/tokens', brought, 'POST')).status).toBe(403);
});
