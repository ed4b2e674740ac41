import { describe, expect, it } from 'vitest';
import { WallTime } from './clock.ts';

/** A wall clock that gives whole milliseconds, as the system's does. */
class TestClock {
  epochMs = 1_800_000_000_000.4;
  passedMs = 0;
  nowMs = (): number => Math.floor(this.epochMs + this.passedMs);
  monotonicMs = (): number => this.passedMs;
}

describe('WallTime', () => {
  it('is at most a millisecond early, never late, and never goes back', () => {
    const clock = new TestClock();
    const time = new WallTime(clock);
    let last = 0;
    for (let turn = 0; turn < 200; turn++) {
      clock.passedMs += 0.37 + (turn % 7) * 13.3;
      if (turn % 3 === 0) time.follow();
      const at = time.at(clock.passedMs);
      const errorMs = at - (clock.epochMs + clock.passedMs);
      expect(errorMs).toBeLessThanOrEqual(0.001);
      expect(errorMs).toBeGreaterThan(-1.001);
      expect(at).toBeGreaterThan(last);
      last = at;
    }
  });

  it.each([-3_600_000, -5, 5, 3_600_000])('follows a clock that is set by %i ms', (byMs) => {
    const clock = new TestClock();
    const time = new WallTime(clock);
    clock.passedMs = 1_000;
    clock.epochMs += byMs;
    time.follow();
    expect(Math.abs(time.at(1_000) - (clock.epochMs + 1_000))).toBeLessThanOrEqual(1.001);
  });

  it('follows a clock that is slowed down a little at a time', () => {
    const clock = new TestClock();
    const time = new WallTime(clock);
    for (let turn = 0; turn < 1_000; turn++) {
      clock.passedMs += 1_000.3;
      clock.epochMs -= 0.5;
      time.follow();
      const errorMs = time.at(clock.passedMs) - (clock.epochMs + clock.passedMs);
      expect(Math.abs(errorMs)).toBeLessThanOrEqual(2.001);
    }
  });
});
