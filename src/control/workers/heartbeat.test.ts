import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { createHeartbeatMemory, HeartbeatWatch, type Stall } from './heartbeat.ts';
import { ownThreadId, timesOfThread, type ThreadTimes } from './thread-times.ts';

const EVERY_MS = 250;
const STALL_MS = 1_000;
/** Ten times as long, in looks. */
const WAITING_LOOKS = (10 * STALL_MS) / EVERY_MS;

interface Step {
  readonly beat?: boolean;
  readonly excused?: boolean;
  /** Time until the check. */
  readonly afterMs?: number;
  /** What the thread did meanwhile; for the rest of the time it waited for something other than a CPU. */
  readonly computedMs?: number;
  readonly waitedMs?: number;
  readonly ioCalls?: number;
}

/** Checks once per step. */
function looks(steps: readonly Step[], isKnown = true): (Stall | undefined)[] {
  const memory = createHeartbeatMemory();
  const words = new Int32Array(memory);
  let times: ThreadTimes = { computedMs: 1, waitedMs: 1, ioCalls: 1 };
  const watch = new HeartbeatWatch(memory, STALL_MS, 0, () => (isKnown ? times : undefined));
  let nowMs = 0;
  return steps.map((step) => {
    const { beat = false, excused = false, afterMs = EVERY_MS } = step;
    nowMs += afterMs;
    times = {
      computedMs: times.computedMs + (step.computedMs ?? 0),
      waitedMs: times.waitedMs + (step.waitedMs ?? 0),
      ioCalls: times.ioCalls + (step.ioCalls ?? 0),
    };
    if (beat) words[0] = (words[0] ?? 0) + 1;
    return watch.look(nowMs, EVERY_MS, excused);
  });
}

const many = (count: number, step: Step): Step[] => Array.from({ length: count }, () => step);
const busy: Step = { computedMs: EVERY_MS };

describe('a heartbeat', () => {
  it('is missed once the thread has computed for the timeout', () => {
    // The first check only records how long the thread had computed until then.
    expect(looks(many(5, busy))).toEqual([undefined, undefined, undefined, undefined, 'computing']);
  });

  it('that arrives late restarts the timeout', () => {
    const stalls = looks([...many(4, busy), { beat: true }, ...many(5, busy)]);
    expect(stalls.indexOf('computing')).toBe(9);
  });

  it('is missed only after ten times the timeout by a thread that reads and writes in a long turn', () => {
    const stalls = looks(many(10 * (STALL_MS / EVERY_MS) + 1, { ...busy, ioCalls: 3 }));
    expect(stalls.indexOf('computing')).toBe(10 * (STALL_MS / EVERY_MS));
    // Its last read was long ago.
    const looping = looks([...many(8, { ...busy, ioCalls: 3 }), ...many(4, busy)]);
    expect(looping.indexOf('computing')).toBe(11);
  });

  it('is not missed while the thread waits for a CPU, however long', () => {
    expect(looks(many(400, { waitedMs: EVERY_MS }))).not.toContain('waiting');
    // With a tenth of a CPU it takes ten times as long to compute for the timeout.
    const starved = looks(many(80, { computedMs: 25, waitedMs: 225 }));
    expect(starved.indexOf('computing')).toBe(40);
  });

  it('is missed after ten times the timeout if the thread waits for anything else', () => {
    const stalls = looks(many(WAITING_LOOKS + 1, {}));
    expect(stalls.indexOf('waiting')).toBe(WAITING_LOOKS - 1);
  });

  it('counts all time as waiting if the times of the thread are unknown', () => {
    const stalls = looks(many(WAITING_LOOKS + 1, busy), false);
    expect(stalls.indexOf('waiting')).toBe(WAITING_LOOKS - 1);
    expect(stalls).not.toContain('computing');
  });

  it('is not missed while the main thread did not run either', () => {
    expect(looks(many(80, { afterMs: 60_000 }))).not.toContain('waiting');
  });

  it('is not required during a step with a timeout of its own', () => {
    const stalls = looks([...many(100, { ...busy, excused: true }), ...many(5, busy)]);
    expect(stalls.indexOf('computing')).toBe(104);
  });
});

describe('the times of a thread', () => {
  it('distinguish a thread that computes from an idle one', async () => {
    expect(ownThreadId()).toBeGreaterThan(0);
    const source = `
      import { parentPort, workerData } from 'node:worker_threads';
      import { readlinkSync } from 'node:fs';
      parentPort.postMessage(Number(readlinkSync('/proc/thread-self').split('/').at(-1)));
      parentPort.once('message', () => { for (;;); });`;
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
    try {
      const id = await new Promise<number>((resolve) => worker.once('message', resolve));
      const computedIn = async (ms: number): Promise<number> => {
        const before = timesOfThread(id)?.computedMs ?? NaN;
        await new Promise((resolve) => setTimeout(resolve, ms));
        return (timesOfThread(id)?.computedMs ?? NaN) - before;
      };
      await computedIn(200);
      expect(await computedIn(300)).toBeLessThan(50);
      worker.postMessage('begin');
      await expect.poll(() => computedIn(300), { timeout: 10_000 }).toBeGreaterThan(60);
    } finally {
      await worker.terminate();
    }
  });

  it('have its reads and writes, also within one turn of its event loop', async () => {
    const source = `
      import { parentPort } from 'node:worker_threads';
      import { openSync, readSync, readlinkSync } from 'node:fs';
      const file = openSync('/dev/zero');
      parentPort.postMessage(Number(readlinkSync('/proc/thread-self').split('/').at(-1)));
      parentPort.once('message', () => { for (;;) readSync(file, new Uint8Array(1)); });`;
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
    try {
      const id = await new Promise<number>((resolve) => worker.once('message', resolve));
      const known = timesOfThread(id)?.ioCalls ?? Infinity;
      worker.postMessage('begin');
      await expect.poll(() => timesOfThread(id)?.ioCalls, { timeout: 10_000 }).toBeGreaterThan(known + 1_000);
    } finally {
      await worker.terminate();
    }
  });

  it('are unknown for a thread that does not exist', () => {
    expect(timesOfThread(0)).toBeUndefined();
    expect(timesOfThread(2 ** 22 + 1)).toBeUndefined();
  });
});
