import { describe, expect, it } from 'vitest';
import { BodyFraming } from '../bodies/framing.ts';
import { ResponseHead } from './response-head.ts';

const limits = { maxHeaders: 5 };

describe('ResponseHead', () => {
  it('overwrites everything that the previous response has set', () => {
    const head = new ResponseHead();
    expect(
      head.parse('HTTP/1.0 404 No\r\nConnection: x, upgrade\r\nUpgrade: y\r\n', 'GET', limits),
    ).toBeUndefined();
    expect(head).toMatchObject({
      status: 404,
      framing: BodyFraming.untilClose,
      persistent: false,
      upgrade: 'y',
    });
    expect(head.parse('HTTP/1.1 200 OK\r\nContent-Length: 7\r\n', 'GET', limits)).toBeUndefined();
    expect(head).toMatchObject({
      status: 200,
      reason: 'OK',
      httpMinor: 1,
      framing: BodyFraming.contentLength,
      contentLength: 7,
      persistent: true,
      upgrade: undefined,
      connectionTokens: undefined,
    });
  });

  it('reports every refusal as a bad upstream response', () => {
    const head = new ResponseHead();
    for (const text of [
      '',
      'HTTP/1.1 200 OK',
      'x\r\n',
      'HTTP/1.1 200 OK\r\nA\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: x\r\n',
    ]) {
      expect(head.parse(text, 'GET', limits)).toMatchObject({ status: 502, code: 'bad_upstream_response' });
    }
  });

  it('reads a head from the middle of a buffer', () => {
    const bytes = Buffer.from('..HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx', 'latin1');
    const head = new ResponseHead();
    expect(head.parseBytes(bytes, 2, bytes.length - 3, 'GET', limits)).toBeUndefined();
    expect([head.reason, head.contentLength]).toEqual(['', 1]);
  });
});
