import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AccessLog, type AccessRecord } from './access-log.ts';
import type { LogFormat } from './log.ts';

const record: AccessRecord = {
  timeMs: Date.UTC(2026, 0, 1) + 7.9,
  requestId: 'abc-1',
  labels: Object.freeze({ app: 'billing', version: 'v1', revision: 'r1', route: '/billing/v1/{id}' }),
  method: 'GET',
  status: 200,
  bytesIn: 0,
  bytesOut: 120,
  durationMs: 1.23456,
  upstreamMs: 0.9,
  keyId: 'key-1',
  clientIp: '192.0.2.1',
  protocol: 'HTTP/1.1',
  errorCode: undefined,
  wouldDeny: undefined,
  retries: 0,
};

function capture(format: LogFormat = 'json'): { readonly log: AccessLog; readonly writes: string[] } {
  const writes: string[] = [];
  const output = {
    write: (lines: string) => void writes.push(lines),
    flushSync: () => undefined,
    droppedLines: 0,
  };
  return { log: new AccessLog(output, format), writes };
}

function lineOf(change: Partial<AccessRecord>): Record<string, unknown> {
  const { log, writes } = capture();
  log.write({ ...record, ...change });
  log.flush();
  return JSON.parse(writes.join('')) as Record<string, unknown>;
}

describe('a line', () => {
  it('has the fields of an exchange', () => {
    expect(lineOf({})).toEqual({
      level: 'info',
      time: '2026-01-01T00:00:00.007Z',
      request_id: 'abc-1',
      app: 'billing',
      version: 'v1',
      revision: 'r1',
      route: '/billing/v1/{id}',
      method: 'GET',
      protocol: 'HTTP/1.1',
      status: 200,
      bytes_in: 0,
      bytes_out: 120,
      duration_ms: 1.235,
      upstream_ms: 0.9,
      key_id: 'key-1',
      client_ip: '192.0.2.1',
      msg: 'access',
    });
  });

  it('leaves out what does not apply and adds what does', () => {
    const line = lineOf({
      labels: undefined,
      upstreamMs: undefined,
      keyId: undefined,
      errorCode: 'no_route',
      wouldDeny: ['auth', 'rate_limit'],
      retries: 2,
    });
    expect(Object.keys(line)).toEqual([
      'level',
      'time',
      'request_id',
      'method',
      'protocol',
      'status',
      'bytes_in',
      'bytes_out',
      'duration_ms',
      'retries',
      'client_ip',
      'code',
      'would_deny',
      'msg',
    ]);
    expect(line['would_deny']).toEqual(['auth', 'rate_limit']);
    expect(line['retries']).toBe(2);
  });

  it('is one line of JSON with the same values, whatever the texts are', () => {
    const unit = fc.oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0xffff }));
    const text = fc.array(unit, { maxLength: 30 }).map((units) => String.fromCharCode(...units));
    fc.assert(
      fc.property(text, text, text, text, (method, requestId, keyId, route) => {
        const { log, writes } = capture();
        const labels = { app: 'a"\\', version: 'v\n1', revision: '\u2028', route };
        log.write({ ...record, method, requestId, keyId, labels });
        log.flush();
        const [line = '', ...rest] = writes.join('').split('\n');
        expect(rest).toEqual(['']);
        expect(JSON.parse(line)).toMatchObject({ method, request_id: requestId, key_id: keyId, ...labels });
      }),
    );
  });

  it.each([
    [0, 0],
    [0.0004, 0],
    [0.9996, 1],
    [12.05, 12.05],
    [1234.5678, 1234.568],
    [86_400_000.001, 86_400_000.001],
    [-5, 0],
    [NaN, 0],
    [Infinity, 0],
  ])('writes %d ms as %d', (durationMs, expected) => {
    expect(lineOf({ durationMs })['duration_ms']).toBe(expected);
  });

  it('has the time of its own exchange across seconds', () => {
    const { log, writes } = capture();
    const times = [0, 999, 1_000, 1_001, 500, 61_000].map((ms) => Date.UTC(2026, 5, 1) + ms);
    for (const timeMs of times) log.write({ ...record, timeMs });
    log.flush();
    const lines = writes.join('').trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { time: string }).time)).toEqual(
      times.map((ms) => new Date(ms).toISOString()),
    );
  });

  it('comes as text when text is asked for', () => {
    const { log, writes } = capture('text');
    log.write(record);
    log.flush();
    expect(writes.join('')).toMatch(/^2026-01-01T00:00:00.007Z INFO {2}access request_id=abc-1 app=billing /);
  });
});

describe('the buffer', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is handed on after 100 ms', () => {
    const { log, writes } = capture();
    log.write(record);
    log.write(record);
    vi.advanceTimersByTime(99);
    expect(writes).toHaveLength(0);
    vi.advanceTimersByTime(1);
    expect(writes).toHaveLength(1);
    expect(writes.join('').split('\n')).toHaveLength(3);
    vi.advanceTimersByTime(1_000);
    expect(writes).toHaveLength(1);
  });

  it('is handed on at 64 KiB without waiting, in whole lines', () => {
    const { log, writes } = capture();
    while (writes.length === 0) log.write(record);
    expect(writes.join('').length).toBeGreaterThanOrEqual(65_536);
    expect(writes.join('').length).toBeLessThan(66_000);
    expect(writes.join('').endsWith('\n')).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});
