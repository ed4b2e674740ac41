import { describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { once, StopSteps } from './stop-steps.ts';

const never = (): Promise<never> => new Promise(() => undefined);

describe('a stop', () => {
  it('runs its steps in the reverse order of the start, and those that store something at once', async () => {
    const ran: string[] = [];
    const step = (name: string) => async () => void ran.push(name);
    const steps = new StopSteps(systemClock, step('close'));
    const shared = once(step('shared'));
    steps.addStoring(shared, step('events'));
    steps.add(step('file'));
    steps.addStoring(shared, step('cluster'));
    steps.add(step('b'), step('c'));
    steps.add(step('drain'));
    await steps.run();
    expect(ran).toEqual(['drain', 'b', 'c', 'shared', 'cluster', 'file', 'events', 'close']);
  });

  it('waits for a silent database once, not in each step, and still closes it', async () => {
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => nowMs };
    let isClosed = false;
    const steps = new StopSteps(clock, async () => (isClosed = true));
    steps.addStoring(never);
    steps.addStoring(never);
    // The drain takes its own time, which does not count.
    steps.add(async () => (nowMs += 60_000));
    steps.addStoring(async () => (nowMs += 2_950));
    const startedMs = performance.now();
    await steps.run();
    expect(isClosed).toBe(true);
    expect(performance.now() - startedMs).toBeLessThan(1_000);
  });

  it('goes on after a step that fails, and fails at the end', async () => {
    const ran: string[] = [];
    const fail = (reason: string) => async () => {
      ran.push(reason);
      throw new Error(reason);
    };
    const steps = new StopSteps(systemClock, async () => ran.push('close'));
    steps.addStoring(fail('second'), async () => ran.push('counts'));
    steps.add(fail('first'));
    await expect(steps.run()).rejects.toThrow('first');
    expect(ran).toEqual(['first', 'second', 'counts', 'close']);
  });

  it('of a start that has failed goes on after a step that fails', async () => {
    let isClosed = false;
    const steps = new StopSteps(systemClock, async () => (isClosed = true));
    steps.add(async () => {
      throw new Error('not started');
    });
    await steps.undo();
    expect(isClosed).toBe(true);
  });
});
