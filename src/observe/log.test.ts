import { describe, expect, it } from 'vitest';
import { createLogger, gapLine, maskCredentials, textLine, type Logger, type LoggerOptions } from './log.ts';

const clock = { nowMs: () => 1_767_225_600_123, monotonicMs: () => 0 };

function capture(options: Partial<LoggerOptions> = {}): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const output = { write: (line: string) => void lines.push(line) };
  return { log: createLogger({ level: 'info', format: 'json', output, clock, ...options }), lines };
}

describe('a JSON line', () => {
  it('has time, level as a word, base fields, own fields and message, and no host name', () => {
    const { log, lines } = capture({ base: { worker: 2 } });
    log.info({ request_id: 'r-1' }, 'hello');
    expect(lines).toHaveLength(1);
    expect(lines[0]?.endsWith('\n')).toBe(true);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      level: 'info',
      time: '2026-01-01T00:00:00.123Z',
      worker: 2,
      request_id: 'r-1',
      msg: 'hello',
    });
  });

  it('is written only at the configured level or above', () => {
    const { log, lines } = capture({ level: 'warn' });
    log.info('quiet');
    log.warn('loud');
    expect(lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(['warn']);
    expect(capture({ level: 'silent' }).log.isLevelEnabled('fatal')).toBe(false);
  });

  it('stays one line for any text', () => {
    const { log, lines } = capture();
    log.error({ err: new Error('a\nb'), path: '/x\r\n/y\u2028' }, 'one\ntwo');
    expect(lines.join('').trimEnd()).not.toMatch(/[\r\n]/);
  });
});

describe('secrets', () => {
  it.each([
    [{ authorization: 'hunter2' }],
    [{ headers: { authorization: 'hunter2', cookie: 'hunter2', 'set-cookie': 'hunter2' } }],
    [{ req: { headers: { authorization: 'hunter2', 'proxy-authorization': 'hunter2' } } }],
    [{ token: 'hunter2' }],
    [{ body: { token: 'hunter2', secret: 'hunter2', password: 'hunter2', token_hash: 'hunter2' } }],
  ])('are replaced because of the field name: %j', (fields) => {
    const { log, lines } = capture();
    log.info(fields, 'x');
    expect(lines.join('')).not.toContain('hunter2');
    expect(lines.join('')).toContain('[redacted]');
  });

  it.each([
    ['Bearer hunter2hunter2', 'Bearer ***'],
    ['basic aHVudGVyMjpodW50ZXIy', 'basic ***'],
    [`key hgk_${'hunter2'.repeat(7)} refused`, 'key *** refused'],
    ['jwt eyJhbGciOiJIUzI1NiJ9.hunter2.hunter2 bad', 'jwt *** bad'],
    ['eyJhbGciOiJIUzI1NiJ9.hunter2.', '***'],
    ['x-eyJhbGciOiJIUzI1NiJ9.hunter2.hunter2/eyJhbGciOiJIUzI1NiJ9.hunter2.a', 'x-***/***'],
    ['eyJaaaaaaaa eyJa.eyJhbGciOiJIUzI1NiJ9.hunter2.hunter2', 'eyJaaaaaaaa eyJa.***'],
    ['eyJaaaaaaaa.eyJhbGciOiJIUzI1NiJ9.hunter2', '***'],
    ['connect postgres://root:hunter2@db:5432/x', 'connect postgres://***@db:5432/x'],
  ])('are masked in text: %s', (text, masked) => {
    const { log, lines } = capture();
    log.error({ err: new Error(text), detail: { deep: { deeper: { deepest: text } } } }, text);
    expect(lines.join('')).not.toContain('hunter2');
    expect(maskCredentials(text)).toBe(masked);
    expect(() => JSON.parse(lines[0] ?? '') as unknown).not.toThrow();
  });

  it.each([
    'https://example.com/a@b',
    'a bearer of news',
    'basic path',
    'http://host:80/x',
    'mail me@example.com',
    '/files/keyJournal.of.2026',
    'eyJhbGciOiJIUzI1NiJ9 and eyJshort.a.b and eyJaaaaaaaa.b',
  ])('are not found in harmless text: %s', (text) => {
    expect(maskCredentials(text)).toBe(text);
  });
});

describe('an error', () => {
  const logged = (err: Error): unknown => {
    const { log, lines } = capture({ format: 'json' });
    log.error({ err }, 'failed');
    return (JSON.parse(lines[0] ?? '') as { err: unknown }).err;
  };

  it.each(['ECONNREFUSED', 'ENOTFOUND', 'ENOSPC', '57P01', '53300'])(
    'from outside the program has no stack: %s',
    (code) => {
      const err = Object.assign(new Error('away'), { code });
      expect(logged(err)).toEqual({ type: 'Error', message: 'away', code });
    },
  );

  it.each([undefined, 'ERR_INVALID_ARG_TYPE', 'EBADF', '42601'])('from a defect has a stack: %s', (code) => {
    const err = Object.assign(new Error('defect'), { code });
    expect(logged(err)).toMatchObject({ type: 'Error', stack: expect.stringContaining('    at ') as string });
  });
});

describe('a text line', () => {
  it('is readable', () => {
    const { log, lines } = capture({ format: 'text', base: { worker: 2 } });
    log.warn({ port: 8080, host: 'a b' }, 'listening');
    expect(lines).toEqual(['2026-01-01T00:00:00.123Z WARN  listening worker=2 port=8080 host="a b"\n']);
  });

  it('shows the stack of an error on lines below', () => {
    const { log, lines } = capture({ format: 'text' });
    log.error({ err: new Error('boom') }, 'failed');
    expect(lines[0]).toMatch(/^\S+ ERROR failed\n {4}Error: boom\n {8}at /);
  });

  it('shows an error from outside the program on the same line', () => {
    const { log, lines } = capture({ format: 'text' });
    log.warn({ err: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }) }, 'away');
    expect(lines).toEqual(['2026-01-01T00:00:00.123Z WARN  away err="connect ECONNREFUSED"\n']);
  });

  it('escapes line breaks and terminal control characters', () => {
    const { log, lines } = capture({ format: 'text' });
    log.info({ path: '/x\nFAKE', agent: '\u001b[2J\u009b' }, 'a\rb');
    expect(lines.join('').slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });

  it('has no text that looks like another field, or changes the direction of the line', () => {
    const { log, lines } = capture({ format: 'text' });
    log.info({ key_id: 'me client_ip=192.0.2.1', sub: 'a"\u202eb\u2028', client_ip: '::1' }, 'größer 👍');
    const fields = String.raw`key_id="me client_ip=192.0.2.1" sub="a\"\u202eb\u2028" client_ip=::1`;
    expect(lines).toEqual([`2026-01-01T00:00:00.123Z INFO  größer 👍 ${fields}\n`]);
  });

  it('passes on text that is not JSON', () => {
    expect(textLine('plain\n')).toBe('plain\n');
  });
});

it('reports a gap in both formats', () => {
  expect(JSON.parse(gapLine('json', clock)(7))).toMatchObject({ level: 'warn', dropped: 7 });
  expect(gapLine('text', clock)(7)).toMatch(/WARN .*dropped=7\n$/);
});
