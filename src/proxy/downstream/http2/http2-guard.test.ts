/** The budgets of an HTTP/2 client over time. */
import { describe, expect, it } from 'vitest';
import {
  Budget,
  CONTROL_BURST,
  Http2Guard,
  IDLE_BYTES_BURST,
  IDLE_BYTES_PER_SECOND,
  RESETS_BURST,
} from './http2-guard.ts';

describe('a budget', () => {
  it('starts with its burst, refills with time and never exceeds the burst', () => {
    const budget = new Budget(10, 2, 0);
    for (let n = 0; n < 10; n++) expect(budget.spend(1, 0)).toBe(true);
    expect(budget.spend(1, 0)).toBe(false);
    expect(budget.spend(1, 1_000), 'one was overdrawn, two were refilled').toBe(true);
    expect(budget.spend(10, 1_000_000)).toBe(true);
    expect(budget.spend(1, 1_000_000)).toBe(false);
  });
});

describe('a guard', () => {
  it('allows bursts of resets and control frames, and no more', () => {
    const guard = new Http2Guard(0);
    for (let n = 0; n < RESETS_BURST; n++) expect(guard.allowsReset(0)).toBe(true);
    expect(guard.allowsReset(0)).toBe(false);
    for (let n = 0; n < CONTROL_BURST; n++) expect(guard.allowsControl(0)).toBe(true);
    expect(guard.allowsControl(0)).toBe(false);
  });

  it('does not count bytes of requests, consumed or waiting', () => {
    const guard = new Http2Guard(0);
    let bytesRead = 0;
    for (let second = 1; second <= 100; second++) {
      bytesRead += 10_000_000;
      guard.onBodyReceived(9_000_000);
      expect(guard.allowsBytes(bytesRead, 1_000_000, second * 1000)).toBe(true);
      guard.onBodyReceived(1_000_000);
    }
  });

  it('allows a stream of small messages, each in a frame, and counts frames that are smaller still', () => {
    const after = (seconds: number, bytes: number): boolean => {
      const guard = new Http2Guard(0);
      for (let second = 1; second <= seconds; second++) {
        for (let frame = 0; frame < 20_000; frame++) guard.onBodyReceived(bytes);
        if (!guard.allowsBytes(second * 20_000 * (9 + bytes), 0, second * 1_000)) return false;
      }
      return true;
    };
    expect(after(100, 25)).toBe(true);
    expect(after(100, 6)).toBe(true);
    expect(after(100, 1)).toBe(false);
    expect(after(100, 0)).toBe(false);
  });

  it('allows a PING for each piece of a response, by which clients measure the path', () => {
    const guard = new Http2Guard(0);
    for (let n = 0; n < 10 * CONTROL_BURST; n++) {
      guard.onBodySent(16_384);
      expect(guard.allowsControl(0)).toBe(true);
    }
    // The last one came after the last piece.
    for (let n = 1; n < CONTROL_BURST; n++) expect(guard.allowsControl(0)).toBe(true);
    expect(guard.allowsControl(0)).toBe(false);
  });

  it('counts all other bytes', () => {
    const guard = new Http2Guard(0);
    expect(guard.allowsBytes(IDLE_BYTES_BURST, 0, 0)).toBe(true);
    expect(guard.allowsBytes(IDLE_BYTES_BURST + 1, 0, 0)).toBe(false);
    const slow = new Http2Guard(0);
    for (let second = 1; second < 100; second++)
      expect(slow.allowsBytes(second * IDLE_BYTES_PER_SECOND, 0, second * 1000)).toBe(true);
  });

  it('allows a PING for each piece of data that was sent, and no more', () => {
    const guard = new Http2Guard(0);
    for (let n = 0; n < 10 * CONTROL_BURST; n++) {
      guard.onBodySent(100);
      expect(guard.allowsControl(0)).toBe(true);
    }
    for (let n = 1; n < CONTROL_BURST; n++) expect(guard.allowsControl(0)).toBe(true);
    expect(guard.allowsControl(0)).toBe(false);
  });

  it('allows the WINDOW_UPDATE frames of a client that reads a large response', () => {
    const guard = new Http2Guard(0);
    // Two frames of 13 bytes (stream and connection) per 1 KiB: dozens of times as many as any client sends.
    guard.onBodySent(1_000_000_000);
    expect(guard.allowsBytes((1_000_000_000 / 1024) * 26, 0, 1)).toBe(true);
  });
});
