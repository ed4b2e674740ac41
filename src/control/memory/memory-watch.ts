/**
 * Collects the garbage of a thread while the memory of the machine or container is nearly used up. V8 knows the limit
 * of its own heap only: it lets tens of megabytes of buffers wait for a collection in each thread, however little the
 * container has. The limit of a container may change while it runs. Owns a timer.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import type { Clock } from '../../lib/clock.ts';
import { memoryBytes } from '../../settings/memory-shares.ts';
import { collectGarbage } from './spare-heap.ts';

/**
 * How soon the memory is looked at again, by the share that is in use: waking up costs threads that serve requests more
 * than the look, and a process does not take half of the memory within a quarter of a second.
 */
const LOOK_MS = { scarce: 50, usual: 250, plenty: 1_000 };
const PLENTY_BELOW = 0.2;
const USUAL_BELOW = 0.5;
/** Share of the memory above which garbage is collected. */
const FULL_FROM = 0.65;
/** Less new memory since the last collection is not worth another one. */
const GROWN_BYTES_MIN = 6 * 1024 * 1024;
/** Between two collections, a thread works for this many times as long as the last one took. */
const WORK_TIMES = 10;
/** Beyond this share of the memory, only as long as that: the kernel would end the process within a second. */
const SCARCE_FROM = 0.75;
/** Reading the limit opens files. */
const LIMIT_MS = 1_000;
const PAGE_BYTES = 4_096;

export interface MemoryWatchOptions {
  /** Memory of the machine or container, as it is now; read at most once a second. */
  readonly memoryBytes: () => number;
  /** Memory of the process without what the system can take back, such as pages of files; undefined if unknown. */
  readonly usedBytes: () => number | undefined;
  /** Memory of this thread, garbage included. */
  readonly threadBytes: () => number;
  /** Returns false when nothing was collected. */
  readonly collect: () => boolean;
  readonly clock: Clock;
}

export class MemoryWatch {
  readonly #options: MemoryWatchOptions;
  #afterLastBytes = 0;
  #memoryBytes = 0;
  #readAtMs = -Infinity;
  #notBeforeMs = { usual: -Infinity, scarce: -Infinity };

  constructor(options: MemoryWatchOptions) {
    this.#options = options;
  }

  /** Looks from now on, for as long as the thread lives. */
  start(): void {
    const ms = this.look();
    setTimeout(() => this.start(), ms).unref();
  }

  /** @returns milliseconds until the next look */
  look(): number {
    const share = (this.#options.usedBytes() ?? 0) / this.#limitBytes();
    if (share < PLENTY_BELOW) return LOOK_MS.plenty;
    if (share < USUAL_BELOW) return LOOK_MS.usual;
    if (share >= FULL_FROM) this.#collect(share < SCARCE_FROM ? 'usual' : 'scarce');
    return LOOK_MS.scarce;
  }

  #limitBytes(): number {
    const { memoryBytes, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#readAtMs >= LIMIT_MS) {
      this.#memoryBytes = memoryBytes();
      this.#readAtMs = nowMs;
    }
    return this.#memoryBytes;
  }

  #collect(pace: 'usual' | 'scarce'): void {
    const { threadBytes, collect, clock } = this.#options;
    const startMs = clock.monotonicMs();
    if (startMs < this.#notBeforeMs[pace]) return;
    // What is in use may have become less, also without a collection of this watch.
    this.#afterLastBytes = Math.min(this.#afterLastBytes, threadBytes());
    if (threadBytes() - this.#afterLastBytes < GROWN_BYTES_MIN || !collect()) return;
    const endMs = clock.monotonicMs();
    this.#afterLastBytes = threadBytes();
    const tookMs = endMs - startMs;
    this.#notBeforeMs = { usual: endMs + WORK_TIMES * tookMs, scarce: endMs + tookMs };
  }
}

/** Watches the memory from now on, for this thread. */
export function watchMemory(clock: Clock): void {
  const watch = new MemoryWatch({
    memoryBytes,
    usedBytes: anonymousMemory(),
    threadBytes,
    collect: collectGarbage,
    clock,
  });
  watch.start();
}

/** Heap and buffers of this thread. */
function threadBytes(): number {
  const { total_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/** Reads the anonymous memory of the process from proc_pid_statm(5); undefined where that does not exist. */
function anonymousMemory(): () => number | undefined {
  const text = Buffer.alloc(128);
  let file: number | undefined;
  try {
    file = openSync('/proc/self/statm', 'r');
  } catch {
    return () => undefined;
  }
  const fd = file;
  process.once('exit', () => closeSync(fd));
  return () => {
    const length = readSync(fd, text, 0, text.length, 0);
    const [, resident = 0, shared = 0] = text.toString('latin1', 0, length).split(' ').map(Number);
    return (resident - shared) * PAGE_BYTES;
  };
}
