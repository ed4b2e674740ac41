/**
 * Lists through the started program: pages with `limit` and `cursor`, their order and total, what stays true while
 * records come and go between pages, and the values that are refused.
 */
// oxlint-disable vitest/expect-expect -- expectPage and expectProblem are assertions
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { expectPage, expectProblem, NO_SUCH_ID } from '../../support/management.ts';
import { createBase, type Fields } from '../../support/data/management-resources.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  await createBase(gateway);
});
afterAll(() => gateway.stop());

const REVISIONS = '/apps/base/versions/v1/revisions';
const LISTS: readonly (readonly [collection: string, body: (index: number) => Fields])[] = [
  ['/apps', (index) => ({ name: 'x', slug: `list-${index}`, gateway_path: `/list-${index}` })],
  ['/apps/base/versions', (index) => ({ version: `list-${index}` })],
  [REVISIONS, (index) => ({ revision: `list-${index}`, backend_host: 'b.example' })],
  [`${REVISIONS}/r1/endpoints`, (index) => ({ method: 'GET', path: `/list-${index}` })],
  ['/apps/base/tokens', () => ({ name: 'the same name' })],
  ['/admin/tokens', () => ({ name: 'the same name', role: 'viewer' })],
];

/** Walks through all pages; returns the pages of ids. */
async function pages(collection: string, limit: number): Promise<string[][]> {
  const found: string[][] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? '' : `&cursor=${cursor}`;
    const { data, page } = expectPage(await gateway.api('GET', `${collection}?limit=${limit}${query}`));
    expect(page.limit).toBe(limit);
    found.push(data.map(({ id }) => id as string));
    cursor = page.next_cursor;
    expect(found.length, 'pages without end').toBeLessThan(100);
  } while (cursor !== null);
  return found;
}

describe.each(LISTS)('GET %s', (collection, body) => {
  const created: string[] = [];
  let existing: string[] = [];
  beforeAll(async () => {
    existing = (await pages(collection, 500)).flat();
    for (let index = 0; index < 7; index++) {
      created.push((await gateway.must('POST', collection, body(index))).id);
    }
  });

  it('returns every record once, oldest first, with any length of pages', async () => {
    const all = [...existing, ...created];
    for (const limit of [1, 3, all.length, all.length + 1, 500]) {
      const found = await pages(collection, limit);
      expect(found.flat()).toEqual(all);
      expect(found.map((page) => page.length).every((length) => length <= limit)).toBe(true);
      expect(found).toHaveLength(Math.ceil(all.length / limit));
    }
  });

  it('says the total on every page, and null for the cursor on the last', async () => {
    const total = existing.length + 7;
    const first = expectPage(await gateway.api('GET', `${collection}?limit=${total - 1}`));
    expect(first.page).toEqual({ limit: total - 1, total, next_cursor: expect.any(String) });
    const rest = `${collection}?limit=${total - 1}&cursor=${first.page.next_cursor}`;
    expect(expectPage(await gateway.api('GET', rest)).page).toEqual({
      limit: total - 1,
      total,
      next_cursor: null,
    });
  });

  it('has 50 records in a page by default', async () => {
    expect(expectPage(await gateway.api('GET', collection)).page.limit).toBe(50);
  });

  it.each([
    'limit=0',
    'limit=501',
    'limit=-1',
    'limit=1.5',
    'limit=ten',
    'limit=',
    'limit=1e2',
    'limit=0x10',
    'limit=%2010',
    'limit=10&limit=20',
    'limit=999999999999999999999',
    'cursor=nonsense',
    'cursor=',
    `cursor=${NO_SUCH_ID}`,
    `cursor=${'A'.repeat(1000)}`,
    'cursor=a&cursor=b',
    'cursor[]=a',
    'offset=5',
    'page=2',
    'Limit=5',
    'sort=name',
    '=1',
  ])('refuses ?%s with 400', async (query) => {
    expectProblem(await gateway.api('GET', `${collection}?${query}`), 'invalid_query');
  });

  it('neither skips nor repeats records when others are created and deleted between pages', async () => {
    const first = expectPage(await gateway.api('GET', `${collection}?limit=${existing.length + 3}`));
    const [seen, later] = [created[2], created[5]];
    await gateway.must('DELETE', `${collection}/${seen}`);
    await gateway.must('DELETE', `${collection}/${later}`);
    const { id: fresh } = await gateway.must('POST', collection, body(100));
    const query = `limit=500&cursor=${first.page.next_cursor}`;
    const { data } = expectPage(await gateway.api('GET', `${collection}?${query}`));
    expect(data.map(({ id }) => id)).toEqual([created[3], created[4], created[6], fresh]);
  });
});

describe('lists of what does not exist', () => {
  it.each([
    '/apps/none/versions',
    '/apps/none/tokens',
    '/apps/base/versions/none/revisions',
    `${REVISIONS}/none/endpoints`,
  ])('GET %s is 404, not an empty page', async (path) => {
    expectProblem(await gateway.api('GET', path), 'not_found');
  });

  it('a collection without records is an empty page', async () => {
    await gateway.must('POST', '/apps', { name: 'Empty', slug: 'empty', gateway_path: '/empty' });
    for (const path of ['/apps/empty/versions', '/apps/empty/tokens']) {
      const { data, page } = expectPage(await gateway.api('GET', path));
      expect(data).toEqual([]);
      expect(page).toEqual({ limit: 50, next_cursor: null, total: 0 });
    }
  });

  it('a list has only the records of its own parent', async () => {
    await gateway.must('POST', '/apps/empty/versions', { version: 'own' });
    const { data } = expectPage(await gateway.api('GET', '/apps/empty/versions'));
    expect(data.map(({ version }) => version)).toEqual(['own']);
    const { data: others } = expectPage(await gateway.api('GET', '/apps/base/versions?limit=500'));
    expect(others.map(({ version }) => version)).not.toContain('own');
  });
});

describe('the audit log is a list', () => {
  it('that pages like the others, oldest first', async () => {
    const all = (await pages('/audit', 500)).flat();
    expect(all.length).toBeGreaterThan(40);
    expect((await pages('/audit', 7)).flat().slice(0, all.length)).toEqual(all);
    expect(all).toEqual([...all].sort());
  });

  it('from its newest entry with order=newest_first, page by page', async () => {
    const all = (await pages('/audit', 500)).flat();
    const found: string[] = [];
    let query = '';
    do {
      const answer = await gateway.api('GET', `/audit?order=newest_first&limit=9${query}`);
      const { data, page } = expectPage(answer);
      found.push(...data.map(({ id }) => id as string));
      query = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
    } while (query !== '');
    expect(found).toEqual(all.toReversed());
  });

  it.each(['limit=0', 'cursor=x', 'since=yesterday', 'who=me', 'order=random', 'order='])(
    'and refuses ?%s',
    async (query) => {
      expectProblem(await gateway.api('GET', `/audit?${query}`), 'invalid_query');
    },
  );
});
