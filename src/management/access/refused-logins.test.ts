/** That floods of refused admin tokens fill neither the log nor the database. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RefusedLogins } from './refused-logins.ts';
import type { AuditNote, WriteOrigin, Written } from '../write/write.ts';

interface Entry extends WriteOrigin {
  readonly audit: AuditNote;
}

const MINUTE_MS = 60_000;
let entries: Entry[];
let lines: object[];
let refused: RefusedLogins;

beforeEach(() => {
  vi.useFakeTimers();
  entries = [];
  lines = [];
  refused = new RefusedLogins({
    onRefused: () => undefined,
    clock: { nowMs: () => Date.now(), monotonicMs: () => Date.now() },
    log: { warn: (fields) => lines.push(fields) },
    write: async (origin, work) => {
      const written = (await work(undefined as never)) as Written;
      entries.push({ ...origin, audit: written.audit });
      return written.answer;
    },
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  refused.close();
  vi.useRealTimers();
});

const from = (address: string, count = 1): void => {
  for (let index = 0; index < count; index++)
    refused.note({ address, requestId: `r-${index}`, reason: 'is not valid', tokenPrefix: undefined });
};
const attempts = (): unknown[] => entries.map(({ address, audit }) => [address, audit.change?.['attempts']]);

describe('RefusedLogins', () => {
  it('writes the first at once and the following ones as a count each minute', async () => {
    const [starts, ends] = [vi.spyOn(globalThis, 'setInterval'), vi.spyOn(globalThis, 'clearInterval')];
    from('192.0.2.1', 500);
    const timer: unknown = starts.mock.results.at(-1)?.value;
    expect(timer).toBeDefined();
    from('192.0.2.2');
    await vi.advanceTimersByTimeAsync(0);
    expect(attempts()).toEqual([
      ['192.0.2.1', 1],
      ['192.0.2.2', 1],
    ]);
    expect(entries[0]).toMatchObject({ actor: { id: 'anonymous' }, requestId: 'r-0' });
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(attempts().slice(2)).toEqual([['192.0.2.1', 499]]);
    from('192.0.2.1', 7);
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    expect(attempts().slice(3)).toEqual([['192.0.2.1', 7]]);
    await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
    expect(entries).toHaveLength(4);
    expect(lines).toHaveLength(4);
    expect(
      ends.mock.calls.some(([ended]) => ended === timer),
      'nothing is left to do',
    ).toBe(true);
  });

  it('a flood from many addresses shares entries: a bounded number an hour', async () => {
    for (let minute = 0; minute < 60; minute++) {
      for (let host = 0; host < 5_000; host++) from(`10.${minute}.${host >> 8}.${host & 255}`);
      await vi.advanceTimersByTimeAsync(MINUTE_MS);
    }
    expect(entries.length).toBeLessThan(60 + 60 + 60 + 1);
    expect(lines).toHaveLength(entries.length);
    const all = entries.reduce((sum, { audit }) => sum + Number(audit.change?.['attempts']), 0);
    expect(all).toBe(60 * 5_000);
  });
});
