import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';

const MODULE = new URL('./spare-heap.ts', import.meta.url).href;

/**
 * In a thread of its own: a heap that has only what the test puts there. V8 may still be collecting when that is made,
 * and makes the room smaller by itself then: it is measured once it stays as it is.
 */
async function roomOf(release: string): Promise<{ readonly before: number; readonly after: number }> {
  const program = `
    import { parentPort } from 'node:worker_threads';
    import { createHeapRelease, releaseWhenQuiet, youngBytes } from '${MODULE}';
    import { setTimeout as sleep } from 'node:timers/promises';
    globalThis.kept = [];
    let before = 0;
    for (let tries = 0; tries < 20 && before < 8_000_000; tries += 1) {
      globalThis.kept.push(Array.from({ length: 150_000 }, (_, index) => ({ index, of: [index] })));
      do {
        before = youngBytes();
        await sleep(50);
      } while (youngBytes() !== before);
    }
    ${release}
    setTimeout(() => parentPort.postMessage({ before, after: youngBytes() }), 150);`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`));
  const [sizes] = (await once(worker, 'message')) as [{ before: number; after: number }];
  await worker.terminate();
  return sizes;
}

/** The program of a thread that was told of two changes. */
function afterChanges(isIdle: boolean, flags: readonly string[] = []): string {
  return `
    const release = createHeapRelease(() => ${isIdle}, 20, ${JSON.stringify(flags)});
    release();
    release();`;
}

it('gives back the room for new objects in a thread that is idle, and in no other', async () => {
  const idle = await roomOf(afterChanges(true));
  expect(idle.before).toBeGreaterThan(8_000_000);
  expect(idle.after).toBeLessThan(idle.before - 4_000_000);
  const busy = await roomOf(afterChanges(false));
  expect(busy.after).toBeGreaterThan(busy.before - 4_000_000);
});

it('keeps the room that a flag of V8 asks for', async () => {
  for (const flag of ['--min-semi-space-size=16', '--min_semi_space_size', '--min-semi-space-size']) {
    const asked = await roomOf(afterChanges(true, ['--single-threaded-gc', flag]));
    expect(asked.after, flag).toBeGreaterThan(asked.before - 4_000_000);
  }
  const other = await roomOf(afterChanges(true, ['--max-semi-space-size=32']));
  expect(other.after).toBeLessThan(other.before - 4_000_000);
});

it('gives back much room, without being called, once the thread is quiet', async () => {
  const whenQuiet = (keptBytes: number, flags: string): string =>
    `releaseWhenQuiet(20, ${keptBytes}, ${flags});`;
  const much = await roomOf(whenQuiet(4_000_000, '[]'));
  expect(much.after).toBeLessThan(much.before - 4_000_000);
  const little = await roomOf(whenQuiet(200_000_000, '[]'));
  expect(little.after).toBeGreaterThan(little.before - 4_000_000);
  const asked = await roomOf(whenQuiet(4_000_000, `['--min-semi-space-size=64']`));
  expect(asked.after).toBeGreaterThan(asked.before - 4_000_000);
});

it('ends no thread where several collect at the same moment', { timeout: 60_000 }, async () => {
  const program = `
    import { parentPort, workerData } from 'node:worker_threads';
    import { collectGarbage } from '${MODULE}';
    const late = new Int32Array(workerData);
    let collected = 0;
    for (let tries = 0; tries < 150 && (collected === 0 || Atomics.load(late, 0) < 3); tries += 1) {
      if (collectGarbage()) collected += 1;
      else Atomics.add(late, 0, 1);
    }
    parentPort.postMessage(collected);`;
  // How often one of them has found the flag reset: after some times all have seen what is to be seen.
  const workerData = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const workers = Array.from({ length: 4 }, () => {
    return new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), { workerData });
  });
  const counts = await Promise.all(
    workers.map(async (worker) => (await once(worker, 'message'))[0] as number),
  );
  for (const count of counts) expect(count).toBeGreaterThan(0);
});
