import { describe, expect, it } from 'vitest';
import { configChange } from '../../test/support/config-records.ts';
import { systemClock } from '../kernel/clock.ts';
import type { ConfigChange } from '../model/config.ts';
import { createLogger } from '../observe/log.ts';
import { ChangePublisher } from './change-publisher.ts';

function setUp(known: number, stored: () => number) {
  const applied: string[] = [];
  const pending: (() => void)[] = [];
  let version = known;
  let loads = 0;
  let fails = false;
  const publisher = new ChangePublisher({
    configVersion: () => version,
    apply: (change: ConfigChange) => {
      version = change.configVersion;
      applied.push(`${change.reset ? 'all ' : ''}${change.configVersion}`);
      return new Promise((resolve) => pending.push(resolve));
    },
    repository: {
      loadAll: async () => {
        loads += 1;
        if (fails) throw new Error('the database is gone');
        return { ...configChange(stored(), {}), reset: true };
      },
    },
    log: createLogger({
      level: 'info',
      format: 'json',
      output: { write: () => undefined },
      clock: systemClock,
    }),
  });
  const publish = (configVersion: number): Promise<void> =>
    publisher.publish(configChange(configVersion, {}));
  return {
    publish,
    applied,
    loads: () => loads,
    fail: (value: boolean) => (fails = value),
    swapped: () => {
      for (const resolve of pending.splice(0)) resolve();
    },
  };
}

describe('changes', () => {
  it('are handed on one after the other without waiting for the workers', async () => {
    const { publish, applied, swapped } = setUp(4, () => 0);
    const all = Promise.all([publish(5), publish(6), publish(7)]);
    await expect.poll(() => applied).toEqual(['5', '6', '7']);
    swapped();
    await all;
  });

  it('wait while everything is read again, and are not handed on when that contained them', async () => {
    const { publish, applied, swapped, loads } = setUp(4, () => 7);
    let answered = 0;
    const all = [6, 7, 8, 9].map((version) => publish(version).then(() => (answered += 1)));
    await expect.poll(() => applied).toEqual(['all 7']);
    expect(answered).toBe(0);
    swapped();
    await expect.poll(() => applied).toEqual(['all 7', '8', '9']);
    swapped();
    await Promise.all(all);
    expect(loads()).toBe(1);
  });

  it('behind one that could not be read again are read again themselves', async () => {
    const { publish, applied, swapped, fail } = setUp(4, () => 8);
    fail(true);
    const [first, second] = [publish(7), publish(8)];
    fail(true);
    await expect(first).rejects.toThrow('the database is gone');
    await expect(second).rejects.toThrow('the database is gone');
    fail(false);
    const third = publish(8);
    await expect.poll(() => applied).toEqual(['all 8']);
    swapped();
    await third;
  });
});
