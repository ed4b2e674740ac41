/**
 * The contract of filtered lists: whatever the records and the filter, every page, the total and the next page are
 * those of the plain meaning in list-filter.ts.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  matchesFilter,
  STATUSES,
  type FilteredRecords,
  type FilteredTable,
  type ListFilter,
} from '../../src/storage/list-filter.ts';
import {
  LIST_ORDERS,
  type ConfigReader,
  type ConfigWriter,
  type Page,
  type PageRequest,
  type Repository,
} from '../../src/storage/repository.ts';
import {
  at,
  change,
  makeApp,
  makeEndpoint,
  makeKey,
  makeRevision,
  makeVersion,
  seed,
  type Fixture,
} from './records.ts';

/** What databases and patterns give a meaning to, and letters with and without a plain lower case. */
const text = (minLength: number) =>
  fc.string({
    unit: fc.constantFrom('a', 'A', 'b', 'B', '%', '_', '\\', "'", '"', '.', '*', ':', 'É', 'é', ' '),
    minLength,
    maxLength: 3,
  });
const second = fc.integer({ min: 0, max: 4 });

interface ListCase<T extends FilteredTable> {
  readonly table: T;
  readonly records: (there: Fixture) => fc.Arbitrary<FilteredRecords[T]>;
  readonly insert: (writer: ConfigWriter, record: FilteredRecords[T]) => Promise<void>;
  readonly list: (
    reader: ConfigReader,
    there: Fixture,
    page: PageRequest,
  ) => Promise<Page<FilteredRecords[T]>>;
}

const listCase = <T extends FilteredTable>(given: ListCase<T>): ListCase<FilteredTable> =>
  given as unknown as ListCase<FilteredTable>;

/** As the model allows them. */
const LABEL_NAME = fc.stringMatching(/^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,3}[A-Za-z0-9])?$/);

const CASES: readonly ListCase<FilteredTable>[] = [
  listCase({
    table: 'app',
    records: () =>
      fc
        .record({
          name: text(1),
          description: fc.option(text(0)),
          labels: fc.dictionary(LABEL_NAME, text(0)),
          updated: second,
        })
        .map(({ updated, ...fields }) => makeApp({ ...fields, updated_at: at(updated) })),
    insert: (writer, record) => writer.insertApp(record),
    list: (reader, _there, page) => reader.listApps(page),
  }),
  listCase({
    table: 'version',
    records: ({ app }) =>
      fc
        .record({
          status: fc.constantFrom('active' as const, 'deprecated' as const, 'retired' as const),
          updated: second,
        })
        .map(({ updated, status }) => makeVersion(app, { status, updated_at: at(updated) })),
    insert: (writer, record) => writer.insertVersion(record),
    list: (reader, { app }, page) => reader.listVersions(app.id, page),
  }),
  listCase({
    table: 'revision',
    records: ({ version }) =>
      fc
        .record({ is_current: fc.boolean(), backend_base_path: text(1), updated: second })
        .map(({ updated, ...fields }) => makeRevision(version, { ...fields, updated_at: at(updated) })),
    insert: (writer, record) => writer.insertRevision(record),
    list: (reader, { version }, page) => reader.listRevisions(version.id, page),
  }),
  listCase({
    table: 'endpoint',
    records: ({ revision }) =>
      fc
        .record({ is_active: fc.boolean(), backend_path: fc.option(text(1)), updated: second })
        .map(({ updated, ...fields }) => makeEndpoint(revision, { ...fields, updated_at: at(updated) })),
    insert: (writer, record) => writer.insertEndpoint(record),
    list: (reader, { revision }, page) => reader.listEndpoints(revision.id, page),
  }),
  listCase({
    table: 'api_key',
    records: ({ app }) =>
      fc
        .record({ is_active: fc.boolean(), name: text(1), expires: fc.option(second), updated: second })
        .map(({ updated, expires, ...fields }) =>
          makeKey(app, {
            ...fields,
            expires_at: expires === null ? null : at(expires),
            updated_at: at(updated),
          }),
        ),
    insert: (writer, record) => writer.insertKey(record),
    list: (reader, { app }, page) => reader.listKeys(app.id, page),
  }),
];

const filters = (
  table: FilteredTable,
  labels: readonly (readonly [string, string])[],
): fc.Arbitrary<ListFilter> =>
  fc.record(
    {
      text: text(1),
      updatedSince: second.map(at),
      ...(STATUSES[table].length > 0 && { status: fc.constantFrom(...STATUSES[table]) }),
      ...(labels.length > 0 && {
        labels: fc.uniqueArray(fc.constantFrom(...labels), { minLength: 1, maxLength: 2 }),
      }),
    },
    { requiredKeys: [] },
  );

export function filtersContract(current: () => Repository): void {
  test.each(CASES)(
    'a filtered list of $table has what matches, page by page',
    async ({ table, records, insert, list }) => {
      const there = await seed(current());
      const made = fc.sample(records(there), 25);
      await change(current(), async (writer) => {
        for (const record of made) await insert(writer, record);
      });
      const read = (page: PageRequest) => current().read((reader) => list(reader, there, page));
      const all = (await read({ limit: 500, after: undefined })).items;
      expect(all.length).toBeGreaterThanOrEqual(25);
      const labels = all.flatMap((record) => ('labels' in record ? Object.entries(record.labels) : []));
      let matched = 0;
      await fc.assert(
        fc.asyncProperty(
          filters(table, labels),
          fc.integer({ min: 1, max: 7 }),
          fc.constantFrom(...LIST_ORDERS),
          async (chosen, limit, order) => {
            const filter: ListFilter = { ...chosen, now: at(2) };
            const expected = all.filter((record) => matchesFilter(table, record, filter));
            if (order === 'newest_first') expected.reverse();
            matched += expected.length;
            const found: unknown[] = [];
            let after: string | undefined;
            do {
              const page = await read({ limit, after, order, filter });
              expect(page.total).toBe(expected.length);
              found.push(...page.items);
              after = page.nextAfter ?? undefined;
            } while (after !== undefined && found.length <= all.length);
            expect(found).toEqual(expected);
          },
        ),
        { numRuns: 60 },
      );
      const newest = await read({ limit: 500, after: undefined, order: 'newest_first' });
      expect(newest.items).toEqual(all.toReversed());
      expect(matched, 'some filters match something').toBeGreaterThan(0);
    },
  );
}
