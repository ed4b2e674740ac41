import { expect, it } from 'vitest';
import { WINDOW_BYTES } from '../../../http/http2/frames.ts';
import { ALL_HELD_BYTES_MAX, RequestWindow, STREAM_WINDOW_BYTES } from './request-window.ts';

const FRAME_BYTES = 16 * 1024;

/** Sends as much as the window allows, of which nothing is read. @returns the bytes */
function fill(window: RequestWindow): number {
  let room = WINDOW_BYTES + window.firstUpdate;
  let sent = 0;
  while (room > 0) {
    const bytes = Math.min(room, FRAME_BYTES);
    expect(window.receive(bytes)).toBe(true);
    window.hold(bytes);
    sent += bytes;
    room += window.open() - bytes;
  }
  expect(window.receive(1), 'more than it may send').toBe(false);
  return sent;
}

it('a connection whose backends do not read gets a limit; when one reads, it may go on', () => {
  const window = new RequestWindow();
  const held = fill(window);
  expect(held).toBeGreaterThan(4 * 1024 * 1024);
  expect(held).toBeLessThan(6 * 1024 * 1024);
  window.unhold(held);
  expect(window.open()).toBeGreaterThan(0);
});

it('content that is passed on at once keeps its window open', () => {
  const window = new RequestWindow();
  let room = WINDOW_BYTES + window.firstUpdate;
  for (let n = 0; n < 1_000; n++) {
    expect(window.receive(FRAME_BYTES)).toBe(true);
    room += window.open() - FRAME_BYTES;
    expect(room).toBeGreaterThanOrEqual(STREAM_WINDOW_BYTES / 2);
  }
});

it('many connections whose backends do not read share a limit, and get it back', () => {
  const before = new RequestWindow();
  const opened = Array.from({ length: 200 }, () => new RequestWindow());
  const amounts = opened.map((window) => fill(window));
  const all = amounts.reduce((sum, bytes) => sum + bytes, 0);
  expect(all).toBeLessThan(ALL_HELD_BYTES_MAX + 200 * 2 * STREAM_WINDOW_BYTES);
  const late = new RequestWindow();
  expect(late.firstUpdate, 'the least that the protocol has').toBe(0);
  // Others are served meanwhile, in small steps.
  for (let n = 0; n < 100; n++) {
    expect(late.receive(FRAME_BYTES)).toBe(true);
    late.open();
  }
  expect(before.receive(STREAM_WINDOW_BYTES - 1)).toBe(true);
  expect(before.open()).toBeGreaterThan(0);
  for (const [index, window] of opened.entries()) window.unhold(amounts[index] ?? 0);
  expect(new RequestWindow().firstUpdate).toBeGreaterThan(0);
  expect(opened[0]?.open()).toBeGreaterThan(0);
});
