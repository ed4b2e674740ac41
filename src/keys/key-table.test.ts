import * as crypto from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { keyRecord } from '../../test/support/data/config-records.ts';
import { KeyTable } from './key-table.ts';

const hash = (digit: string): string => digit.repeat(64);
const sha256 = (text: string): string => crypto.hash('sha256', text);

describe('KeyTable', () => {
  it('decodes every field to what was encoded', () => {
    const table = new KeyTable();
    const plain = keyRecord({ id: 'k1', token_hash: hash('a') });
    const full = keyRecord({
      id: 'k2',
      token_hash: hash('b'),
      app_id: 'other',
      name: 'name with "quotes", commas and ü – ☃',
      scopes: ['read', 'write:all'],
      is_active: false,
      updated_at: '2026-02-02T00:00:00.000Z',
      expires_at: '2027-01-01T00:00:00.000Z',
      last_used_at: '2026-03-03T00:00:00.000Z',
      rate_limit: { enabled: true, requests: 5, window_seconds: 60 },
      previous_token_hash: hash('c'),
      previous_expires_at: '2026-04-04T00:00:00.000Z',
    });
    table.change([plain, full], []);
    expect(table.findKeyByHash(hash('a'))).toEqual(plain);
    expect(table.findKeyByHash(hash('b'))).toEqual(full);
    expect(table.findKeyById('k2')).toEqual(full);
    expect(table.size).toBe(2);
  });

  it('finds a rotated key by both hashes until the old one is dropped', () => {
    const table = new KeyTable();
    table.change([keyRecord({ id: 'k', token_hash: hash('a') })], []);
    const rotated = keyRecord({
      id: 'k',
      token_hash: hash('b'),
      previous_token_hash: hash('a'),
      previous_expires_at: '2026-01-01T01:00:00.000Z',
    });
    table.change([rotated], []);
    expect(table.findKeyByHash(hash('a'))).toEqual(rotated);
    expect(table.findKeyByHash(hash('b'))).toEqual(rotated);
    table.change([keyRecord({ id: 'k', token_hash: hash('b') })], []);
    expect(table.findKeyByHash(hash('a'))).toBeUndefined();
    expect(table.findKeyByHash(hash('b'))?.id).toBe('k');
    expect(table.size).toBe(1);
  });

  it('finds each of many keys by its last two hashes, rotation after rotation', () => {
    const table = new KeyTable();
    // Among so many keys, both hashes of a key often belong into neighbouring places of the index.
    const ids = Array.from({ length: 1_000 }, (_, index) => `k${index}`);
    const valueOf = (id: string, turn: number): string => sha256(`${id} ${turn}`);
    for (let turn = 0; turn < 5; turn++) {
      for (const id of ids) {
        const previous = turn === 0 ? {} : { previous_token_hash: valueOf(id, turn - 1) };
        table.change([keyRecord({ id, token_hash: valueOf(id, turn), ...previous })], []);
        table.release(table.takeRetired());
      }
      const found = (of: number): (string | undefined)[] =>
        ids.map((id) => table.findKeyByHash(valueOf(id, of))?.id);
      expect(found(turn), 'present').toEqual(ids);
      if (turn > 0) expect(found(turn - 1), 'previous').toEqual(ids);
      if (turn > 1)
        expect(new Set(found(turn - 2)), 'the hash before the previous one').toEqual(new Set([undefined]));
    }
    table.change([], ids);
    expect(ids.flatMap((id) => [3, 4].map((turn) => table.findKeyByHash(valueOf(id, turn))))).toEqual(
      ids.flatMap(() => [undefined, undefined]),
    );
  });

  it('removes keys under both of their hashes', () => {
    const table = new KeyTable();
    table.change([keyRecord({ id: 'k', token_hash: hash('a'), previous_token_hash: hash('b') })], []);
    table.change([], ['k', 'unknown']);
    expect(table.findKeyByHash(hash('a'))).toBeUndefined();
    expect(table.findKeyByHash(hash('b'))).toBeUndefined();
    expect(table.findKeyById('k')).toBeUndefined();
    expect(table.size).toBe(0);
  });

  it('stores the last of several records of one key', () => {
    const table = new KeyTable();
    table.change(
      [keyRecord({ id: 'k', token_hash: hash('a') }), keyRecord({ id: 'k', token_hash: hash('b') })],
      [],
    );
    expect(table.findKeyByHash(hash('a'))).toBeUndefined();
    expect(table.findKeyByHash(hash('b'))?.id).toBe('k');
    expect(table.size).toBe(1);
  });

  it.each([
    ['unchanged', 'k'],
    ['another', 'renamed'],
  ])('keeps a key that a change both contains (%s) and removes', (_name, name) => {
    const table = new KeyTable();
    const key = keyRecord({ id: 'k', name: 'k' });
    table.change([key], []);
    table.change([{ ...key, name }], ['k']);
    expect(table.findKeyById('k')).toEqual({ ...key, name });
    expect(table.findKeyByHash(key.token_hash)?.name).toBe(name);
    expect(table.size).toBe(1);
  });

  it('lets two keys exchange their hashes in one change', () => {
    const table = new KeyTable();
    table.change(
      [keyRecord({ id: 'x', token_hash: hash('a') }), keyRecord({ id: 'y', token_hash: hash('b') })],
      [],
    );
    table.change(
      [keyRecord({ id: 'x', token_hash: hash('b') }), keyRecord({ id: 'y', token_hash: hash('a') })],
      [],
    );
    expect(table.findKeyByHash(hash('a'))?.id).toBe('y');
    expect(table.findKeyByHash(hash('b'))?.id).toBe('x');
  });

  it('does not find a key by a prefix of its hash or id', () => {
    const table = new KeyTable();
    table.change([keyRecord({ id: 'key-10', token_hash: 'abcd' })], []);
    expect(table.findKeyByHash('abc')).toBeUndefined();
    expect(table.findKeyById('key-1')).toBeUndefined();
    expect(table.findKeyByHash('')).toBeUndefined();
  });

  it('increases the generation with changes only', () => {
    const table = new KeyTable();
    const before = table.generation;
    table.change([], []);
    expect(table.generation).toBe(before);
    table.change([keyRecord({ id: 'k' })], []);
    const added = table.generation;
    expect(added).toBeGreaterThan(before);
    table.change([], ['k']);
    expect(table.generation).toBeGreaterThan(added);
  });

  it('agrees with a map through many additions, replacements and removals', () => {
    const table = new KeyTable();
    const expected = new Map<string, string>();
    let state = 12345;
    const next = (below: number): number => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % below;
    for (let step = 0; step < 20_000; step++) {
      const id = `key-${next(2000)}`;
      if (next(3) === 0) {
        table.change([], [id]);
        expected.delete(id);
      } else {
        const tokenHash = `${id}/${step}`.padStart(64, '0');
        table.change([keyRecord({ id, token_hash: tokenHash })], []);
        expected.set(id, tokenHash);
      }
    }
    expect(table.size).toBe(expected.size);
    for (const [id, tokenHash] of expected) expect(table.findKeyByHash(tokenHash)?.id).toBe(id);
    for (let n = 0; n < 2000; n++)
      expect(table.findKeyById(`key-${n}`)?.token_hash).toBe(expected.get(`key-${n}`));
    table.clear();
    expect(table.size).toBe(0);
    expect(table.findKeyById('key-1')).toBeUndefined();
  });

  it('keeps all keys unchanged when they are packed and added to another table', () => {
    const table = new KeyTable();
    const keys = Array.from({ length: 500 }, (_, index) =>
      keyRecord({
        id: `0198a000-0000-7000-8000-${index.toString(16).padStart(12, '0')}`,
        token_hash: sha256(`token ${index}`),
        name: 'ü'.repeat(index % 40),
        scopes: index % 3 === 0 ? [] : ['read', 'write'],
        ...(index % 5 === 0 ? { previous_token_hash: sha256(`before ${index}`) } : {}),
        ...(index % 7 === 0 ? { expires_at: '2027-01-01T00:00:00.000Z' } : {}),
        ...(index % 11 === 0 ? { id: `not a UUID ${index}`, name: 'x'.repeat(10_000) } : {}),
      }),
    );
    table.change(keys, []);
    // Shorter records replace longer ones, so that blocks are larger than their records.
    const renamed = keys.map((key) => ({ ...key, name: key.name.slice(0, 3) }));
    table.change(renamed.slice(0, 250), []);
    table.release(table.takeRetired());
    table.change([...renamed.slice(250), keyRecord({ id: 'short', token_hash: hash('a') })], ['short']);
    const other = new KeyTable();
    other.change([keyRecord({ id: keys[1]?.id ?? '', token_hash: hash('b') })], []);
    for (const chunk of table.packed(2_000)) other.addPacked(chunk);
    const inOrder = (all: KeyTable) => [...all.all()].sort((a, b) => (a.id < b.id ? -1 : 1));
    expect(inOrder(other)).toEqual(inOrder(table));
    expect(other.size).toBe(501);
    expect(other.findKeyByHash(hash('b'))).toBeUndefined();
    expect(other.findKeyByHash(sha256('before 5'))?.id).toBe(keys[5]?.id);
    other.change([], [keys[3]?.id ?? '']);
    expect(other.findKeyByHash(sha256('token 3'))).toBeUndefined();
  });

  it('gives all keys in slices, also when the table grows between them', () => {
    const table = new KeyTable();
    const make = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, index) =>
        keyRecord({ id: `k${from + index}`, token_hash: sha256(`token ${from + index}`) }),
      );
    expect([...table.slices(10)].flat()).toEqual([]);
    table.change(make(0, 500), []);
    const ids = new Set<string>();
    let slices = 0;
    for (const slice of table.slices(64)) {
      expect(slice.length).toBeLessThanOrEqual(64);
      for (const { id } of slice) ids.add(id);
      if (++slices === 3) table.change(make(500, 5_000), ['k499']);
    }
    expect(ids.size).toBeGreaterThanOrEqual(4_999);
    expect(ids.has('k4999') && ids.has('k0')).toBe(true);
  });

  it('refuses bytes that are not packed keys', () => {
    const table = new KeyTable();
    table.change([keyRecord({ id: 'k' })], []);
    const [chunk = Buffer.alloc(0)] = table.packed(1_000);
    for (const bytes of [chunk.subarray(0, -8), chunk.subarray(8), Buffer.alloc(16), Buffer.alloc(7)]) {
      expect(() => new KeyTable().addPacked(bytes)).toThrow();
    }
  });

  it('refuses packed keys beyond its limit', () => {
    const table = new KeyTable();
    table.change([keyRecord({ id: 'j' }), keyRecord({ id: 'k' })], []);
    const [chunk = Buffer.alloc(0)] = table.packed(1_000);
    expect(() => new KeyTable({ keysMax: 1 }).addPacked(chunk)).toThrow(/Cannot hold more API keys/);
  });
});
