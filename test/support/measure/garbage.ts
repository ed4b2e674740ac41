/** Memory that is really in use, for tests of what is kept. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

/** Bytes of the heap of this thread that are in use once the garbage is collected. */
export function heapBytes(): number {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  collect();
  return process.memoryUsage().heapUsed;
}

/**
 * Bytes of buffers of this process that are in use, once they no longer become fewer: V8 frees the memory of buffers on
 * another thread, later than it collects them where other programs use the processors.
 */
export async function bufferBytes(): Promise<number> {
  let least = Infinity;
  for (let round = 0, same = 0; same < 3 && round < 100; round += 1, same += 1) {
    heapBytes();
    await new Promise((done) => setTimeout(done, 50));
    const { arrayBuffers } = process.memoryUsage();
    if (arrayBuffers < least) same = 0;
    least = Math.min(least, arrayBuffers);
  }
  return least;
}
