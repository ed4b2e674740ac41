import { describe, expect, it } from 'vitest';
import { createHeartbeatMemory, HeartbeatWatch } from './heartbeat.ts';

const EVERY_MS = 250;
const STALL_MS = 1_000;

/** Looks once per step; a step is whether the worker has counted, and how long it took until the look. */
function looks(steps: readonly { beat?: boolean; afterMs?: number; excused?: boolean }[]): boolean[] {
  const memory = createHeartbeatMemory();
  const count = new Int32Array(memory);
  const watch = new HeartbeatWatch(memory, STALL_MS, 0);
  let nowMs = 0;
  return steps.map(({ beat = false, afterMs = EVERY_MS, excused = false }) => {
    nowMs += afterMs;
    if (beat) count[0] = (count[0] ?? 0) + 1;
    return watch.isStalled(nowMs, EVERY_MS, excused);
  });
}

describe('a heartbeat', () => {
  it('is missed after the time-out, and not before', () => {
    expect(looks([{}, {}, {}, {}])).toEqual([false, false, false, true]);
  });

  it('that comes at last starts the time anew', () => {
    expect(looks([{}, {}, {}, { beat: true }, {}, {}, {}, {}])).toEqual([
      ...Array.from({ length: 7 }, () => false),
      true,
    ]);
  });

  it('is not missed while the main thread did not look either', () => {
    expect(looks(Array.from({ length: 8 }, () => ({ afterMs: 60_000 })))).not.toContain(true);
  });

  it('is not asked for during a step that is timed by itself', () => {
    const busy = Array.from({ length: 8 }, () => ({ excused: true }));
    expect(looks([...busy, {}, {}, {}, {}])).toEqual([...Array.from({ length: 11 }, () => false), true]);
  });
});
