/** Dry runs by viewers, over HTTP on a real database. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createBilling, startManagement, verdict, type Fixture } from '../management.fixture.ts';
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

it('a viewer may try a write, and the configuration stays as it is', async () => {
  const reply = await api.patch('/apps/billing?dry_run=true', { name: 'Other' }, { token });
  expect(reply.status).toBe(200);
  expect(reply.body.data.would_answer.data.name).toBe('Other');
  expect((await api.get('/apps/billing')).body.data.name).not.toBe('Other');
});

it.each(['', '?dry_run=false', '?dry_run=1', '?dry_run=true&dry_run=true', '?dry_run=true&dry_run=false'])(
  'a viewer may not write with "%s"',
  async (query) => {
    const reply = await api.patch(`/apps/billing${query}`, { name: 'Other' }, { token });
    expect(verdict(reply).slice(0, 2)).toEqual([403, 'forbidden']);
    expect((await api.get('/apps/billing')).body.data.name).not.toBe('Other');
  },
);

it('a viewer cannot try a secret, which would tell whether it is the stored one', async () => {
  await api.patch('/apps/billing', jwt(SECRET));
  for (const guess of [SECRET, `${SECRET}x`]) {
    const reply = await api.patch('/apps/billing?dry_run=true', jwt(guess), { token });
    expect(verdict(reply).slice(0, 2)).toEqual([403, 'forbidden']);
    expect(reply.text).not.toContain(guess);
  }
  expect((await api.patch('/apps/billing?dry_run=true', jwt(MASK), { token })).status).toBe(200);
});

it('a viewer may not try what is for admins', async () => {
  const value = 'a-value-of-forty-characters-0123456789abcdef';
  const brought = { name: 'brought', token: value };
  expect((await api.post('/apps/billing/tokens?dry_run=true', brought, { token })).status).toBe(403);
  const admin = { name: 'x', role: 'admin' };
  expect((await api.post('/admin/tokens?dry_run=true', admin, { token })).status).toBe(403);
});
