/** What one app may have of the exchanges of a worker, and what is left for the others. */
import { expect, it } from 'vitest';
import { ExchangeLimiter, type AppExchanges } from './exchange-limiter.ts';

/** As many as the app gets. */
function fill(limiter: ExchangeLimiter, app: string): AppExchanges[] {
  const held: AppExchanges[] = [];
  while (limiter.tryAcquire()) {
    const own = limiter.tryAcquireFor(app);
    if (typeof own === 'string') {
      limiter.release();
      break;
    }
    held.push(own);
  }
  return held;
}

it('one app gets as many as the limit, and each further app most of what is left beyond it', () => {
  const limiter = new ExchangeLimiter(900);
  const first = fill(limiter, 'a');
  expect([first.length, fill(limiter, 'b').length, fill(limiter, 'c').length]).toEqual([900, 90, 9]);
  expect([limiter.inUse, limiter.tryAcquire()]).toEqual([999, true]);
  expect(limiter.tryAcquireFor('a')).toBe('exchanges');
  expect(limiter.tryAcquireFor('b')).toBe('exchanges_of_app');
  expect(limiter.tryAcquire()).toBe(false);
  limiter.release();
  for (const own of first) limiter.release(own);
  expect(limiter.inUse).toBe(99);
  expect(fill(limiter, 'a')).toHaveLength(811);
});

it.each([1, 2, 9])('with a limit of %d, one app gets all, and another app still gets a request', (max) => {
  const limiter = new ExchangeLimiter(max);
  expect(fill(limiter, 'a')).toHaveLength(max);
  expect(fill(limiter, 'b')).toHaveLength(1);
});

it('apps that have none are forgotten, the others never', () => {
  const limiter = new ExchangeLimiter(100);
  const held = fill(limiter, 'busy');
  for (let app = 0; app < 10_000; app++) {
    expect(limiter.tryAcquire()).toBe(true);
    const own = limiter.tryAcquireFor(`app ${app}`);
    expect(own).toEqual({ count: 1 });
    limiter.release(own as AppExchanges);
  }
  expect(fill(limiter, 'busy')).toEqual([]);
  for (const own of held) limiter.release(own);
  expect(limiter.inUse).toBe(0);
});
