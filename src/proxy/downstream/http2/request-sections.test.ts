/** Requests that are recognised by their bytes; test/fuzz/http2-clients.ts covers arbitrary frames. */
import { describe, expect, it } from 'vitest';
import { encodeFields } from '../../../http/http2/hpack/encoder.ts';
import { ClosedStreams } from './closed-streams.ts';
import { RequestSections, type ReadRequest } from './request-sections.ts';

const OPTIONS = { maxHeadBytes: 1_024, maxHeaders: 20, http2Websockets: true };
const GET = [':method', 'GET', ':scheme', 'http', ':authority', 'a', ':path', '/'];
const CONNECT = [':method', 'CONNECT', ':protocol', 'websocket', ...GET.slice(2)];
/** With indexing, and the newest entry of the table. */
const indexed = (value: string): string => `\x40\x01x${String.fromCharCode(value.length)}${value}`;
const NEWEST = '\xbe';

function read(sections: RequestSections, text: string, endStream = true): ReadRequest | string {
  const block = Buffer.from(text, 'latin1');
  const request = sections.request(block, 0, block.length, endStream);
  if (request === undefined) return 'broken';
  if (typeof request === 'string') return request;
  return 'malformed' in request ? 'malformed' : request;
}

const textOf = (request: ReadRequest | string): string =>
  typeof request === 'string' ? request : request.text;

describe('a section that comes again', () => {
  const block = encodeFields(GET);

  it('is the same request, apart from its end', () => {
    const sections = new RequestSections(OPTIONS);
    const first = read(sections, block);
    expect(read(sections, block)).toBe(first);
    expect(textOf(read(sections, block, false))).toContain('transfer-encoding: chunked');
    expect(textOf(read(sections, block))).not.toContain('transfer-encoding');
  });

  it.each(['a request', 'trailers'])('is another one when %s has changed the table', (what) => {
    const sections = new RequestSections(OPTIONS);
    read(sections, block + indexed('1'));
    const known = read(sections, block + NEWEST);
    expect(read(sections, block + NEWEST)).toBe(known);
    expect(textOf(known)).toContain('x: 1\r\n');
    const change = Buffer.from(what === 'trailers' ? indexed('2') : block + indexed('2'), 'latin1');
    if (what === 'trailers') expect(sections.trailers(change, 0, change.length)).toBe('x: 2\r\n');
    else sections.request(change, 0, change.length, true);
    expect(textOf(read(sections, block + NEWEST))).toContain('x: 2\r\n');
  });

  it('is decoded again after a rest', () => {
    const sections = new RequestSections(OPTIONS);
    const first = read(sections, block);
    sections.rest();
    const second = read(sections, block);
    expect([second === first, textOf(second)]).toEqual([false, textOf(first)]);
  });

  it('is another WebSocket, with a key of its own', () => {
    const sections = new RequestSections(OPTIONS);
    const keys = [1, 2].map(() => read(sections, encodeFields(CONNECT), false));
    expect(new Set(keys.map(textOf)).size).toBe(2);
  });

  it('is kept by no more than a few', () => {
    const sections = new RequestSections(OPTIONS);
    const first = read(sections, block);
    for (let n = 0; n < 7; n++) read(sections, block + encodeFields(['x', String(n)]));
    expect(read(sections, block)).toBe(first);
    for (let n = 0; n < 200; n++) read(sections, block + encodeFields(['y', String(n)]));
    expect(textOf(read(sections, block))).toBe(textOf(first));
  });
});

it.each([true, false])('bytes behind a section that was seen are not overlooked', (endStream) => {
  const block = encodeFields(GET);
  const sections = new RequestSections(OPTIONS);
  read(sections, block, true);
  read(sections, block, false);
  // Each is a size of the table, which must not follow a field (RFC 7541 section 4.2).
  for (const byte of ['+', '.']) expect(read(sections, block + byte, endStream)).toBe('broken');
});

it('sections beyond the limits keep the table in step', () => {
  const sections = new RequestSections(OPTIONS);
  const many = Array.from({ length: 200 }, () => ['y', 'z']).flat();
  expect(read(sections, encodeFields([...GET, ...many]) + indexed('3'))).toBe('too_long');
  expect(textOf(read(sections, encodeFields(GET) + NEWEST))).toContain('x: 3\r\n');
  expect(read(sections, '\xff\x20')).toBe('broken');
});

it('the last streams that were closed are known, and how; older ones may have been reset', () => {
  const closed = new ClosedStreams();
  for (let id = 1; id <= 401; id += 2) closed.add(id, id % 4 === 1);
  const known = [1, 143, 145, 147, 399, 401, 403].map((id) => closed.find(id));
  expect(known).toEqual(['reset', 'reset', 'reset', 'ended', 'ended', 'reset', undefined]);
});
