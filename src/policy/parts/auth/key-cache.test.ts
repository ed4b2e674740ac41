import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { API_KEY_PREFIX, createToken } from '../../../model/token.ts';
import { NOW_MS, TestKeys, testApp } from '../../test-fixtures.ts';
import { createApiKeys } from './api-key.ts';
import { KeyCache } from './key-cache.ts';

/** With few places, so that few keys are many. */
function start() {
  const keys = new TestKeys();
  const cache = new KeyCache(keys, 12);
  /** Number of table look-ups. */
  const lookupsOf = (tokens: readonly string[]): number => {
    const before = keys.lookups;
    for (const token of tokens) expect(cache.resolve(`Bearer ${token}`)).toBeTypeOf('object');
    return keys.lookups - before;
  };
  const newTokens = (count: number, appId = 'app-billing'): string[] =>
    Array.from({ length: count }, () => keys.create({ app_id: appId }).token);
  return { keys, cache, lookupsOf, newTokens };
}

it('keeps a key from its second use, until any key changes', () => {
  const { lookupsOf, newTokens } = start();
  const [token = ''] = newTokens(1);
  expect(lookupsOf(Array(5).fill(token))).toBe(2);
  expect(lookupsOf([token])).toBe(0);
  newTokens(1);
  expect(lookupsOf(Array(5).fill(token))).toBe(1);
});

it('keeps each form of presenting a key separately', () => {
  const { keys, cache, newTokens } = start();
  const [token = ''] = newTokens(1);
  const values = [`Bearer ${token}`, `bearer  ${token}`, token];
  for (let round = 0; round < 3; round++) {
    for (const value of values) expect(cache.resolve(value)).toMatchObject({ caller: { id: 'key-1' } });
  }
  expect(cache.resolve(`Bearer ${token.slice(0, -1)}`)).toBe('key_malformed');
  expect(cache.resolve(`${token} `)).toBe('key_malformed');
  expect(keys.lookups).toBeGreaterThan(0);
});

it('does not keep a long field value', () => {
  const { keys, cache, newTokens } = start();
  const [token = ''] = newTokens(1);
  for (let use = 0; use < 5; use++) cache.resolve(`Bearer ${' '.repeat(300)}${token}`);
  expect(keys.lookups).toBe(5);
});

it('guesses do not displace keys', () => {
  const { cache, lookupsOf, newTokens } = start();
  const tokens = newTokens(50);
  for (let round = 0; round < 3; round++) lookupsOf(tokens);
  const kept = lookupsOf(tokens);
  for (let guess = 0; guess < 20_000; guess++) {
    cache.resolve(`Bearer ${createToken(API_KEY_PREFIX, randomBytes(32))}`);
    cache.resolve(`Bearer ${API_KEY_PREFIX}${randomBytes(37).toString('base64url').slice(0, 49)}`);
  }
  expect(lookupsOf(tokens)).toBe(kept);
});

it('many keys of one app displace few keys of another', () => {
  const { lookupsOf, newTokens } = start();
  const tokens = newTokens(50);
  const others = newTokens(20_000, 'app-other');
  for (let round = 0; round < 3; round++) lookupsOf(tokens);
  lookupsOf(others);
  lookupsOf(others);
  expect(lookupsOf(tokens)).toBeLessThan(10);
});

it('of keys in use that share a place, one stays, also when they take turns', () => {
  const { lookupsOf, newTokens } = start();
  const tokens = newTokens(3_000);
  for (let round = 0; round < 8; round++) lookupsOf(tokens);
  // 4,096 places: some 2,130 have at least one of these keys.
  expect(lookupsOf(tokens)).toBeLessThan(1_100);
});

it('each key is known exactly while it exists', () => {
  const keys = new TestKeys();
  const apiKeys = createApiKeys({ keys });
  const verdictOn = (token: string): string => {
    const refused = { refusedKeyId: '', refusedKeyName: '' };
    const caller = apiKeys.identify(`Bearer ${token}`, testApp(), NOW_MS, refused);
    return typeof caller === 'string' ? caller : caller.id;
  };
  const alive: ReturnType<TestKeys['create']>[] = [];
  for (let index = 0; index < 1_000; index++) {
    const made = keys.create();
    alive.push(made);
    for (let use = 0; use < 3; use++) expect(verdictOn(made.token)).toBe(made.key.id);
    const gone = alive.length > 40 ? alive.shift() : undefined;
    if (gone === undefined) continue;
    keys.remove(gone.key);
    expect(verdictOn(gone.token)).toBe('key_unknown');
  }
  expect(alive.map(({ token }) => verdictOn(token))).toEqual(alive.map(({ key }) => key.id));
});
