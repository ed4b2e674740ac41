import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  findHeadEnd,
  incompleteHeadError,
  incompleteResponseError,
  oversizeHeadError,
  skipEmptyLine,
} from './head-end.ts';

const latin1 = (text: string) => Buffer.from(text, 'latin1');

describe('findHeadEnd', () => {
  it('agrees with indexOf for any bounds', () => {
    const text = fc.array(fc.constantFrom('\r', '\n', '\r\n', 'a', 'bcd')).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.nat(20), fc.nat(20), (all, from, length) => {
        const to = Math.min(all.length, from + length);
        const expected = all.slice(from, to).indexOf('\r\n\r\n');
        expect(findHeadEnd(latin1(all), from, to)).toBe(expected < 0 ? -1 : from + expected + 4);
      }),
      { numRuns: 2000 },
    );
  });

  it('finds the same end when it resumes three bytes before the end of the bytes already seen', () => {
    const bytes = latin1('GET / HTTP/1.1\r\nHost: a\r\n\r\nbody');
    for (let seen = 0; seen <= bytes.length; seen++) {
      const first = findHeadEnd(bytes, 0, seen);
      expect(first < 0 ? findHeadEnd(bytes, Math.max(0, seen - 3), bytes.length) : first).toBe(27);
    }
  });
});

describe('skipEmptyLine', () => {
  it.each([
    ['\r\nGET', 2],
    ['GET', 0],
    ['\r', 0],
    ['', 0],
    ['\n', 0],
    ['\r\n\r\n', 2],
  ])('of %j starts at %i', (text, start) => expect(skipEmptyLine(latin1(text), 0, text.length)).toBe(start));
});

describe('incompleteHeadError', () => {
  const errorOf = (text: string, from = 0) => incompleteHeadError(latin1(text), 0, from, text.length)?.code;

  it.each(['', 'G', 'GET / HTTP/1.1\r', 'GET / HTTP/1.1\r\nHost', '\r', 'GET / HTTP/9.9\r\nA:'])(
    'waits for more bytes after %j',
    (text) => expect(errorOf(text)).toBeUndefined(),
  );

  it.each([
    ['GET / HTTP/1.1\n', 'bare_line_feed'],
    ['GET / HTTP/1.1\rH', 'bare_carriage_return'],
    ['\x16\x03\x01', 'bad_request_line'],
    ['\rG', 'bad_request_line'],
    ['GET /\0', 'bad_header_value'],
    ['PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n', 'bad_request_line'],
    ['PROXY UNKNOWN\r\nGET / HTTP/1.1\r\n', 'bad_request_line'],
    ['SSH-2.0-x\r\n', 'bad_request_line'],
    ['GET /\r\n', 'bad_request_line'],
    ['GET  HTTP/1.1\r\n', 'bad_request_line'],
    [' / HTTP/1.1\r\n', 'bad_request_line'],
  ])('refuses %j', (text, code) => expect(errorOf(text)).toBe(code));

  it('distinguishes TLS from anything else that is not HTTP', () => {
    const detailOf = (text: string) => incompleteHeadError(latin1(text), 0, 0, text.length)?.detail;
    expect(detailOf('\x16\x03\x01')).toMatch(/speaks TLS/);
    expect(detailOf('\x15\x03\x01')).toMatch(/not that of an HTTP request/);
  });

  it('recognises a line end that is split between two reads', () => {
    expect(errorOf('GET / HTTP/1.1\r\n', 15)).toBeUndefined();
    expect(errorOf('GET / HTTP/1.1\rX', 15)).toBe('bare_carriage_return');
  });
});

describe('incompleteResponseError', () => {
  const errorOf = (text: string, from = 0) =>
    incompleteResponseError(latin1(text), 0, from, text.length)?.detail;

  it.each([
    '',
    'H',
    'HTTP/1.',
    'HTTP/1.0 2',
    'HTTP/1.1 200',
    'HTTP/1.1 200\r',
    'HTTP/1.1 200 OK\r\nA: b\r\n\r',
  ])('waits for more bytes after %j', (text) => expect(errorOf(text)).toBeUndefined());

  it.each([
    ['HTTP/1.1 200 OK\n', /LF alone/],
    ['HTTP/1.1 200 OK\r\nA: b\n', /LF alone/],
    ['HTTP/1.1 200 OK\rA', /CR that is not/],
    ['HTTP/1.1 200 OK\r\nA: \0', /NUL/],
    ['S', /does not start with HTTP/],
    ['HTTP/2', /does not start with HTTP/],
    ['HTTP/1.2', /does not start with HTTP/],
    ['\r', /does not start with HTTP/],
    ['\0', /does not start with HTTP/],
    ['HTTP/1.1 2x', /three digits/],
    ['HTTP/1.1 2000', /status line is malformed/],
  ])('refuses %j at its last byte and not before', (text, detail) => {
    expect(errorOf(text)).toMatch(detail);
    expect(errorOf(text, text.length - 1)).toMatch(detail);
    expect(errorOf(text.slice(0, -1))).toBeUndefined();
  });

  it.each([
    ['SETTINGS', '\0\0\x12\x04\0\0\0\0\0\0\x03', /speaks HTTP\/2/],
    ['empty SETTINGS', '\0\0\0\x04\0\0\0\0\0', /speaks HTTP\/2/],
    ['too few bytes of it', '\0\0\x12\x04\0\0\0\0', /does not start with HTTP/],
    ['another frame', '\0\0\x12\x08\0\0\0\0\0', /does not start with HTTP/],
    ['SETTINGS of a stream', '\0\0\x12\x04\0\0\0\0\x01', /does not start with HTTP/],
  ])('tells a backend that speaks HTTP/2 by its first frame: %s', (_name, text, detail) =>
    expect(errorOf(text)).toMatch(detail),
  );
});

describe('oversizeHeadError', () => {
  it.each([
    ['GET /aaaaaaaa', 414],
    ['GET / HTTP/1.1\r\nA: b', 431],
    ['GETGETGET', 400],
  ])('of %j is %i', (text, status) =>
    expect(oversizeHeadError(latin1(text), 0, text.length, 5).status).toBe(status),
  );

  it('does not read beyond the valid bytes', () => {
    expect(oversizeHeadError(latin1('GET /aaa\n'), 0, 8, 5).status).toBe(414);
    expect(oversizeHeadError(latin1('GETGET /\n'), 0, 6, 5).status).toBe(400);
  });
});
