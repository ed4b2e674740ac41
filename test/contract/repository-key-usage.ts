/** What every repository does with the counts and last uses of API keys. */
import { expect, test } from 'vitest';
import type { KeyUsage } from '../../src/model/key-usage.ts';
import type { Repository } from '../../src/storage/repository.ts';
import { at, change, makeKey, nextId, seed } from './records.ts';

function usageOf(keyId: string, fields: Partial<KeyUsage> = {}): KeyUsage {
  return { keyId, date: '2026-01-31', lastUsedMs: 0, allowed: 0, limited: 0, denied: 0, ...fields };
}

export function keyUsageContract(current: () => Repository): void {
  const days = (keyId: string, from = '0000-01-01', to = '9999-12-31') =>
    current().read((reader) => reader.listKeyUsage(keyId, from, to));
  const keyAtPresent = async (appId: string, keyId: string) =>
    current().read((reader) => reader.findKey(appId, keyId));

  test('counts of keys add up per day; both ends of a range count', async () => {
    const { key } = await seed(current());
    await current().recordKeyUsage([
      usageOf(key.id, { allowed: 3, denied: 1 }),
      usageOf(key.id, { date: '2026-02-01', limited: 2 }),
    ]);
    await current().recordKeyUsage([usageOf(key.id, { allowed: 4, limited: 5 })]);
    const january = { date: '2026-01-31', allowed: 7, limited: 5, denied: 1 };
    const february = { date: '2026-02-01', allowed: 0, limited: 2, denied: 0 };
    expect(await days(key.id)).toEqual([january, february]);
    expect(await days(key.id, '2026-01-31', '2026-01-31')).toEqual([january]);
    expect(await days(key.id, '2026-02-01', '2026-02-01')).toEqual([february]);
    expect(await days(key.id, '2026-02-02', '2026-02-28')).toEqual([]);
  });

  test('counts beyond 32 bits stay exact', async () => {
    const { key } = await seed(current());
    const much = 9_007_199_254_740_000;
    await current().recordKeyUsage([usageOf(key.id, { allowed: much })]);
    await current().recordKeyUsage([usageOf(key.id, { allowed: 991 })]);
    expect((await days(key.id))[0]?.allowed).toBe(much + 991);
  });

  test('a key that is gone is passed over, and the others of its batch are stored', async () => {
    const { app, key } = await seed(current());
    const gone = nextId();
    await current().recordKeyUsage([
      usageOf(gone, { allowed: 1, lastUsedMs: Date.parse(at(5)) }),
      usageOf(key.id, { allowed: 2, lastUsedMs: Date.parse(at(5)) }),
    ]);
    expect(await days(gone)).toEqual([]);
    expect((await days(key.id))[0]?.allowed).toBe(2);
    expect((await keyAtPresent(app.id, key.id))?.last_used_at).toBe(at(5));
  });

  test('last uses of keys move forward only, the latest day of a batch counts; refusals are no use', async () => {
    const { app, key } = await seed(current());
    await current().recordKeyUsage([usageOf(key.id, { denied: 1 })]);
    expect((await keyAtPresent(app.id, key.id))?.last_used_at).toBeNull();
    await current().recordKeyUsage([
      usageOf(key.id, { allowed: 1, lastUsedMs: Date.parse(at(6)) }),
      usageOf(key.id, { date: '2026-01-30', allowed: 1, lastUsedMs: Date.parse(at(5)) }),
    ]);
    await current().recordKeyUsage([usageOf(key.id, { allowed: 1, lastUsedMs: Date.parse(at(4)) })]);
    await current().recordKeyUsage([]);
    expect((await keyAtPresent(app.id, key.id))?.last_used_at).toBe(at(6));
    expect(await current().read((reader) => reader.configVersion())).toBe(1);
  });

  test('a last use in the far future, stored by a wrong clock, gives way; one that is a little ahead stays', async () => {
    const { app, key } = await seed(current());
    const used = async (aheadMs: number): Promise<number> => {
      const lastUsedMs = Date.now() + aheadMs;
      await current().recordKeyUsage([usageOf(key.id, { allowed: 1, lastUsedMs })]);
      const found = await keyAtPresent(app.id, key.id);
      return Math.abs(Date.parse(found?.last_used_at ?? '') - lastUsedMs);
    };
    expect(await used(365 * 86_400_000)).toBeLessThan(1);
    expect(await used(0)).toBeLessThan(1);
    expect(await used(600_000)).toBeLessThan(1);
    expect(await used(0)).toBeGreaterThan(500_000);
  });

  test('counts go with their key, also when the app goes', async () => {
    const { app, key } = await seed(current());
    const other = makeKey(app);
    await change(current(), (writer) => writer.insertKey(other));
    await current().recordKeyUsage([usageOf(key.id, { allowed: 1 }), usageOf(other.id, { allowed: 1 })]);
    await change(current(), (writer) => writer.deleteKey(key.id));
    expect([await days(key.id), (await days(other.id)).length]).toEqual([[], 1]);
    await change(current(), (writer) => writer.deleteApp(app.id));
    expect(await days(other.id)).toEqual([]);
  });

  test('2,500 keys in one batch; old days are removed by and by, the rest stays', async () => {
    const { app, key } = await seed(current());
    const keys = [key, ...Array.from({ length: 2_499 }, () => makeKey(app))];
    await change(current(), async (writer) => {
      for (const each of keys.slice(1)) await writer.insertKey(each);
    });
    await current().recordKeyUsage(keys.map(({ id }) => usageOf(id, { allowed: 1 })));
    await current().recordKeyUsage(keys.map(({ id }) => usageOf(id, { date: '2026-02-01', allowed: 1 })));
    let calls = 1;
    while (!(await current().removeKeyUsage('2026-02-01'))) expect(++calls).toBeLessThan(10);
    expect(calls, 'a bounded number at once').toBeGreaterThan(1);
    for (const each of [keys[0], keys[1_234], keys[2_499]]) {
      expect((await days(each?.id ?? '')).map(({ date }) => date)).toEqual(['2026-02-01']);
    }
    expect(await current().removeKeyUsage('2026-02-01')).toBe(true);
  });

  test('a key is found by its value and by the one before, whichever app it is of', async () => {
    const { app, key } = await seed(current());
    const rotated = makeKey(app, { previous_token_hash: 'a'.repeat(64), previous_expires_at: at(1) });
    await change(current(), (writer) => writer.insertKey(rotated));
    const find = (hash: string) => current().read((reader) => reader.findKeyByHash(hash));
    expect(await find(key.token_hash)).toEqual(key);
    expect(await find(rotated.token_hash)).toEqual(rotated);
    expect(await find('a'.repeat(64))).toEqual(rotated);
    expect(await find('b'.repeat(64))).toBeUndefined();
  });
}
