/** What is kept of a body that may be sent again takes about the memory that is counted for it. */
import { expect, it } from 'vitest';
import type { ExchangeView } from '../interfaces/exchange-view.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { RequestMemory } from './request-memory.ts';
import { SentBody } from './sent-body.ts';

it('joins single bytes, and writes all that has come each time', () => {
  const requestMemory = new RequestMemory(1_000_000);
  const exchange = { context: { requestMemory }, connection: { body: { isChunked: true } } };
  const sent = new SentBody(exchange as unknown as ExchangeView, 'app', 65_536);
  const body = Buffer.from(Array.from({ length: 40_000 }, (_, index) => index * 7));
  const written = (): Buffer[] => {
    const pieces: Buffer[] = [];
    const writeBody = (bytes: Buffer, from: number, to: number): boolean =>
      pieces.push(bytes.subarray(from, to)) > 0;
    sent.writeTo({ writeBody } as unknown as Upstream);
    return pieces;
  };
  for (let at = 0; at < 30_000; at++) sent.add(body, at, at + 1);
  const first = written();
  for (let at = 30_000; at < body.length; at += 5_000) sent.add(body, at, at + 5_000);
  const second = written();
  expect([first.length, second.length]).toEqual([4, 6]);
  expect(Buffer.concat(first).equals(body.subarray(0, 30_000))).toBe(true);
  expect(Buffer.concat(second).equals(body)).toBe(true);
  expect(requestMemory.bytes).toBe(body.length);
  sent.release();
  expect(requestMemory.bytes).toBe(0);
});
