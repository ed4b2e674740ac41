import { describe, expect, it } from 'vitest';
import { LeaseTable } from './lease-table.ts';
import type { LimitRule } from '../store.ts';
import { heapBytes } from '../../../test/support/measure/garbage.ts';

const ruleOf = (id: string): LimitRule => ({
  id,
  algorithm: 'fixed_window',
  requests: 10,
  windowMs: 1_000,
  burst: 0,
});

describe('the lease table of a thread', () => {
  it('keeps no more of a request than the subject, and of a long one only a hash', () => {
    const count = 1_000;
    const table = new LeaseTable(count);
    const rule = table.prepare(ruleOf('app:1'));
    const head = (device: string): string => Buffer.from(`X-Device: ${device}\r\n`).toString('latin1');
    const find = (device: string) => table.find(rule, head(device).slice('X-Device: '.length, -2), 0);
    find('warm');
    const before = heapBytes();
    for (let device = 0; device < count / 2; device++) {
      // A slice of a long text, as V8 makes it of a head.
      const text = head(`device number ${device}${' '.repeat(20_000)}`);
      table.find(rule, text.slice('X-Device: '.length, text.indexOf('  ')), 0);
      find(`${'y'.repeat(20_000)} ${device}`);
    }
    expect((heapBytes() - before) / count).toBeLessThan(3_000);
    expect(table.size).toBe(count);
    const long = `${'y'.repeat(20_000)} 7`;
    expect(find(long)).toBe(find(long));
    expect(find(long)).not.toBe(find(`${long}0`));
    expect(table.find(rule, 'claim:5 €', 0)).toBe(table.find(rule, 'claim:5 €', 0));
  });

  it('has one lease per counter, shared by all rules with its identity', () => {
    const table = new LeaseTable(100);
    const [one, other] = [table.prepare(ruleOf('app:1')), table.prepare(ruleOf('app:1'))];
    expect(table.find(other, 'a', 0)).toBe(table.find(one, 'a', 0));
    expect(table.find(other, 'b', 0)).not.toBe(table.find(one, 'a', 0));
    expect(table.size).toBe(2);
  });

  it('has one lease per counter, also after all leases of a rule were forgotten', () => {
    const table = new LeaseTable(2);
    const [one, filler] = [table.prepare(ruleOf('app:1')), table.prepare(ruleOf('app:2'))];
    table.find(one, 'a', 0);
    for (const subject of ['x', 'y']) table.find(filler, subject, 0);
    const other = table.prepare(ruleOf('app:1'));
    const lease = table.find(other, 'a', 0);
    expect(table.find(one, 'a', 0)).toBe(lease);
  });

  it('keeps leases during a flood of callers of another rule', () => {
    const table = new LeaseTable(100);
    const [quiet, flooded] = [table.prepare(ruleOf('app:1')), table.prepare(ruleOf('app:2'))];
    const leases = Array.from({ length: 40 }, (_, index) => table.find(quiet, `key ${index}`, 0));
    for (let device = 0; device < 1_000; device++) table.find(flooded, `device ${device}`, 0);
    for (const [index, lease] of leases.entries()) expect(table.find(quiet, `key ${index}`, 0)).toBe(lease);
    // A later rule has as much room as the flooded one.
    const late = table.prepare(ruleOf('app:3'));
    const lateLeases = Array.from({ length: 30 }, (_, index) => table.find(late, `key ${index}`, 0));
    for (const [index, lease] of lateLeases.entries())
      expect(table.find(late, `key ${index}`, 0)).toBe(lease);
  });

  it('never exceeds its limit', () => {
    const table = new LeaseTable(3);
    const same = Array.from({ length: 4 }, () => table.prepare(ruleOf('app:1')));
    const filler = table.prepare(ruleOf('app:2'));
    for (let index = 0; index < 200; index++) {
      const prepared = index % 7 === 0 ? table.prepare(ruleOf('app:1')) : same[index % 4]!;
      table.find(index % 3 === 0 ? filler : prepared, `s${index}`, 0);
      expect(table.size).toBeLessThanOrEqual(3);
    }
  });
});
