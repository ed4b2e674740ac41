/** Whose turn it is: one app with many names, or with names that hang, and others beside it. */
import { describe, expect, it } from 'vitest';
import { nextOrders, ORDERS_AT_ONCE, pauseMs, type DueName } from './order-queue.ts';

const due = (app: string, name: string, more: Partial<DueName> = {}): DueName => ({
  name,
  app,
  reason: 'missing',
  expiresAtMs: 0,
  isUrgent: false,
  ...more,
});
const many = Array.from({ length: 1_000 }, (_, index) => due('flood', `f${index}.test`));
const first = (names: readonly DueName[], running: readonly string[] = []): string[] =>
  nextOrders(names, running)
    .slice(0, ORDERS_AT_ONCE - running.length)
    .map(({ name }) => name);

describe('the next orders', () => {
  it('each app has its turn, however many names another has', () => {
    const renewal = due('shop', 'shop.test', { reason: 'renewal', expiresAtMs: 5 });
    const names = [...many, renewal, due('bank', 'a.bank.test'), due('bank', 'b.bank.test')];
    expect(first(names)).toEqual(['f0.test', 'a.bank.test', 'shop.test', 'f1.test', 'b.bank.test']);
  });

  it('an app whose orders hang leaves a place for others, and its places come back', () => {
    const running = ['flood', 'flood', 'flood', 'flood'];
    expect(first(many, running)).toEqual([]);
    expect(first([...many, due('shop', 'shop.test')], running)).toEqual(['shop.test']);
    expect(first(many)).toHaveLength(ORDERS_AT_ONCE - 1);
  });

  it('of one app: orders under way, then certificates that end soon, then new names, then other renewals', () => {
    const names = [
      due('shop', 'early', { reason: 'renewal', expiresAtMs: 9 }),
      due('shop', 'new'),
      due('shop', 'late', { reason: 'renewal', expiresAtMs: 8, isUrgent: true }),
      due('shop', 'begun', { reason: 'under_way' }),
    ];
    expect(first(names)).toEqual(['begun', 'late', 'new', 'early']);
    expect(first(names.slice(0, 3))).toEqual(['late', 'new', 'early']);
  });
});

it('a refusal for one name makes the other names wait for a minute, and longer only after more refusals', () => {
  const hour = 3_600_000;
  expect([1, 2, 3, 20].map((refusals) => pauseMs(refusals, hour))).toEqual([60_000, 120_000, 240_000, hour]);
  expect(pauseMs(1, 2_000)).toBe(2_000);
});
