/**
 * A filtered page is the same in however many parts the list is read, and a long list lets other work run meanwhile.
 */
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { memoryDatabase } from '../../../test/support/programs/memory-database.ts';
import { LIST_ORDERS } from '../repository.ts';
import { listPage } from './list-page.ts';

const ROWS = 40;
const MANY = 100_000;
const id = (number: number): string => String(number).padStart(8, '0');

const connection = new DatabaseSync(':memory:');
connection.exec(
  'create table endpoint (id text primary key, revision_id text, path text, backend_path text, is_active integer); create index below on endpoint (revision_id, id)',
);
const insert = connection.prepare('insert into endpoint values (?, ?, ?, ?, 1)');
connection.exec('begin');
for (let number = 0; number < ROWS; number++) {
  insert.run(id(number), number % 4 === 0 ? 'other' : 'one', `/path-${number % 7}`, `/at-${number % 3}`);
}
for (let number = 0; number < MANY; number++)
  insert.run(id(ROWS + number), 'many', `/path-${number}/{id}`, null);
connection.exec('commit');
const db = memoryDatabase(connection);
afterAll(() => db.destroy());

const all = Array.from({ length: ROWS }, (_, number) => number).filter((number) => number % 4 !== 0);
const read = (
  text: string,
  page: { limit: number; after: string | undefined; order: (typeof LIST_ORDERS)[number] },
  parts?: number,
) =>
  listPage(
    db,
    { table: 'endpoint', below: ['revision_id', 'one'] },
    { ...page, filter: { text } },
    (row) => ({ id: (row as unknown as { id: string }).id }),
    parts,
  );

it('has the matching rows, their number and the next page, in parts of any size', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('path-1', 'PATH', 'at-2', 'none'),
      fc.integer({ min: 1, max: 12 }),
      fc.option(fc.integer({ min: -1, max: ROWS }), { nil: undefined }),
      fc.constantFrom(...LIST_ORDERS),
      fc.integer({ min: 1, max: 50 }),
      async (text, limit, afterNumber, order, parts) => {
        const after = afterNumber === undefined ? undefined : afterNumber < 0 ? '' : id(afterNumber);
        const matching = all
          .filter((number) => `/path-${number % 7} /at-${number % 3}`.includes(text.toLowerCase()))
          .map(id);
        if (order === 'newest_first') matching.reverse();
        const rest = matching.filter(
          (one) => after === undefined || (order === 'newest_first' ? one < after : one > after),
        );
        const page = await read(text, { limit, after, order }, parts);
        const items = rest.slice(0, limit);
        expect(page).toEqual({
          items: items.map((one) => ({ id: one })),
          total: matching.length,
          nextAfter: rest.length > limit ? items.at(-1) : null,
        });
      },
    ),
    { numRuns: 200 },
  );
});

/** How often other work had its turn during a search. */
async function turnsDuringSearch(partRows?: number): Promise<number> {
  let turns = 0;
  let turn = setImmediate(function next() {
    turns += 1;
    turn = setImmediate(next);
  });
  const found = await db
    .transaction()
    .execute((transaction) =>
      listPage(
        transaction,
        { table: 'endpoint', below: ['revision_id', 'many'] },
        { limit: 100, after: undefined, filter: { text: 'PATH-99999/' } },
        (row) => ({ id: (row as unknown as { id: string }).id }),
        partRows,
      ),
    );
  clearImmediate(turn);
  expect(found).toMatchObject({ total: 1, items: [{ id: id(ROWS + 99_999) }], nextAfter: null });
  return turns;
}

it('lets other work run while it searches a hundred thousand rows', async () => {
  const inOne = await turnsDuringSearch(MANY + 1);
  const inParts = await turnsDuringSearch();
  expect(inParts).toBeGreaterThan(inOne);
});
