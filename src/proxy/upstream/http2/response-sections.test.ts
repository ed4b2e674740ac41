/** Heads and trailers of HTTP/2 responses, first and repeated, while the table of the decoder changes under them. */
import { describe, expect, it } from 'vitest';
import { BodyFraming } from '../../../http/bodies/framing.ts';
import { encodeFields } from '../../../http/http2/hpack/encoder.ts';
import { ResponseHead } from '../../../http/heads/response-head.ts';
import { ResponseSections } from './response-sections.ts';

const blockOf = (...fields: string[]): Buffer => Buffer.from(encodeFields(fields), 'latin1');

function headOf(sections: ResponseSections, block: Buffer, method = 'GET', endStream = false): unknown {
  const section = sections.read(block, 0, block.length);
  const head = section && sections.headOf(section, method, endStream);
  if (!(head instanceof ResponseHead)) return head;
  const { status, framing, contentLength, isRepeated } = head;
  const lines = head.ordinaryLines();
  head.rest();
  return { status, framing, contentLength, isRepeated, lines };
}

describe('a head', () => {
  it('has the framing that its method and its end give it, also when it comes again', () => {
    const sections = new ResponseSections();
    const block = blockOf(':status', '200', 'x-a', 'b');
    for (let round = 0; round < 4; round++) {
      const same = { status: 200, lines: 'x-a: b\r\n', isRepeated: expect.any(Boolean) as unknown };
      expect(headOf(sections, block)).toEqual({ ...same, framing: BodyFraming.chunked, contentLength: -1 });
      expect(headOf(sections, block, 'HEAD')).toEqual({
        ...same,
        framing: BodyFraming.none,
        contentLength: -1,
      });
      expect(headOf(sections, block, 'GET', true)).toMatchObject({ ...same, contentLength: 0 });
    }
    expect(headOf(sections, block)).toMatchObject({ isRepeated: true });
  });

  it('is read again when the table has changed under its bytes', () => {
    const sections = new ResponseSections();
    const insert = (value: string): Buffer => Buffer.from(`\x88\x40\x03x-a\x01${value}`, 'latin1');
    const reference = Buffer.from([0x88, 0xbe]);
    for (const value of ['1', '2', '3']) {
      expect(headOf(sections, insert(value))).toMatchObject({ lines: `x-a: ${value}\r\n` });
      for (let round = 0; round < 3; round++)
        expect(headOf(sections, reference)).toMatchObject({ lines: `x-a: ${value}\r\n` });
    }
  });

  it('is right among more of them than are kept', () => {
    const sections = new ResponseSections();
    for (let count = 0; count < 200; count++) {
      const value = String((count * 7) % 40);
      expect(headOf(sections, blockOf(':status', '200', 'x-a', value))).toMatchObject({
        lines: `x-a: ${value}\r\n`,
      });
    }
  });

  it.each([
    ['without a status', ['x-a', 'b']],
    ['with a status behind a field', ['x-a', 'b', ':status', '200']],
    ['with two', [':status', '200', ':status', '200']],
    ['with an empty one', [':status', '']],
    ['with a long one', [':status', '2000']],
    ['with the pseudo-field of a request', [':status', '200', ':path', '/']],
    ['with a line end', [':status', '200', 'x-a', 'b\r\nx-b: c']],
    ['with a field of a connection', [':status', '200', 'connection', 'close']],
    ['with two lengths', [':status', '200', 'content-length', '1', 'content-length', '2']],
  ])('%s is a failure, each time', (_name, fields) => {
    const sections = new ResponseSections();
    for (let round = 0; round < 3; round++)
      expect(headOf(sections, blockOf(...fields))).toMatchObject({ cause: 'bad_response' });
  });
});

it('trailers are lines, without those that may not be trailers, and never a head', () => {
  const sections = new ResponseSections();
  const read = (...fields: string[]): unknown => {
    const block = blockOf(...fields);
    const section = sections.read(block, 0, block.length);
    return section && sections.trailersOf(section);
  };
  for (let round = 0; round < 3; round++) {
    expect(read('grpc-status', '0', 'content-type', 'a/b')).toBe('grpc-status: 0\r\n');
    expect(read()).toBe('');
    expect(read('content-type', 'a/b')).toBe('');
    expect(read(':status', '200')).toMatchObject({ cause: 'bad_response' });
    expect(read('Grpc-Status', '0')).toMatchObject({ cause: 'bad_response' });
  }
});

it('does not read a section whose encoding is broken', () => {
  expect(new ResponseSections().read(Buffer.from([0xff]), 0, 1)).toBe(undefined);
});
