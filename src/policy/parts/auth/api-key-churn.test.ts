/** A worker through which ever other API keys come: what it remembers is as much as there are keys, not as there were. */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { keyRecord } from '../../../../test/support/data/config-records.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import { API_KEY_PREFIX, createToken, tokenHash } from '../../../model/token.ts';
import { KeyTable } from '../../../keys/key-table.ts';
import { createApiKeys } from './api-key.ts';
import { NOW_MS, testGateway } from '../../test-fixtures.ts';

const KEYS = 3_000;
const ALIVE = 40;

it('needs no more memory for the tokens of keys that come and go', () => {
  const table = new KeyTable();
  const apiKeys = createApiKeys({ ...testGateway().dependencies, keys: table });
  const app = { id: uuidv7(NOW_MS), slug: 'billing' };
  const verdictOn = (token: string): string => {
    const refused = { refusedKeyId: '', refusedKeyName: '' };
    const caller = apiKeys.identify(`Bearer ${token}`, app, NOW_MS, refused);
    return typeof caller === 'string' ? caller : caller.id;
  };
  const alive: { readonly id: string; readonly token: string }[] = [];
  let bytes = 0;
  for (let index = 0; index < KEYS; index++) {
    const [id, token] = [uuidv7(NOW_MS), createToken(API_KEY_PREFIX, randomBytes(32))];
    const gone = alive.length < ALIVE ? undefined : alive.shift();
    const key = keyRecord({ id, app_id: app.id, name: 'soak', token_hash: tokenHash(token) });
    table.change([key], gone === undefined ? [] : [gone.id]);
    alive.push({ id, token });
    expect(verdictOn(token)).toBe(id);
    if (gone !== undefined) expect(verdictOn(gone.token)).toBe('key_unknown');
    if (index === 0) bytes = apiKeys.tokenMemoryBytes;
  }
  expect(bytes).toBeGreaterThan(0);
  expect(apiKeys.tokenMemoryBytes).toBe(bytes);
  expect(alive.map(({ token }) => verdictOn(token))).toEqual(alive.map(({ id }) => id));
});
