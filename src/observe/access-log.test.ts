import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ACCESS_FIELDS } from '../model/access-fields.ts';
import { AccessLog, createAccessLog, type AccessLogOptions, type AccessRecord } from './access-log.ts';

const record: AccessRecord = {
  timeMs: Date.UTC(2026, 0, 1) + 7.9,
  requestId: 'abc-1',
  labels: Object.freeze({ app: 'billing', version: 'v1', revision: 'r1', route: '/billing/v1/{id}' }),
  method: 'GET',
  host: 'api.example',
  path: '/billing/v1/42',
  status: 200,
  bytesIn: 0,
  bytesOut: 120,
  durationMs: 1.23456,
  upstreamMs: 0.9,
  keyId: 'key-1',
  clientIp: '192.0.2.1',
  protocol: 'HTTP/1.1',
  errorCode: undefined,
  errorDetail: '',
  isAborted: false,
  shadowDenials: undefined,
  retries: 0,
};

const ALL: AccessLogOptions = { format: 'json', mode: 'all', level: 'info', fields: ACCESS_FIELDS };

function capture(options: Partial<AccessLogOptions> = {}): {
  readonly log: AccessLog;
  readonly writes: string[];
} {
  const writes: string[] = [];
  const output = {
    write: (lines: string) => void writes.push(lines),
    append: (lines: Uint8Array) => void writes.push(Buffer.from(lines).toString()),
    push: () => undefined,
    flushSync: () => undefined,
    droppedLines: 0,
  };
  return { log: new AccessLog(output, { ...ALL, ...options }), writes };
}

function lineOf(
  change: Partial<AccessRecord>,
  options: Partial<AccessLogOptions> = {},
): Record<string, unknown> {
  const { log, writes } = capture(options);
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
      host: 'api.example',
      path: '/billing/v1/42',
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

  it('has only the fields that apply', () => {
    const line = lineOf({
      labels: undefined,
      upstreamMs: undefined,
      keyId: undefined,
      errorCode: 'no_route',
      errorDetail: 'No app has this path',
      isAborted: true,
      shadowDenials: ['auth', 'rate_limit'],
      retries: 2,
    });
    expect(Object.keys(line)).toEqual([
      'level',
      'time',
      'request_id',
      'method',
      'host',
      'path',
      'protocol',
      'status',
      'bytes_in',
      'bytes_out',
      'duration_ms',
      'retries',
      'client_ip',
      'code',
      'detail',
      'aborted',
      'would_deny',
      'msg',
    ]);
    expect(line['would_deny']).toEqual(['auth', 'rate_limit']);
    expect(line['retries']).toBe(2);
  });

  it('is one line of JSON with the same values for any text', () => {
    const unit = fc.oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0xffff }));
    const text = fc.array(unit, { maxLength: 30 }).map((units) => String.fromCharCode(...units));
    fc.assert(
      fc.property(text, text, text, text, text, (method, requestId, keyId, route, path) => {
        const { log, writes } = capture();
        const labels = { app: 'a"\\', version: 'v\n1', revision: '\u2028', route };
        log.write({ ...record, method, requestId, keyId, labels, path, host: path });
        log.flush();
        const [line = '', ...rest] = writes.join('').split('\n');
        expect(rest).toEqual(['']);
        expect(line).toMatch(/^[\x20-\x7e]*$/);
        const texts = { ...(method !== '' && { method }), ...(path !== '' && { path, host: path }) };
        expect(JSON.parse(line)).toMatchObject({ request_id: requestId, key_id: keyId, ...labels, ...texts });
      }),
    );
  });

  it('is the text that JSON gives for its fields, whichever lines came before', () => {
    const { log, writes } = capture();
    const time = fc.integer({ min: 0, max: 3_000 });
    const micros = fc.integer({ min: 0, max: 5_000_000_000 });
    const count = fc.oneof(fc.nat(1_000), fc.integer({ min: 2 ** 31 - 1, max: 2 ** 40 }));
    const path = fc.constantFrom('/a', '/b_c/d', '/eyJx', '/J%22', `/${'x'.repeat(1_500)}`);
    const host = fc.constantFrom('', 'a.example', 'b.example');
    const status = fc.constantFrom(200, 404, 500);
    const twin = (r: AccessRecord): string => {
      const { labels, durationMs, upstreamMs, keyId } = r;
      const fields: [string, unknown][] = [
        ['level', r.status >= 500 ? 'warn' : 'info'],
        ['time', new Date(Math.floor(r.timeMs)).toISOString()],
        ['request_id', r.requestId],
        ...Object.entries(labels ?? {}),
        ['method', r.method],
        ['host', r.host || undefined],
        ['path', r.path.length > 1_024 ? `${r.path.slice(0, 1_021)}...` : r.path],
        ['protocol', r.protocol],
        ['status', r.status],
        ['bytes_in', r.bytesIn],
        ['bytes_out', r.bytesOut],
        ['duration_ms', `#${durationMs.toFixed(3)}#`],
        ['upstream_ms', upstreamMs === undefined ? undefined : `#${upstreamMs.toFixed(3)}#`],
        ['key_id', keyId],
        ['client_ip', r.clientIp],
        ['msg', 'access'],
      ];
      return `${JSON.stringify(Object.fromEntries(fields)).replaceAll(/"#|#"/g, '')}\n`;
    };
    fc.assert(
      fc.property(time, micros, micros, count, path, host, status, (ms, took, waited, bytes, ...texts) => {
        const [each, from, code] = texts;
        const line = {
          ...record,
          timeMs: record.timeMs + ms,
          durationMs: took / 1000,
          upstreamMs: waited % 2 === 0 ? undefined : waited / 1000,
          bytesIn: bytes,
          path: each,
          host: from,
          status: code,
          keyId: bytes % 3 === 0 ? undefined : `key-${bytes % 3}`,
        };
        log.write(line);
        log.flush();
        expect(writes.pop()).toBe(twin(line));
      }),
    );
  });

  it('leaves out method, host and path of a request that could not be read', () => {
    const line = lineOf({ labels: undefined, method: '', host: '', path: '', status: 400 });
    expect(line).toMatchObject({ status: 400, client_ip: '192.0.2.1' });
    expect(Object.keys(line).filter((name) => /method|host|path/.test(name))).toEqual([]);
  });

  it('truncates long text from a client', () => {
    const long = 'x'.repeat(100_000);
    const line = lineOf({ path: `/${long}`, host: long, errorCode: 'bad_path', errorDetail: long });
    expect(String(line['path'])).toHaveLength(1_024);
    expect(String(line['path'])).toMatch(/^\/x+\.\.\.$/);
    expect(String(line['host'])).toHaveLength(262);
    expect(String(line['detail'])).toHaveLength(512);
  });

  it.each([
    ['/reset/hgk_0123456789abcdefghijABCDEFGHIJ/x', '/reset/***/x'],
    ['/t/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl', '/t/***'],
    ['http://user:word@host/x', 'http://***@host/x'],
    ['/a_b/@c/eyJ', '/a_b/@c/eyJ'],
  ])('masks what looks like a credential in %s', (path, expected) => {
    expect(lineOf({ path })['path']).toBe(expected);
  });

  it('has the configured fields, and always level, time and msg', () => {
    const line = lineOf({ errorCode: 'no_route' }, { fields: ['status', 'path', 'app', 'code'] });
    expect(Object.entries(line)).toEqual([
      ['level', 'warn'],
      ['time', '2026-01-01T00:00:00.007Z'],
      ['app', 'billing'],
      ['path', '/billing/v1/42'],
      ['status', 200],
      ['code', 'no_route'],
      ['msg', 'access'],
    ]);
    expect(Object.keys(lineOf({}, { fields: [] }))).toEqual(['level', 'time', 'msg']);
  });

  it.each([
    [200, undefined, 'info'],
    [404, 'no_route', 'info'],
    [499, undefined, 'info'],
    [500, undefined, 'warn'],
    [502, 'upstream_failed', 'warn'],
    // The backend closed the connection in the middle of its response.
    [200, 'upstream_failed', 'warn'],
  ])('has the level of its outcome: status %d and code %s', (status, errorCode, level) => {
    expect(lineOf({ status, errorCode })['level']).toBe(level);
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

  it('has the time of its own exchange when the second changes', () => {
    const { log, writes } = capture();
    const times = [0, 999, 1_000, 1_001, 500, 61_000].map((ms) => Date.UTC(2026, 5, 1) + ms);
    for (const timeMs of times) log.write({ ...record, timeMs });
    log.flush();
    const lines = writes.join('').trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { time: string }).time)).toEqual(
      times.map((ms) => new Date(ms).toISOString()),
    );
  });

  it('is text with the format text', () => {
    const { log, writes } = capture({ format: 'text' });
    log.write(record);
    log.flush();
    expect(writes.join('')).toMatch(/^2026-01-01T00:00:00.007Z INFO {2}access request_id=abc-1 app=billing /);
  });
});

describe('which exchanges get a line', () => {
  const ends: readonly (readonly [number, string | undefined, boolean])[] = [
    [200, undefined, false],
    [304, undefined, false],
    [400, 'bad_request', false],
    [404, undefined, false],
    [200, undefined, true],
    [499, undefined, true],
    [200, 'upstream_failed', true],
    [503, undefined, false],
  ];
  const wanted = (options: Partial<AccessLogOptions>): readonly boolean[] => {
    const { log } = capture(options);
    return ends.map((end) => log.wants(...end));
  };

  it('all of them, unless only errors are configured', () => {
    expect(wanted({})).toEqual(ends.map(() => true));
    expect(wanted({ mode: 'errors' })).toEqual([false, false, true, true, true, true, true, true]);
  });

  it('with the level warn only failures', () => {
    const failures = [false, false, false, false, false, false, true, true];
    expect(wanted({ level: 'warn' })).toEqual(failures);
    expect(wanted({ level: 'warn', mode: 'errors' })).toEqual(failures);
    expect(wanted({ level: 'debug' })).toEqual(ends.map(() => true));
  });

  it('none if the log is off or its level is higher', () => {
    const output = {
      write: () => undefined,
      append: () => undefined,
      push: () => undefined,
      flushSync: () => undefined,
      droppedLines: 0,
    };
    expect(createAccessLog(output, { ...ALL, mode: 'off' })).toBeUndefined();
    for (const level of ['error', 'fatal', 'silent'] as const)
      expect(createAccessLog(output, { ...ALL, level })).toBeUndefined();
    expect(createAccessLog(output, { ...ALL, level: 'warn' })).toBeInstanceOf(AccessLog);
  });
});

describe('the buffer', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is passed to the output after 100 ms', () => {
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

  it('is passed to the output at 8 KiB without waiting, in whole lines', () => {
    const { log, writes } = capture();
    while (writes.length === 0) log.write(record);
    expect(writes.join('').length).toBeGreaterThanOrEqual(8_192);
    expect(writes.join('').length).toBeLessThan(8_700);
    expect(writes.join('').endsWith('\n')).toBe(true);
    // Lines that the output still queues are written with the timer.
    vi.advanceTimersByTime(100);
    expect(vi.getTimerCount()).toBe(0);
  });
});
