import { DatabaseSync } from 'node:sqlite';
import { Kysely, sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { LOCK_WAIT_MS, nodeSqliteDialect, type NodeSqliteDialectConfig } from './node-sqlite-dialect.ts';
import { StorageUnavailable } from '../storage-errors.ts';
import { isBusy, mapSqliteError } from './sqlite-errors.ts';

interface Tables {
  item: { id: number; text: string | null };
}

/** A pool over databases in memory, each connection with its own `item` table. */
function pool(config: Partial<NodeSqliteDialectConfig> = {}) {
  const opened: DatabaseSync[] = [];
  const db = new Kysely<Tables>({
    dialect: nodeSqliteDialect({
      open: () => {
        const connection = new DatabaseSync(':memory:');
        connection.exec('create table item (id integer primary key, text text)');
        opened.push(connection);
        return connection;
      },
      connectionsMax: 1,
      begin: 'begin immediate',
      replaceBroken: true,
      mapError: mapSqliteError,
      isBusy,
      unavailable: (reason) => new StorageUnavailable(reason),
      clock: systemClock,
      ...config,
    }),
  });
  return { db, opened };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a long transaction', () => {
  test('lets the event loop turn between its statements and keeps its connection', async () => {
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => nowMs };
    const { db, opened } = pool({ clock });
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const rows = db.transaction().execute(async (transaction) => {
      for (let id = 0; id < 100; id++) {
        await transaction.insertInto('item').values({ id, text: null }).execute();
        nowMs += 2;
      }
      return transaction.selectFrom('item').selectAll().execute();
    });
    const others = db.deleteFrom('item').execute();
    expect(await rows).toHaveLength(100);
    isOver = true;
    await others;
    expect(turns).toBeGreaterThan(15);
    expect(opened).toHaveLength(1);
    await db.destroy();
  });

  test('costs a short one no turn', async () => {
    const { db } = pool({ clock: { ...systemClock, monotonicMs: () => 0 } });
    let turns = 0;
    setImmediate(() => (turns += 1));
    await db.transaction().execute(async (transaction) => {
      for (let id = 0; id < 100; id++)
        await transaction.insertInto('item').values({ id, text: null }).execute();
    });
    expect(turns).toBe(0);
    await db.destroy();
  });
});

describe('queries', () => {
  test('distinguish rows, changes and ids', async () => {
    const { db } = pool();
    const inserted = await db.insertInto('item').values({ id: 7, text: 'a' }).executeTakeFirst();
    expect(inserted).toMatchObject({ insertId: 7n, numInsertedOrUpdatedRows: 1n });
    const updated = await db.updateTable('item').set({ text: 'b' }).executeTakeFirst();
    expect(updated.numUpdatedRows).toBe(1n);
    const returned = await db.updateTable('item').set({ text: 'c' }).returning('text').execute();
    expect(returned).toEqual([{ text: 'c' }]);
    expect(await db.selectFrom('item').selectAll().execute()).toEqual([{ id: 7, text: 'c' }]);
    await db.destroy();
  });

  test('a first parameter of null is a value, and text is kept to the byte', async () => {
    const { db } = pool();
    const odd = 'a\0b ünï 🚪 \' " ; --';
    await sql`insert into item (text, id) values (${null}, 1), (${odd}, 2)`.execute(db);
    const rows = await db.selectFrom('item').select('text').orderBy('id').execute();
    expect(rows).toEqual([{ text: null }, { text: odd }]);
    await db.destroy();
  });

  test('more distinct statements than are cached', async () => {
    const { db } = pool();
    for (let n = 0; n < 600; n += 1) {
      const result = await sql<{ n: number }>`select ${sql.lit(n)} as n`.execute(db);
      expect(result.rows).toEqual([{ n }]);
    }
    await db.destroy();
  });

  test('a cached statement sees a changed schema', async () => {
    const { db } = pool();
    const all = () => sql`select * from item`.execute(db);
    expect((await all()).rows).toEqual([]);
    await sql`alter table item add column more text default 'x'`.execute(db);
    await db.insertInto('item').values({ id: 1, text: null }).execute();
    expect((await all()).rows).toEqual([{ id: 1, text: null, more: 'x' }]);
    await sql`alter table item drop column text`.execute(db);
    await sql`alter table item add column last text default 'y'`.execute(db);
    expect((await all()).rows).toEqual([{ id: 1, more: 'x', last: 'y' }]);
    await db.destroy();
  });
});

describe('the pool', () => {
  test('opens connections up to its maximum, then callers wait in order', async () => {
    const { db, opened } = pool({ connectionsMax: 2 });
    const order: number[] = [];
    let running = 0;
    let runningMax = 0;
    await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        db.connection().execute(async () => {
          running += 1;
          runningMax = Math.max(runningMax, running);
          order.push(index);
          await turn();
          running -= 1;
        }),
      ),
    );
    expect(opened).toHaveLength(2);
    expect(runningMax).toBe(2);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await db.destroy();
  });

  test('refuses callers beyond the limit of waiting ones', async () => {
    const { db } = pool();
    const held = Promise.withResolvers<void>();
    const first = db.connection().execute(() => held.promise);
    const others = Array.from({ length: 10_010 }, () => db.connection().execute(async () => 'served'));
    const outcomes = Promise.allSettled(others);
    await turn();
    held.resolve();
    await first;
    const statuses = (await outcomes).map(({ status }) => status);
    expect(statuses.filter((status) => status === 'fulfilled')).toHaveLength(10_000);
    expect(statuses.slice(10_000).every((status) => status === 'rejected')).toBe(true);
    await db.destroy();
  });

  test('a connection that cannot be opened fails only its caller', async () => {
    let failures = 2;
    const { db } = pool({
      open: () => {
        if (failures-- > 0) throw Object.assign(new Error('unable to open'), { errcode: 14 });
        return new DatabaseSync(':memory:');
      },
    });
    await expect(sql`select 1`.execute(db)).rejects.toBeInstanceOf(StorageUnavailable);
    await expect(sql`select 1`.execute(db)).rejects.toBeInstanceOf(StorageUnavailable);
    expect((await sql`select 1 as one`.execute(db)).rows).toEqual([{ one: 1 }]);
    await db.destroy();
  });

  test('destroying waits for callers with a connection', async () => {
    const { db, opened } = pool();
    let ended = false;
    const running = db.connection().execute(async () => {
      await turn();
      ended = true;
    });
    await turn();
    await db.destroy();
    expect(ended).toBe(true);
    expect(opened[0]?.isOpen).toBe(false);
    await running;
  });
});

describe('transactions', () => {
  test('that throw are rolled back', async () => {
    const { db } = pool();
    const failing = db.transaction().execute(async (transaction) => {
      await transaction.insertInto('item').values({ id: 1, text: 'x' }).execute();
      throw new RangeError('refused');
    });
    await expect(failing).rejects.toThrow('refused');
    expect(await db.selectFrom('item').selectAll().execute()).toEqual([]);
    await db.destroy();
  });

  test('that SQLite ended by itself report the first error, and the next transaction works', async () => {
    const { db, opened } = pool();
    const failing = db.transaction().execute(async (transaction) => {
      await transaction.insertInto('item').values({ id: 1, text: 'x' }).execute();
      opened[0]?.exec('rollback');
      throw new RangeError('disk full');
    });
    await expect(failing).rejects.toThrow('disk full');
    await db
      .transaction()
      .execute((transaction) => transaction.insertInto('item').values({ id: 2, text: 'y' }).execute());
    expect(await db.selectFrom('item').select('id').execute()).toEqual([{ id: 2 }]);
    await db.destroy();
  });

  test('whose rollback fails lose the connection, and waiting callers get a new one', async () => {
    const { db, opened } = pool();
    const failing = db.transaction().execute(async () => {
      const connection = opened[0];
      if (connection === undefined) return;
      // A broken connection: open, in a transaction, and every statement fails.
      connection.exec = () => {
        throw Object.assign(new Error('disk I/O error'), { errcode: 10 });
      };
      await turn();
      throw new RangeError('first');
    });
    const waiting = sql`select 1 as one`.execute(db);
    await expect(failing).rejects.toThrow('first');
    expect((await waiting).rows).toEqual([{ one: 1 }]);
    expect(opened).toHaveLength(2);
    expect(opened[0]?.isOpen).toBe(false);
    await db.destroy();
  });

  test('wait for a lock up to the limit even if each attempt is slow, and then try once more', async () => {
    let nowMs = 0;
    let asked = 0;
    const busy = Object.assign(new Error('database is locked'), { errcode: 5 });
    const { db, opened } = pool({
      clock: { ...systemClock, monotonicMs: () => nowMs },
      isBusy: (error) => {
        asked += 1;
        nowMs += LOCK_WAIT_MS / 4;
        return isBusy(error);
      },
    });
    await sql`select 1`.execute(db);
    const [connection] = opened;
    const exec = connection?.exec.bind(connection);
    if (connection === undefined || exec === undefined) throw new Error('there is a connection');
    const lock = (isFreeAt: number): void => {
      asked = 0;
      connection.exec = (text) => {
        if (text === 'begin immediate' && asked < isFreeAt) throw busy;
        exec(text);
      };
    };
    const reading = () => db.transaction().execute((transaction) => sql`select 1`.execute(transaction));
    lock(4);
    await reading();
    lock(Infinity);
    await expect(reading()).rejects.toThrow(/another process holds a lock/);
    expect(asked).toBe(4);
    await db.destroy();
  });

  test('whose commit fails are rolled back and reported', async () => {
    const { db, opened } = pool();
    await sql`pragma foreign_keys = on`.execute(db);
    await sql`create table part (item_id integer references item (id) deferrable initially deferred)`.execute(
      db,
    );
    const failing = db
      .transaction()
      .execute((transaction) => sql`insert into part values (99)`.execute(transaction));
    await expect(failing).rejects.toThrow(/FOREIGN KEY/);
    expect(opened[0]?.isTransaction).toBe(false);
    await db.destroy();
  });
});
