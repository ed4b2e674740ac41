import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { referenceRequest } from '../../../test/fuzz/reference/request.ts';
import { heapBytes } from '../../../test/support/measure/garbage.ts';
import { BodyFraming } from '../bodies/framing.ts';
import { HeadTemplateCache } from './head-template-cache.ts';
import { HeaderKind } from './header-kind.ts';
import { RequestHead } from './request-head.ts';

const limits = { maxTargetBytes: 100, maxHeaders: 5 };

describe('RequestHead', () => {
  it('overwrites everything that the previous request has set', () => {
    const head = new RequestHead();
    const first =
      'POST http://b/x HTTP/1.0\r\nHost: a\r\nConnection: x, upgrade, keep-alive\r\nUpgrade: y\r\nContent-Length: 3\r\n';
    expect(head.parse(first, limits)).toBeUndefined();
    expect(head).toMatchObject({
      host: 'b',
      httpMinor: 0,
      framing: BodyFraming.contentLength,
      contentLength: 3,
    });
    expect(
      head.parse(
        'POST /y HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n',
        limits,
      ),
    ).toBeUndefined();
    expect(head).toMatchObject({
      host: 'a',
      httpMinor: 1,
      framing: BodyFraming.chunked,
      contentLength: -1,
      expectContinue: true,
    });
    expect(head.parse('GET / HTTP/1.1\r\nHost: a\r\n', limits)).toBeUndefined();
    expect(head).toMatchObject({
      method: 'GET',
      target: '/',
      framing: BodyFraming.none,
      contentLength: -1,
      persistent: true,
      expectContinue: false,
      upgrade: undefined,
      connectionTokens: undefined,
      count: 1,
    });
  });

  it('does not forward nominated ordinary fields, and forwards nominated managed ones', () => {
    const head = new RequestHead();
    head.parse('GET / HTTP/1.1\r\nHost: a\r\nConnection: x, via\r\nX: 1\r\nVia: 1.1 p\r\n', limits);
    expect([head.isNominated(2), head.isNominated(3)]).toEqual([true, false]);
    expect(head.ordinaryLines()).toBe('');
  });

  it('reads a head from the middle of a reused buffer', () => {
    const bytes = Buffer.from('xxGET /a HTTP/1.1\r\nHost: a\r\nX: 1\r\n\r\nGET', 'latin1');
    const head = new RequestHead();
    expect(head.parseBytes(bytes, 2, bytes.length - 5, limits)).toBeUndefined();
    bytes.fill(0);
    expect([head.target, head.host, head.get('x'), head.ordinaryLines()]).toEqual([
      '/a',
      'a',
      '1',
      'X: 1\r\n',
    ]);
  });

  it('reports repeated fields only when they were kept and every byte is the same', () => {
    const head = new RequestHead();
    const read = (line: string, fields: string) => {
      expect(head.parse(`${line}\r\n${fields}`, limits)).toBeUndefined();
      const { isRepeated } = head;
      head.rest();
      return isRepeated;
    };
    const fields = 'Host: a\r\nA: 1\r\n';
    expect(read('GET / HTTP/1.1', fields)).toBe(false);
    expect(read('POST /b HTTP/1.1', fields)).toBe(true);
    expect(read('GET / HTTP/1.0', fields)).toBe(false);
    expect(read('GET / HTTP/1.0', fields)).toBe(true);
    expect(read('GET / HTTP/1.1', fields)).toBe(false);
    expect(read('GET / HTTP/1.1', 'Host: a\r\nA: 2\r\n')).toBe(false);
    expect(read('GET / HTTP/1.1', `${fields}A: 2\r\n`)).toBe(false);
    const long = `Host: a\r\nA: ${'x'.repeat(1_024)}\r\n`;
    expect([read('GET / HTTP/1.1', long), read('GET / HTTP/1.1', long)]).toEqual([false, false]);
    head.parse(`GET / HTTP/1.1\r\n${fields}`, limits);
    head.release();
    expect(read('GET / HTTP/1.1', fields)).toBe(false);
  });

  it('keeps fields rarely while they always differ, and at once for another connection', () => {
    const head = new RequestHead();
    const read = (field: number) => {
      head.parse(`GET / HTTP/1.1\r\nHost: a\r\nA: ${field}\r\n`, limits);
      const { isRepeated } = head;
      head.rest();
      return isRepeated;
    };
    for (let field = 0; field < 20; field++) expect(read(field)).toBe(false);
    const same = Array.from({ length: 20 }, () => read(99));
    // From the first section on that is kept as a trial.
    expect(same).toEqual(same.map((_isRepeated, index) => index >= 12));
    for (let field = 0; field < 20; field++) expect(read(field)).toBe(false);
    head.forget();
    expect([read(99), read(99)]).toEqual([false, true]);
  });

  it('drops derived data together with its fields', () => {
    const head = new RequestHead();
    const fields = 'Host: a\r\nAuthorization: Bearer t\r\nOrigin: p\r\n';
    for (let count = 0; count < 2; count++) {
      head.parse(`GET / HTTP/1.1\r\n${fields}`, limits);
      head.rest();
    }
    const templates = new HeadTemplateCache<unknown>();
    head.templates = templates;
    expect(head.valueOf(HeaderKind.authorization)).toBe('Bearer t');
    expect(head.valueOf(HeaderKind.origin)).toBe('p');
    head.parse(`GET /b HTTP/1.1\r\n${fields}`, limits);
    expect([head.templates, head.valueOf(HeaderKind.authorization)]).toEqual([templates, 'Bearer t']);
    for (const isRepeated of [false, true]) {
      head.parse('GET /b HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer u\r\nOrigin: o\r\n', limits);
      expect([head.isRepeated, head.templates]).toEqual([isRepeated, undefined]);
      const values = [head.valueOf(HeaderKind.authorization), head.valueOf(HeaderKind.origin)];
      expect(values).toEqual(['Bearer u', 'o']);
      head.rest();
    }
  });

  it.each(['rest', 'forget'] as const)('keeps no part of a long section after %s', (end) => {
    const [count, bytes] = [300, 16_000];
    const fields =
      'Host: gateway.example.com\r\nConnection: x-nominated-field, upgrade\r\nUpgrade: some-protocol/1\r\n';
    const headAfter = (index: number): RequestHead => {
      const head = new RequestHead();
      const section = `${fields}X: ${String(index).padStart(bytes, 'x')}\r\n`;
      expect(head.parse(`GET http://gateway.example.org/a HTTP/1.1\r\n${section}`, limits)).toBeUndefined();
      head[end]();
      return head;
    };
    const before = heapBytes();
    const heads = Array.from({ length: count }, (_, index) => headAfter(index));
    expect(heapBytes() - before).toBeLessThan((count * bytes) / 2);
    expect(heads).toHaveLength(count);
  });

  it.each([
    ['/', 1],
    ['/a/b-c_d~1', 10],
    ['/a?B=/../%2F', 2],
    ["/:@!$&'()*+,=", 13],
    ['/A', -1],
    ['/a/', -1],
    ['/a//b', -1],
    ['/a.b', -1],
    ['/..', -1],
    ['/%61', -1],
    ['/a;b', -1],
    ['/a|b', -1],
    ['/?', 1],
    ['http://b/a', -1],
  ])('determines whether the path of %s is plain', (target, length) => {
    const head = new RequestHead();
    expect(head.parse(`GET ${target} HTTP/1.1\r\nHost: a\r\n`, limits)).toBeUndefined();
    expect(head.plainPathLength).toBe(length);
  });

  it.each([
    '',
    '\r\n',
    'GET',
    'GET / HTTP/1.1',
    'GET / HTTP/1.1\r\nHost: a',
    'GET \r\n',
    'GET / HTTP/\r\n',
    'GET / HTTP/1.\r\n',
  ])('refuses the fragment %j', (text) => expect(new RequestHead().parse(text, limits)?.status).toBe(400));

  it('accepts values up to and including each limit', () => {
    const head = new RequestHead();
    const request = (target: string, fields: number) =>
      `GET ${target} HTTP/1.1\r\nHost: a\r\n${'A: 1\r\n'.repeat(fields)}`;
    expect(head.parse(request(`/${'a'.repeat(99)}`, 4), limits)).toBeUndefined();
    expect(head.parse(request(`/${'a'.repeat(100)}`, 4), limits)?.status).toBe(414);
    expect(head.parse(request('/', 5), limits)?.status).toBe(431);
  });

  it('agrees with its slow twin on texts of request-like pieces', () => {
    const head = new RequestHead();
    const piece = fc.constantFrom(
      'GET',
      'POST',
      ' ',
      '/',
      '/a?b',
      '*',
      'http://b',
      'HTTP/1.1',
      'HTTP/1.0',
      '\r\n',
      '\r',
      '\n',
      'Host:',
      'a',
      ':',
      'A: 1\r\n',
      'Host: a\r\n',
      'Content-Length: 1\r\n',
      'Transfer-Encoding: chunked\r\n',
      'Connection: ',
      'close',
      ',',
      '\t',
      '\0',
      '\xe9',
    );
    const text = fc.tuple(
      fc.constantFrom('', 'GET / HTTP/1.1\r\nHost: a\r\n', 'POST / HTTP/1.0\r\n'),
      fc.array(piece, { maxLength: 8 }),
    );
    fc.assert(
      fc.property(text, ([start, pieces]) => {
        const whole = `${start}${pieces.join('')}\r\n`;
        expect(head.parse(whole, limits) === undefined).toBe(referenceRequest(whole, limits) !== undefined);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('noteFirstLine', () => {
  /** The same as a regular expression. */
  function reference(text: string): readonly [string, string] {
    const [, method = '', target = ''] =
      /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) ([!-~]{0,2048})/.exec(text) ?? [];
    return [method, target];
  }

  it('finds method and target of an unparsable request, as far as they were received', () => {
    const piece = fc.constantFrom(
      'GET',
      ' ',
      '/a',
      '?b',
      '\r\n',
      '\0',
      '\xe9',
      'x'.repeat(100),
      '"',
      'HTTP/1.1',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.nat(3), (pieces, before) => {
        const text = pieces.join('');
        const bytes = Buffer.from(`${' '.repeat(before)}${text}`, 'latin1');
        const head = new RequestHead();
        head.noteFirstLine(bytes, before, bytes.length);
        expect([head.method, head.target]).toEqual(reference(text));
      }),
    );
  });

  it('does not change parsed values', () => {
    const head = new RequestHead();
    expect(head.parse('GET http://a/x HTTP/1.1\r\n', limits)?.code).toBe('missing_host');
    const bytes = Buffer.from('PUT /other HTTP/1.1\r\n');
    head.noteFirstLine(bytes, 0, bytes.length);
    expect([head.method, head.target]).toEqual(['GET', 'http://a/x']);
  });
});
