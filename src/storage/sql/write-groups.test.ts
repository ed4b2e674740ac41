import { sql, type Kysely } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memoryDatabase } from '../../../test/support/programs/memory-database.ts';
import { StorageUnavailable } from '../repository.ts';
import type { Tables } from './schema.ts';
import { WRITES_AT_ONCE, WriteGroups } from './write-groups.ts';

let db: Kysely<Tables>;
/** Transactions that were begun. */
let transactions: number;
let commitFails: boolean;
let groups: WriteGroups;

beforeEach(async () => {
  transactions = 0;
  commitFails = false;
  db = memoryDatabase();
  await sql`create table item (id integer primary key)`.execute(db);
  groups = new WriteGroups(async (work) => {
    transactions += 1;
    await db.transaction().execute(async (transaction) => {
      await work(transaction);
      if (commitFails) throw new StorageUnavailable('the disk is full');
    });
  });
});
afterEach(() => db.destroy());

const insert = (id: number) => (transaction: Kysely<Tables>) =>
  sql`insert into item values (${id})`.execute(transaction).then(() => id);

async function stored(): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`select id from item order by id`.execute(db);
  return rows.map(({ id }) => id);
}

describe('writes that are there at the same time', () => {
  it('share transactions, as many in each as may, and settle in order', async () => {
    const count = 2 * WRITES_AT_ONCE + 1;
    const settled: number[] = [];
    await Promise.all(
      Array.from({ length: count }, (_, id) => groups.add(insert(id)).then((each) => settled.push(each))),
    );
    expect(transactions).toBe(3);
    const all = Array.from({ length: count }, (_, id) => id);
    expect(settled).toEqual(all);
    expect(await stored()).toEqual(all);
  });

  it('see what those before them have written', async () => {
    const [, seen] = await Promise.all([
      groups.add(insert(7)),
      groups.add(async (transaction) => (await sql`select id from item`.execute(transaction)).rows),
    ]);
    expect([transactions, seen]).toEqual([1, [{ id: 7 }]]);
  });

  it('are undone alone when they fail', async () => {
    const results = await Promise.allSettled([
      groups.add(insert(1)),
      groups.add(async (transaction) => {
        await insert(2)(transaction);
        throw new RangeError('refused');
      }),
      groups.add(insert(1)),
      groups.add(insert(3)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: expect.any(RangeError) });
    expect([transactions, await stored()]).toEqual([1, [1, 3]]);
  });

  it('have all not happened when their transaction cannot be committed', async () => {
    commitFails = true;
    const results = await Promise.allSettled([
      groups.add(insert(1)),
      groups.add(() => Promise.reject(new RangeError('refused'))),
      groups.add(insert(2)),
    ]);
    for (const result of results) expect(result).toMatchObject({ reason: expect.any(StorageUnavailable) });
    commitFails = false;
    expect(await groups.add(insert(3))).toBe(3);
    expect(await stored()).toEqual([3]);
  });
});
