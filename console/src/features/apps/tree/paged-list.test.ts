import { describe, expect, it, vi } from 'vitest';
import { PagedList, type FetchPage } from './paged-list.ts';

const SIZE = 10;

/** Numbers from 0, in pages of ten. */
function numbers(total: number, calls: (string | undefined)[] = []): FetchPage<number> {
  return async (cursor) => {
    calls.push(cursor);
    const start = Number(cursor ?? 0);
    const end = Math.min(total, start + SIZE);
    const items = Array.from({ length: end - start }, (_, index) => start + index);
    return { items, next: end < total ? String(end) : undefined, total };
  };
}

describe('PagedList', () => {
  it('reads as many pages as are looked at', async () => {
    const calls: (string | undefined)[] = [];
    const list = new PagedList(numbers(35, calls), 35, () => undefined);
    expect(list.total).toBe(35);
    list.ensure(12);
    await vi.waitFor(() => expect(list.items).toHaveLength(20));
    list.ensure(19);
    list.ensure(3);
    expect(calls).toEqual([undefined, '10']);
    list.ensure(100);
    await vi.waitFor(() => expect(list.isComplete).toBe(true));
    expect(list.items).toEqual(Array.from({ length: 35 }, (_, index) => index));
    list.ensure(200);
    expect(calls).toHaveLength(4);
  });

  it('stops loading for a place that is no longer shown', async () => {
    const list = new PagedList(numbers(1_000), 1_000, () => list.ensure(5));
    list.ensure(999);
    await vi.waitFor(() => expect(list.items.length).toBeGreaterThan(5));
    await new Promise((resolve) => setImmediate(resolve));
    expect(list.items).toHaveLength(10);
  });

  it('reads one page at a time', async () => {
    const calls: (string | undefined)[] = [];
    const list = new PagedList(numbers(100, calls), 0, () => undefined);
    for (let index = 0; index < 50; index++) list.ensure(index);
    await vi.waitFor(() => expect(list.items).toHaveLength(50));
    expect(new Set(calls).size).toBe(calls.length);
  });

  it('keeps what it has when a page fails, and goes on with it', async () => {
    let isDown = false;
    const fetchPage = numbers(30);
    const list = new PagedList(
      (cursor) => (isDown ? Promise.reject(new Error('away')) : fetchPage(cursor, false)),
      30,
      () => undefined,
    );
    list.ensure(0);
    await vi.waitFor(() => expect(list.items).toHaveLength(10));
    isDown = true;
    list.ensure(29);
    await vi.waitFor(() => expect(list.error?.message).toBe('away'));
    isDown = false;
    list.ensure(29);
    expect(list.items).toHaveLength(10);
    list.retry();
    list.ensure(29);
    await vi.waitFor(() => expect(list.items).toHaveLength(30));
    expect(list.error).toBeUndefined();
  });

  it('has the length that it has when records were deleted meanwhile', async () => {
    const list = new PagedList(numbers(3), 500, () => undefined);
    list.ensure(0);
    await vi.waitFor(() => expect(list.total).toBe(3));
  });

  describe('with both ends', () => {
    /** Numbers from 0 in pages of ten, from either end. */
    const both =
      (size: { total: number }, calls: string[] = []): FetchPage<number> =>
      async (cursor, fromEnd) => {
        calls.push(`${fromEnd ? 'end' : 'start'} ${cursor}`);
        const { total } = size;
        const start = Number(cursor ?? 0);
        const items = Array.from({ length: Math.min(SIZE, total - start) }, (_, index) =>
          fromEnd ? total - 1 - start - index : start + index,
        );
        return { items, next: start + SIZE < total ? String(start + SIZE) : undefined, total };
      };
    const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    /** What stands at each place. */
    const shown = (list: PagedList<number>): (number | undefined)[] =>
      Array.from({ length: list.total }, (_, index) => list.at(index));

    it('reads the last items at once', async () => {
      const calls: string[] = [];
      const list = new PagedList(both({ total: 1_000 }, calls), 1_000, () => undefined, true);
      list.ensure(20, 0);
      await settled();
      list.ensure(1_100, 980);
      await settled();
      expect(calls).toEqual(['start undefined', 'start 10', 'start 20', 'end undefined', 'end 10']);
      expect([list.items.length, list.tailLength, list.isComplete]).toEqual([30, 20, false]);
      expect([list.at(29), list.at(30), list.at(979), list.at(980), list.at(999), list.at(1_000)]).toEqual([
        29,
        undefined,
        undefined,
        980,
        999,
        undefined,
      ]);
    });

    it.each([1, 9, 10, 11, 25, 40, 47])(
      'has all %s of them, once, whichever places were looked at',
      async (total) => {
        for (const places of [
          [total - 1, 0],
          [total - 1, Math.floor(total / 2), 0],
          [0, total - 1, Math.floor(total / 2)],
        ]) {
          const list = new PagedList(both({ total }), total, () => undefined, true);
          for (const place of places) {
            list.ensure(place + 3, place - 3);
            await settled();
            expect(list.at(place)).toBe(place);
          }
          for (let place = 0; place < total; place++) {
            list.ensure(place, place);
            await settled();
          }
          expect(shown(list)).toEqual(Array.from({ length: total }, (_, index) => index));
          expect(list.isComplete).toBe(true);
        }
      },
    );

    it('reads the end again when others have made the list longer', async () => {
      const size = { total: 100 };
      const list = new PagedList(both(size), 100, () => undefined, true);
      list.ensure(99, 95);
      await settled();
      expect(list.at(99)).toBe(99);
      size.total = 102;
      list.ensure(30, 0);
      await settled();
      expect([list.total, list.tailLength, list.at(30)]).toEqual([102, 0, 30]);
      list.ensure(101, 95);
      await settled();
      expect(list.at(101)).toBe(101);
    });
  });
});
