import { expect, it } from 'vitest';
import { callerOfKey } from './key-caller.ts';

const KEY = {
  id: '0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
  appId: 'app',
  name: 'nightly job',
  scopes: ['orders:read', 'orders:write'],
  isActive: true,
  rateLimit: null,
  expiresAtMs: Infinity,
};
const ID_LINE = `X-Headgate-Key-Id: ${KEY.id}\r\n`;

it.each([
  ['nightly job', KEY.scopes, 'nightly job', 'X-Headgate-Scopes: orders:read orders:write\r\n'],
  ['a', [], 'a', ''],
  ['50 %', ['no scope token', 'a'], '50 %25', 'X-Headgate-Scopes: a\r\n'],
  [' office', [], '%20office', ''],
  ['b\u00fcro\r\nX: y', [], 'b%C3%BCro%0D%0AX: y', ''],
])('sends id, name and scopes to the backend: %j', (name, scopes, nameText, scopesLine) => {
  const caller = callerOfKey({ ...KEY, name, scopes });
  expect(caller.upstreamHeaderLines).toBe(`${ID_LINE}X-Headgate-Key-Name: ${nameText}\r\n${scopesLine}`);
  expect(caller).toMatchObject({ kind: 'api_key', id: KEY.id, name, claims: undefined, keyRateLimit: null });
  expect([...caller.scopes]).toEqual(scopes);
});

it('omits a name that is too long for a field', () => {
  expect(callerOfKey({ ...KEY, scopes: [], name: 'n'.repeat(4_097) }).upstreamHeaderLines).toBe(ID_LINE);
});
