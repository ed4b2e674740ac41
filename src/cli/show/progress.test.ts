import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CliIo } from '../io.ts';
import { startProgress, withProgress } from './progress.ts';

let written = '';
const io = (errorIsTerminal: boolean): CliIo => ({
  env: () => undefined,
  out: () => undefined,
  err: (text) => void (written += text),
  readStdin: () => new Uint8Array(),
  isTerminal: false,
  errorIsTerminal,
  columns: 40,
  askSecret: undefined,
  exit: () => undefined,
});

beforeEach(() => {
  written = '';
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

describe('progress', () => {
  it('is shown after a second, follows the work, and is gone at its end', () => {
    const progress = startProgress(io(true), 'Waiting');
    vi.advanceTimersByTime(999);
    expect(written).toBe('');
    vi.advanceTimersByTime(1);
    expect(written).toBe('\r\u001B[K/ Waiting');
    progress.tell('x'.repeat(100));
    vi.advanceTimersByTime(200);
    expect(written.slice(-42)).toBe(`\r\u001B[K- ${'x'.repeat(37)}`.slice(-42));
    progress.end();
    expect(written.endsWith('\r\u001B[K')).toBe(true);
    const { length } = written;
    vi.advanceTimersByTime(10_000);
    expect(written).toHaveLength(length);
  });

  it('is never shown for short work, or where standard error is no terminal', async () => {
    expect(await withProgress(io(true), 'Waiting', async () => 1)).toBe(1);
    const progress = startProgress(io(false), 'Waiting');
    vi.advanceTimersByTime(5_000);
    progress.end();
    expect(written).toBe('');
  });

  it('disappears even if the work fails', async () => {
    const failing = withProgress(io(true), 'Waiting', async () => {
      vi.advanceTimersByTime(1_000);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(written.endsWith('\r\u001B[K')).toBe(true);
  });
});
