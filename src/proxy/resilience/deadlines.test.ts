import { describe, expect, it } from 'vitest';
import { Deadlines, type Expiring } from './deadlines.ts';

describe('deadlines', () => {
  it('that pass in thousands at once let other work run, and none is missed', async () => {
    const deadlines = new Deadlines({ nowMs: () => 0, monotonicMs: () => 1_000 });
    let expired = 0;
    for (let index = 0; index < 5_000; index++) {
      const member: Expiring = {
        deadlineMs: index % 2 === 0 ? 999 : 1_001,
        onDeadline: () => {
          expired += 1;
          deadlines.delete(member);
        },
      };
      deadlines.add(member);
    }
    deadlines.sweep();
    const afterOneTurn = expired;
    expect(afterOneTurn).toBeGreaterThan(0);
    expect(afterOneTurn).toBeLessThan(2_500);
    // A second sweep by the timer in between does no harm.
    deadlines.sweep();
    for (let turn = 0; turn < 100 && expired < 2_500; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(expired).toBe(2_500);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(expired).toBe(2_500);
  });

  it('are not shortened by what came before the start', () => {
    let nowMs = 1_000;
    const deadlines = new Deadlines({ nowMs: () => 0, monotonicMs: () => nowMs });
    nowMs += 500;
    deadlines.start();
    expect(deadlines.nowMs).toBe(1_500);
    deadlines.stop();
  });
});
