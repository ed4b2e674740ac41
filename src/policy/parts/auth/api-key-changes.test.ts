/** Changes of a key take effect with the next request, whether or not a worker has cached the key. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { keyRecord } from '../../../../test/support/data/config-records.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import type { StoredApiKey } from '../../../model/resources.ts';
import { API_KEY_PREFIX, createToken, tokenHash } from '../../../model/token.ts';
import { KeyTable } from '../../../keys/key-table.ts';
import { createApiKeys } from './api-key.ts';
import type { Caller } from '../../stage.ts';
import { NOW_MS } from '../../test-fixtures.ts';

const APP = { id: uuidv7(NOW_MS), slug: 'billing' };
const PLAN = { enabled: true, requests: 5, window_seconds: 60 };
const OTHER_PLAN = { enabled: true, requests: 6, window_seconds: 60 };

interface Made {
  readonly token: string;
  readonly key: StoredApiKey;
}

function newKey(fields: Partial<StoredApiKey> = {}): Made {
  const token = createToken(API_KEY_PREFIX, randomBytes(32));
  const id = uuidv7(NOW_MS);
  return {
    token,
    key: keyRecord({
      id,
      app_id: APP.id,
      name: 'till',
      scopes: ['read'],
      token_hash: tokenHash(token),
      ...fields,
    }),
  };
}

function start(...keys: readonly StoredApiKey[]) {
  const table = new KeyTable();
  table.change(keys, []);
  const apiKeys = createApiKeys({ keys: table });
  const ask = (token: string, nowMs = NOW_MS): Caller | string =>
    apiKeys.identify(`Bearer ${token}`, APP, nowMs, { refusedKeyId: '', refusedKeyName: '' });
  return { table, ask };
}

describe.each([
  ['used once', 1, null],
  ['in the cache', 2, null],
  ['used repeatedly', 5, null],
  ['with its own plan', 1, PLAN],
  ['with its own plan, used repeatedly', 5, PLAN],
])('a key %s', (_name, times, rate_limit) => {
  const ready = () => {
    const made = newKey({ rate_limit });
    const gateway = start(made.key, newKey().key);
    for (let count = 0; count < times; count++) {
      expect(gateway.ask(made.token)).toMatchObject({ id: made.key.id, keyRateLimit: rate_limit });
    }
    const change = (fields: Partial<StoredApiKey>): Caller | string => {
      gateway.table.change([{ ...made.key, ...fields }], []);
      return gateway.ask(made.token);
    };
    return { ...gateway, ...made, change };
  };

  it('is refused when it is disabled, and accepted when it is enabled again', () => {
    const { change } = ready();
    expect(change({ is_active: false })).toBe('key_disabled');
    expect(change({})).toMatchObject({ name: 'till' });
  });

  it('is refused from its expiry on, without a change', () => {
    const { ask, change, token } = ready();
    const expires_at = new Date(NOW_MS + 1_000).toISOString();
    expect(change({ expires_at })).toMatchObject({ name: 'till' });
    for (let count = 0; count < times; count++) ask(token);
    expect(ask(token, NOW_MS + 999)).toMatchObject({ name: 'till' });
    expect(ask(token, NOW_MS + 1_000)).toBe('key_expired');
  });

  it('has its next limit plan, its next scopes and its next name', () => {
    const { change } = ready();
    expect(change({ rate_limit: OTHER_PLAN })).toMatchObject({ keyRateLimit: OTHER_PLAN });
    expect(change({ rate_limit: null })).toMatchObject({ keyRateLimit: null });
    expect(change({ rate_limit: PLAN })).toMatchObject({ keyRateLimit: PLAN });
    const changed = change({ scopes: ['write'], name: 'désk' }) as Caller;
    expect([changed.name, [...changed.scopes]]).toEqual(['désk', ['write']]);
    expect(changed.upstreamHeaderLines).toContain('X-Headgate-Scopes: write\r\n');
  });

  it('is refused by its previous value when the overlap is over', () => {
    const { ask, change, key, token } = ready();
    const next = newKey();
    const rotated = {
      token_hash: next.key.token_hash,
      previous_token_hash: key.token_hash,
      previous_expires_at: new Date(NOW_MS + 1_000).toISOString(),
    };
    expect(change(rotated)).toMatchObject({ id: key.id });
    expect(ask(next.token)).toMatchObject({ id: key.id });
    expect(ask(token, NOW_MS + 1_000)).toBe('key_expired');
    expect(ask(next.token, NOW_MS + 1_000)).toMatchObject({ id: key.id });
    expect(change({ ...rotated, previous_expires_at: null })).toBe('key_unknown');
    expect(ask(next.token)).toMatchObject({ id: key.id });
  });

  it('is unknown when it is deleted, even if another key uses its place', () => {
    const { ask, key, table, token } = ready();
    table.change([], [key.id]);
    expect(ask(token)).toBe('key_unknown');
    table.release(table.takeRetired());
    const other = newKey({ rate_limit });
    table.change([other.key], []);
    for (let count = 0; count < times; count++) {
      expect(ask(token)).toBe('key_unknown');
      expect(ask(other.token)).toMatchObject({ id: other.key.id });
    }
  });
});
