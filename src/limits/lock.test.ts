import { describe, expect, it } from 'vitest';
import { acquire, LOCK_WAIT_MS_MAX, release, takeOver } from './lock.ts';

describe('set lock', () => {
  const words = new Int32Array(new SharedArrayBuffer(64));

  it('contains the number of its holder', () => {
    expect(acquire(words, 3, 7)).toBe(true);
    expect(words[3]).toBe(7);
    release(words, 3);
    expect(words[3]).toBe(0);
  });

  it('times out after a bounded wait', () => {
    words[4] = 9;
    const begun = performance.now();
    expect(acquire(words, 4, 7)).toBe(false);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(LOCK_WAIT_MS_MAX / 2);
    expect(words[4]).toBe(9);
  });

  it('can be taken over only from the thread that holds it', () => {
    words[5] = 9;
    expect(takeOver(words, 5, 8, 1)).toBe(false);
    expect(takeOver(words, 5, 9, 1)).toBe(true);
    expect(words[5]).toBe(1);
  });
});
