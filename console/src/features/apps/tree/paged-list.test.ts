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

  it('stops the way to a place that is not looked at any more', async () => {
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
      (cursor) => (isDown ? Promise.reject(new Error('away')) : fetchPage(cursor)),
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
});
