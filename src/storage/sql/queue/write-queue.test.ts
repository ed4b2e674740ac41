import { sql, type Kysely } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memoryDatabase } from '../../../../test/support/programs/memory-database.ts';
import type { Clock } from '../../../lib/clock.ts';
import { currentBudget, newBudget, withBudget, type DeadlineBudget } from '../../../lib/deadline-budget.ts';
import { OutcomeUnknown, StorageUnavailable } from '../../storage-errors.ts';
import type { Tables } from '../kysely-tables.ts';
import { GROUP_WRITES_MAX, WAITING_WRITES_MAX, WriteQueue } from './write-queue.ts';

let db: Kysely<Tables>;
/** Transactions begun so far. */
let transactions: number;
let commitFails: boolean;
let nowMs: number;
let queue: WriteQueue;
const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };

beforeEach(async () => {
  transactions = 0;
  commitFails = false;
  nowMs = 0;
  db = memoryDatabase();
  await sql`create table item (id integer primary key)`.execute(db);
  queue = createQueue();
});
afterEach(() => db.destroy());

function createQueue(groupWritesMax = GROUP_WRITES_MAX, timeoutMs?: number): WriteQueue {
  const inTransaction = async (work: (transaction: Kysely<Tables>) => Promise<void>): Promise<void> => {
    transactions += 1;
    await db.transaction().execute(async (transaction) => {
      await work(transaction);
      if (commitFails) throw new StorageUnavailable('the disk is full');
    });
  };
  return new WriteQueue({ inTransaction, clock, groupWritesMax, timeoutMs });
}

const insert = (id: number) => (transaction: Kysely<Tables>) =>
  sql`insert into item values (${id})`.execute(transaction).then(() => id);

async function stored(): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`select id from item order by id`.execute(db);
  return rows.map(({ id }) => id);
}

/** A write that ends when the test resolves it. */
function steered() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<void>();
  let hasBegun = false;
  const run = (): Promise<string> => {
    hasBegun = true;
    begun.resolve();
    return promise;
  };
  return { run, begun: begun.promise, hasBegun: () => hasBegun, resolve, reject };
}

describe('simultaneous writes', () => {
  it('share transactions up to the group size, and settle in order', async () => {
    const count = 2 * GROUP_WRITES_MAX + 1;
    const settled: number[] = [];
    await Promise.all(
      Array.from({ length: count }, (_, id) => queue.add(insert(id)).then((each) => settled.push(each))),
    );
    expect(transactions).toBe(3);
    const all = Array.from({ length: count }, (_, id) => id);
    expect(settled).toEqual(all);
    expect(await stored()).toEqual(all);
  });

  it('have one transaction each with groups of one', async () => {
    queue = createQueue(1);
    await Promise.all([queue.add(insert(1)), queue.add(insert(2))]);
    expect([transactions, await stored()]).toEqual([2, [1, 2]]);
  });

  it('see the writes before them', async () => {
    const [, seen] = await Promise.all([
      queue.add(insert(7)),
      queue.add(async (transaction) => (await sql`select id from item`.execute(transaction)).rows),
    ]);
    expect([transactions, seen]).toEqual([1, [{ id: 7 }]]);
  });

  it('are undone without the others when they fail', async () => {
    const results = await Promise.allSettled([
      queue.add(insert(1)),
      queue.add(async (transaction) => {
        await insert(2)(transaction);
        throw new RangeError('refused');
      }),
      queue.add(insert(1)),
      queue.add(insert(3)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: expect.any(RangeError) });
    expect([transactions, await stored()]).toEqual([1, [1, 3]]);
  });

  it('are all undone when their transaction cannot be committed', async () => {
    commitFails = true;
    const results = await Promise.allSettled([
      queue.add(insert(1)),
      queue.add(() => Promise.reject(new RangeError('refused'))),
      queue.add(insert(2)),
    ]);
    for (const result of results) expect(result).toMatchObject({ reason: expect.any(StorageUnavailable) });
    commitFails = false;
    expect(await queue.add(insert(3))).toBe(3);
    expect(await stored()).toEqual([3]);
  });

  it('are refused when too many are waiting', async () => {
    const gate = steered();
    const first = queue.add(gate.run);
    await gate.begun;
    const waiting = Array.from({ length: WAITING_WRITES_MAX }, () => queue.add(async () => undefined));
    await expect(queue.add(insert(1))).rejects.toThrow(`${WAITING_WRITES_MAX} writes are waiting`);
    gate.resolve('');
    await Promise.all([first, ...waiting]);
    expect(await queue.add(insert(1))).toBe(1);
  });
});

describe('turns', () => {
  const of = (actor: string, app = ''): DeadlineBudget => ({ spentMs: 0, party: { actor, app } });
  /** Which of the writes run, in order, behind one that has begun. */
  async function order(writes: readonly (readonly [DeadlineBudget | undefined, string])[]): Promise<string> {
    queue = createQueue(1);
    const gate = steered();
    const ran: string[] = [];
    const all = [
      withBudget(of('busy', 'big'), () => queue.add(gate.run)),
      ...writes.map(([budget, name]) => withBudget(budget, () => queue.add(async () => void ran.push(name)))),
    ];
    await gate.begun;
    gate.resolve('');
    await Promise.all(all);
    return ran.join(' ');
  }

  it('let a write of another actor, or to another app, pass those that wait', async () => {
    const many = ['b1', 'b2', 'b3', 'b4'].map((name) => [of('busy', 'big'), name] as const);
    expect(await order([...many, [of('other', 'small'), 'o1'], [undefined, 'own']])).toBe(
      'o1 own b1 b2 b3 b4',
    );
    expect(await order([...many, [of('busy', 'small'), 's1'], [of('busy', 'small'), 's2']])).toBe(
      's1 b1 s2 b2 b3 b4',
    );
  });

  it('are those of actors first: many names of apps are no further turns', async () => {
    const many = ['a1', 'a2', 'a3', 'a4'].map((name) => [of('many', name), name] as const);
    const two = ['o1', 'o2'].map((name) => [of('other', 'small'), name] as const);
    expect(await order([...many, ...two])).toBe('a1 o1 a2 o2 a3 a4');
  });
});

describe('groups', () => {
  it('begin no further write when they have taken long, and leave the rest to the next', async () => {
    const runs = Array.from({ length: 5 }, (_, id) =>
      queue.add(async (transaction) => {
        if (id === 1) nowMs += 60;
        return insert(id)(transaction);
      }),
    );
    expect(await Promise.all(runs)).toEqual([0, 1, 2, 3, 4]);
    expect([transactions, await stored()]).toEqual([2, [0, 1, 2, 3, 4]]);
  });

  const setUp = () => {
    queue = createQueue(2);
    const writes = [steered(), steered(), steered()] as const;
    const results = writes.map(({ run }) => queue.add(run));
    for (const result of results) result.catch(() => undefined);
    return { writes, results };
  };

  it('begin when the previous group ends, and take writes in order of arrival', async () => {
    const { writes, results } = setUp();
    await writes[0].begun;
    expect(writes.map(({ hasBegun }) => hasBegun())).toEqual([true, false, false]);
    writes[0].reject(new RangeError('its own fault'));
    await writes[1].begun;
    expect(writes[2].hasBegun()).toBe(false);
    writes[1].resolve('second');
    expect(await results[1]).toBe('second');
    await expect(results[0]).rejects.toThrow('its own fault');
    await writes[2].begun;
    writes[2].resolve('third');
    expect([await results[2], transactions]).toEqual(['third', 2]);
  });

  it('share a slow failure of the database with waiting writes, not with later ones', async () => {
    const { writes, results } = setUp();
    await writes[0].begun;
    nowMs += 5_000;
    const later = queue.add(insert(1));
    writes[0].reject(new StorageUnavailable('locked'));
    await expect(results[2]).rejects.toThrow('locked');
    await expect(results[1]).rejects.toThrow('locked');
    expect(await later).toBe(1);
    expect(writes[2].hasBegun()).toBe(false);
  });

  it('do not share that the outcome is unknown: what waits was not stored', async () => {
    const { writes, results } = setUp();
    await writes[0].begun;
    nowMs += 5_000;
    writes[0].reject(new OutcomeUnknown('cut off'));
    await expect(results[0]).rejects.toThrow(OutcomeUnknown);
    const waiting = await results[2]?.catch((error: unknown) => error);
    expect(waiting).toBeInstanceOf(StorageUnavailable);
    expect(waiting).not.toBeInstanceOf(OutcomeUnknown);
  });

  it('do not share a fast failure', async () => {
    const { writes, results } = setUp();
    await writes[0].begun;
    writes[0].reject(new StorageUnavailable('gone'));
    await writes[2].begun;
    writes[2].resolve('tried by itself');
    expect(await results[2]).toBe('tried by itself');
  });
});

describe('the deadline budget of a waiting write', () => {
  it.each([
    { what: 'a failure', ms: 300, fails: true, own: newBudget(), charged: [200, 200] },
    { what: 'a slow group', ms: 700, fails: false, own: newBudget(), charged: [600, 600] },
    { what: 'a busy group', ms: 300, fails: false, own: newBudget(), charged: [0, 0] },
    // Such as what the gateway writes by itself.
    { what: 'a slow group of no call', ms: 700, fails: false, own: undefined, charged: [600, 600] },
  ])('is charged for $what, from the arrival of the write: $charged', async ({ ms, fails, own, charged }) => {
    queue = createQueue(1);
    const budgets = [newBudget(), newBudget()];
    const gate = steered();
    const spend = (spentMs: number, budget: DeadlineBudget | undefined): void => {
      nowMs += spentMs;
      if (budget !== undefined) budget.spentMs += spentMs;
    };
    let account: DeadlineBudget | undefined;
    const first = withBudget(own, () =>
      queue.add(async () => {
        account = currentBudget();
        await gate.run();
        spend(ms - 100, account);
        if (fails) throw new StorageUnavailable('frozen');
        return account === own || own === undefined;
      }),
    );
    await gate.begun;
    spend(100, account);
    const others = budgets.map((budget) =>
      withBudget(budget, () => queue.add(async () => currentBudget() === budget)),
    );
    gate.resolve('');
    expect(await first.catch((error: unknown) => String(error))).toEqual(
      fails ? 'StorageUnavailable: frozen' : true,
    );
    expect(await Promise.all(others)).toEqual([true, true]);
    expect(budgets.map(({ spentMs }) => spentMs)).toEqual(charged);
  });

  it('fails the write when it is used up, while the write before goes on', async () => {
    queue = createQueue(1, 1_500);
    const gate = steered();
    const first = queue.add(async () => {
      Object.assign(currentBudget() ?? {}, { waitingSinceMs: nowMs });
      await gate.run();
      return 'stored';
    });
    await gate.begun;
    const half = withBudget({ spentMs: 800 }, () => queue.add(async () => 'late'));
    const whole = withBudget(newBudget(), () => queue.add(async () => 'in time'));
    nowMs += 800;
    // Which looks at a short interval of real time.
    await expect(half).rejects.toThrow('it did not answer in time');
    gate.resolve('');
    expect(await Promise.all([first, whole])).toEqual(['stored', 'in time']);
  });
});
