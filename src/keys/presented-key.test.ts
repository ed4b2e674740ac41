/** Reading a key for a request, compared with a slow twin that decodes the whole record. */
import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyRecord } from '../../test/support/data/config-records.ts';
import { heapBytes } from '../../test/support/measure/garbage.ts';
import type { StoredApiKey } from '../model/resources.ts';
import { KeyTable } from './key-table.ts';
import { presentedKey, type PresentedKey } from './presented-key.ts';

const PRESENT = hash('sha256', 'present');
const PREVIOUS = hash('sha256', 'previous');
const ID = '0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';

function find(table: KeyTable, tokenHash: string): PresentedKey | undefined {
  return table.findPresentedKey(Buffer.from(tokenHash, 'hex').toString('latin1'));
}

function tableWith(...keys: StoredApiKey[]): KeyTable {
  const table = new KeyTable();
  table.change(keys, []);
  return table;
}

/** Texts that could be mistaken for the end of something. */
const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.stringMatching(/^[\]["\\,{}:nü☃ a]*$/, { maxLength: 12 }),
  fc.constantFrom('', ']', '"]', '],"', '","', 'orders:read', 'name', '\\u0041', '__proto__'),
);
const time = fc.oneof(
  fc.integer({ min: 0, max: 4_102_444_800_000 }).map((ms) => new Date(ms).toISOString()),
  fc.constantFrom('soon', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000+01:00', ''),
);
const plan = fc.constantFrom(
  null,
  null,
  { enabled: false },
  { enabled: true, requests: 5, per: 'header:x"y' },
);
const record: fc.Arbitrary<StoredApiKey> = fc
  .record({
    id: fc.constantFrom(ID, 'k', ID.toUpperCase()),
    app_id: fc.oneof(fc.uuid(), fc.constantFrom('app', ID)),
    name: text,
    scopes: fc.array(text, { maxLength: 4 }),
    token_prefix: fc.constantFrom('hgk_abcdefgh', '', 'hgk_"'),
    is_active: fc.boolean(),
    created_at: time,
    updated_at: time,
    expires_at: fc.option(time),
    last_used_at: fc.option(time),
    rate_limit: plan,
    token_hash: fc.constant(PRESENT),
    previous_token_hash: fc.constantFrom(null, PREVIOUS),
    previous_expires_at: fc.option(time),
  })
  .chain((key) => fc.constantFrom(key, { ...key, added_later: [1, 'x'] }));

/** Records with the usual number of fields. */
const usualRecord = fc
  .record({
    key: record,
    usual: fc.record(
      {
        id: fc.constant(ID),
        app_id: fc.constant(ID),
        name: fc.constantFrom('office', ']', 'a],[b'),
        scopes: fc.array(fc.constantFrom(']', 'orders:read', '],'), { maxLength: 3 }),
        created_at: fc.constant('2026-01-01T00:00:00.000Z'),
        updated_at: fc.constantFrom('2026-01-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'),
        expires_at: fc.constantFrom(null, '2026-03-01T00:00:00.000Z'),
        last_used_at: fc.constantFrom(null, '2026-03-01T00:00:00.000Z'),
        previous_expires_at: fc.constantFrom(null, '2026-02-01T00:00:00.000Z'),
        rate_limit: fc.constant(null),
      },
      { noNullPrototype: true },
    ),
    without: fc.option(fc.constantFrom('name', 'app_id', 'rate_limit', 'expires_at', 'id'), { freq: 3 }),
  })
  .map(({ key, usual, without }) => {
    const { added_later: _later, ...fields } = { added_later: [], ...key };
    const made = { ...fields, ...usual };
    return without === null ? made : { ...made, [without]: key[without as keyof StoredApiKey] };
  });

describe('a presented key', () => {
  it('agrees with its record, for any record', () => {
    fc.assert(
      fc.property(record, (key) => {
        const table = tableWith(key);
        expect(find(table, PRESENT)).toEqual(presentedKey(key, false));
        const previous = key.previous_token_hash === null ? undefined : presentedKey(key, true);
        expect(find(table, PREVIOUS)).toEqual(previous);
      }),
      { numRuns: 500 },
    );
  });

  it('agrees with its record, for usual records', () => {
    fc.assert(
      fc.property(usualRecord, (key) => {
        const table = tableWith(key);
        expect(find(table, PRESENT)).toEqual(presentedKey(key, false));
        const previous = key.previous_token_hash === null ? undefined : presentedKey(key, true);
        expect(find(table, PREVIOUS)).toEqual(previous);
      }),
      { numRuns: 500 },
    );
  });

  it('is refused from its expiry or the end of the overlap on, whichever comes first', () => {
    const [early, late] = ['2026-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'];
    const rotated = { id: ID, app_id: ID, token_hash: PRESENT, previous_token_hash: PREVIOUS };
    const cases: [
      expires: string | null,
      overlap: string | null,
      present: string | null,
      previous: unknown,
    ][] = [
      [null, early, null, Date.parse(early)],
      [early, late, early, Date.parse(early)],
      [late, early, late, Date.parse(early)],
      [late, null, late, undefined],
      [null, 'never', null, 0],
    ];
    for (const [expires_at, previous_expires_at, present, previous] of cases) {
      const table = tableWith(keyRecord({ ...rotated, expires_at, previous_expires_at }));
      expect(find(table, PRESENT)?.expiresAtMs).toBe(present === null ? Infinity : Date.parse(present));
      expect(find(table, PREVIOUS)?.expiresAtMs).toBe(previous);
    }
  });

  it('shares equal lists of scopes with other keys and has the right app', () => {
    const ids = Array.from({ length: 300 }, (_, index) => ID.slice(0, -3) + String(index).padStart(3, '0'));
    const keys = ids.map((id, index) =>
      keyRecord({
        id,
        app_id: ids[299 - index] ?? '',
        name: index % 3 === 0 ? 'büro' : 'office',
        scopes: index % 2 === 0 ? ['orders:read', 'a]'] : [],
        token_hash: hash('sha256', id),
      }),
    );
    const table = tableWith(...keys);
    const found = keys.map(({ token_hash }) => find(table, token_hash));
    expect(found).toEqual(keys.map((key) => presentedKey(key, false)));
    expect(new Set(found.map((key) => key?.scopes)).size).toBe(2);
  });

  it('does not keep the memory of its record alive', () => {
    const scopes = Array.from({ length: 100 }, (_, index) => `orders:of-customer-${index}:read`);
    const textBytes = JSON.stringify(scopes).length;
    const hashes = Array.from({ length: 500 }, (_, index) => hash('sha256', `token ${index}`));
    const keys = hashes.map((tokenHash, index) =>
      keyRecord({
        id: ID.slice(0, -3) + String(index).padStart(3, '0'),
        app_id: ID,
        name: `key number ${index} of the shop`,
        scopes,
        token_hash: tokenHash,
      }),
    );
    const table = tableWith(...keys);
    find(table, hashes[0] ?? '');
    const before = heapBytes();
    const found = hashes.map((tokenHash) => find(table, tokenHash));
    expect(heapBytes() - before).toBeLessThan((hashes.length * textBytes) / 2);
    expect(found.at(-1)?.name).toBe('key number 499 of the shop');
  });

  it('is not found by a hash that no key has', () => {
    expect(find(tableWith(keyRecord({ id: ID, token_hash: PRESENT })), PREVIOUS)).toBeUndefined();
  });
});
