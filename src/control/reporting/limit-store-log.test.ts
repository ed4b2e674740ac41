import { beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createLogger } from '../../observe/log.ts';
import { LOG_MS, limitStoreLog, REASONS_MAX, type LimitStoreLog } from './limit-store-log.ts';

const OUT = 'the limit store is unreachable; on_store_failure applies';
const BACK = 'the limit store is reachable again';

let nowMs: number;
let lines: { readonly msg: string; readonly reason?: string; readonly outages?: number }[];
let report: LimitStoreLog;
beforeEach(() => {
  nowMs = 0;
  lines = [];
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const output = { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) };
  report = limitStoreLog(createLogger({ level: 'info', format: 'json', output, clock }), clock);
});
const told = (): unknown[] => lines.map(({ msg, reason }) => (reason === undefined ? [msg] : [msg, reason]));

it('an outage has one line, however long it lasts, and its end another', () => {
  report.outage('gone');
  for (let probe = 0; probe < 1_000; probe += 1) {
    nowMs += 100;
    report.stillOut('gone');
  }
  report.recovery();
  expect(told()).toEqual([[OUT, 'gone'], [BACK]]);
});

it('an outage that follows soon is logged late, so the last line does not say that the store is reachable', () => {
  report.outage('gone');
  report.recovery();
  nowMs += 1_000;
  report.outage('READONLY');
  report.stillOut('READONLY');
  expect(lines).toHaveLength(2);
  nowMs += LOG_MS;
  report.stillOut('READONLY');
  expect(told()).toEqual([[OUT, 'gone'], [BACK], [OUT, 'READONLY']]);
  report.recovery();
  expect(lines.at(-1)?.msg).toBe(BACK);
});

it('a store that comes and goes has a line in ten seconds, with the number of outages', () => {
  for (let outage = 0; outage < 100; outage += 1) {
    report.outage('gone');
    report.recovery();
    nowMs += 200;
  }
  expect(lines.filter(({ msg }) => msg === OUT).map(({ outages }) => outages)).toEqual([1, 50]);
});

it('a reason that changes during an outage is logged, and a bounded number of them', () => {
  report.outage('Socket closed unexpectedly');
  nowMs += 1_000;
  report.stillOut('NOAUTH');
  expect(lines).toHaveLength(1);
  nowMs += LOG_MS;
  report.stillOut('NOAUTH');
  expect(told()).toEqual([
    [OUT, 'Socket closed unexpectedly'],
    [OUT, 'NOAUTH'],
  ]);
  for (let reason = 0; reason < 100; reason += 1) {
    nowMs += LOG_MS;
    report.stillOut(`reason ${reason}`);
  }
  expect(lines).toHaveLength(REASONS_MAX);
});
