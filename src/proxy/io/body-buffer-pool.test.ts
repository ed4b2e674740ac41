import { afterEach, describe, expect, it } from 'vitest';
import {
  acquireBodyBuffer,
  BODY_BUFFERS_MAX,
  bodyBuffersInUse,
  type BodyBuffer,
} from './body-buffer-pool.ts';

const held: BodyBuffer[] = [];
afterEach(() => {
  for (const body of held.splice(0)) body.release();
  if (bodyBuffersInUse() !== 0) throw new Error('A body is still held');
});

function keep(text: string): BodyBuffer | undefined {
  const body = acquireBodyBuffer(Buffer.from(text, 'latin1'), text.length);
  if (body !== undefined) held.push(body);
  return body;
}

const LONG = 'caf\xe9'.repeat(500);

it.each([
  [0, false],
  [1_023, false],
  [1_024, true],
  [14 * 1024, true],
  [14 * 1024 + 1, false],
])('of a body of %i bytes: %s', (length, isKept) => {
  expect(keep('x'.repeat(length)) !== undefined).toBe(isKept);
});

it('keeps the bytes when the read buffer changes', () => {
  const read = Buffer.from(`${LONG}the next request`, 'latin1');
  const body = acquireBodyBuffer(read, LONG.length) as BodyBuffer;
  held.push(body);
  read.fill(0);
  expect([body.length, body.text()]).toEqual([LONG.length, LONG]);
});

describe('behind a head', () => {
  it('makes one piece with it', () => {
    for (const head of ['', 'h', 'head \xe9\r\n\r\n', 'x'.repeat(3 * 1024)]) {
      expect(keep(LONG)?.prependHead(head)?.toString('latin1')).toBe(head + LONG);
    }
  });

  it('does not if the head is too long', () => {
    expect(keep(LONG)?.prependHead('x'.repeat(3 * 1024 + 1))).toBe(undefined);
  });

  it('does so only once: the first piece may still be in use', () => {
    const body = keep(LONG);
    const first = body?.prependHead('the first head');
    expect(body?.prependHead('another')).toBe(undefined);
    expect(first?.toString('latin1')).toBe(`the first head${LONG}`);
    expect(body?.text()).toBe(LONG);
  });

  it('contains no bytes of earlier bodies in its memory', () => {
    for (const [head, text] of [
      ['long head', 'a'.repeat(5_000)],
      ['head', 'b'.repeat(2_000)],
      ['dead', 'c'.repeat(2_000)],
      ['head', 'd'.repeat(2_001)],
      ['headd', 'e'.repeat(2_000)],
    ] as const) {
      const body = acquireBodyBuffer(Buffer.from(text), text.length) as BodyBuffer;
      expect(body.prependHead(head)?.toString()).toBe(head + text);
      body.release();
    }
  });
});

it('is not reused before its last holder releases it', () => {
  const body = acquireBodyBuffer(Buffer.from(LONG, 'latin1'), LONG.length) as BodyBuffer;
  body.retain();
  const piece = body.prependHead('head');
  body.release();
  for (let count = 0; count < 200; count++) keep('x'.repeat(5_000));
  expect(piece?.toString('latin1')).toBe(`head${LONG}`);
  body.release();
  expect(bodyBuffersInUse()).toBe(200);
});

it('keeps bodies as text if too many buffers are in use', () => {
  for (let count = 0; count < BODY_BUFFERS_MAX; count++) expect(keep(LONG)).toBeDefined();
  expect(keep(LONG)).toBe(undefined);
  held.pop()?.release();
  expect(keep(LONG)).toBeDefined();
});
