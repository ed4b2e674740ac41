import { afterEach, expect, test } from 'vitest';
import { until } from '../../../test/support/measure/until.ts';
import type { Repository } from '../../storage/repository.ts';
import { ClockWatch } from './clock-watch.ts';

const HOUR_MS = 3_600_000;
let watch: ClockWatch | undefined;
afterEach(() => watch?.stop());

/** A gateway whose clock and whose database are as the test says. */
function start(driver: Repository['driver'] = 'postgres') {
  const world = { aheadMs: 0, wallMs: 1_800_000_000_000, monotonicMs: 0, answerMs: 0, asked: 0 };
  const lines: string[] = [];
  const write = (fields: { ahead_ms?: number }, text: string): void =>
    void lines.push(`${fields.ahead_ms ?? ''} ${text}`.trim());
  const nowMs = async (): Promise<number> => {
    world.asked += 1;
    world.monotonicMs += world.answerMs;
    world.wallMs += world.answerMs;
    if (world.answerMs < 0) throw new Error('away');
    return world.wallMs - world.answerMs / 2;
  };
  watch = new ClockWatch({
    repository: { driver, deliveries: { nowMs } as never },
    clock: { nowMs: () => world.wallMs + world.aheadMs, monotonicMs: () => world.monotonicMs },
    log: { warn: write, info: write, debug: () => undefined } as never,
    lookMs: 1,
  });
  watch.start();
  const looked = async (): Promise<void> => {
    const { asked } = world;
    await until(() => world.asked > asked + 1);
  };
  return { world, lines, looked, watch };
}

test('a wrong clock is logged, again after an hour, and once more when it is right again', async () => {
  const { world, lines, looked, watch: own } = start();
  await looked();
  world.aheadMs = 2_000;
  await looked();
  expect(lines).toEqual([]);
  world.aheadMs = -2_001;
  await looked();
  await looked();
  const wrong = '-2001 the clock differs from the clock of the database';
  expect(lines).toEqual([wrong]);
  world.monotonicMs += HOUR_MS;
  await looked();
  expect(lines).toEqual([wrong, wrong]);
  // Near the bound nothing is told in either direction.
  for (const aheadMs of [-1_999, -2_001, -1_000, -2_001]) {
    world.aheadMs = aheadMs;
    await looked();
  }
  expect(lines).toEqual([wrong, wrong]);
  world.aheadMs = 999;
  await looked();
  expect(lines).toEqual([wrong, wrong, '999 the clock agrees with the clock of the database again']);
  expect(own.aheadMs).toBe(999);
});

test('an answer that comes late, or not at all, changes nothing', async () => {
  const { world, lines, looked, watch: own } = start();
  world.aheadMs = 500;
  await looked();
  expect(own.aheadMs).toBe(500);
  for (const answerMs of [1_001, -1]) {
    Object.assign(world, { answerMs, aheadMs: 9_000 });
    await looked();
  }
  expect([own.aheadMs, lines]).toEqual([500, []]);
  world.answerMs = 900;
  await looked();
  expect(own.aheadMs).toBe(9_000);
});

test('SQLite has the clock of the machine, and is not asked', () => {
  const { world, watch: own } = start('sqlite');
  expect([world.asked, own.aheadMs]).toEqual([0, undefined]);
});
