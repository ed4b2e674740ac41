/**
 * The shared memory of a revision with several targets: one block for each target and one for all of them, created by
 * the main thread and passed to every worker. A block stays while its target stays in the revision, even if other parts
 * of the configuration change: counts, ejections and slow start survive every swap of the snapshot, and the death of
 * workers.
 *
 * A block has words that any thread changes by atomic operations (target-state.ts), and columns with one word for each
 * thread, which only that thread writes: so a thread that dies leaves exact counts behind, which the main thread folds.
 */
import { assert } from '../../lib/assert.ts';

/** Words of a target. */
export const FLAGS = 0;
/** Hundredths of a second of the wall clock, modulo 2^32; see `centiseconds`. */
export const EJECTED_UNTIL = 1;
/** Number of ejections without a long time in service between them. */
export const EJECTIONS_IN_ROW = 2;
export const FAILURES_IN_ROW = 3;
/** When its share began to grow. */
export const WARM_SINCE = 4;
export const EJECTIONS = 5;
/** Why it was last ejected: an index of `EJECTION_CAUSES`. */
export const CAUSE = 6;
/** Counts of threads that have ended. */
const STARTED_BASE = 7;
const FAILED_BASE = 8;
/** The first column is on a separate cache line. */
const COLUMNS_AT = 16;

/** Bits of `FLAGS`; 0: in service with its full share. */
export const EJECTED = 1;
export const UNHEALTHY = 2;
export const WARMING = 4;
/** It should be ejected, but too many are. */
export const SUSPECT = 8;

/** Columns of a block. */
const IN_FLIGHT = 0;
const STARTED = 1;
const FAILED = 2;
const KINDS = 3;

/** The memory of one revision; plain data for a structured clone. */
export interface TargetsMemory {
  /** Threads that may use it at one time; each has a column. */
  readonly columns: number;
  /** Requests under way at all targets, by column; the last word counts changes of the states of targets. */
  readonly total: SharedArrayBuffer;
  /** By key of the target (`CompiledTarget.key`). */
  readonly blocks: Map<string, SharedArrayBuffer>;
}

export function createTargetBlock(columns: number): SharedArrayBuffer {
  assert(Number.isSafeInteger(columns) && columns > 0, `columns of a target must be positive: ${columns}`);
  return new SharedArrayBuffer((COLUMNS_AT + KINDS * columns) * Int32Array.BYTES_PER_ELEMENT);
}

export function createTotal(columns: number): SharedArrayBuffer {
  return new SharedArrayBuffer((columns + 1) * Int32Array.BYTES_PER_ELEMENT);
}

/** The index of the count of changes. */
export function changesAt(total: Int32Array): number {
  return total.length - 1;
}

/** A wall-clock time as a word. Differences of two words are exact over 248 days. */
export function centiseconds(nowMs: number): number {
  return Math.floor(nowMs / 10) | 0;
}

export interface TargetCounts {
  readonly inFlight: number;
  /** Attempts since the target was added. */
  readonly started: number;
  readonly failed: number;
}

/** The indexes of a column's counts: requests under way here, attempts in the next function. */
export function inFlightAt(column: number): number {
  return COLUMNS_AT + IN_FLIGHT + column;
}

export function startedAt(columns: number, column: number): number {
  return COLUMNS_AT + STARTED * columns + column;
}

export function failedAt(columns: number, column: number): number {
  return COLUMNS_AT + FAILED * columns + column;
}

/** Requests under way at a target, over all threads. */
export function inFlightOf(words: Int32Array, columns: number): number {
  let sum = 0;
  for (let at = COLUMNS_AT; at < COLUMNS_AT + columns; at++) sum += words[at] as number;
  return sum;
}

/** Requests under way at all targets of a revision. */
export function totalOf(total: Int32Array): number {
  let sum = 0;
  const columns = changesAt(total);
  for (let column = 0; column < columns; column++) sum += total[column] as number;
  return sum;
}

export function countsOf(words: Int32Array, columns: number): TargetCounts {
  const sum = (base: number, at: number): number => {
    let value = base === 0 ? 0 : (words[base] as number) >>> 0;
    for (let column = 0; column < columns; column++) value += (words[at + column] as number) >>> 0;
    return value;
  };
  return {
    inFlight: inFlightOf(words, columns),
    started: sum(STARTED_BASE, startedAt(columns, 0)),
    failed: sum(FAILED_BASE, failedAt(columns, 0)),
  };
}

/** Folds the counts of a thread that no longer runs: its requests have ended with it, its attempts stay counted. */
export function releaseColumn({ columns, total, blocks }: TargetsMemory, column: number): void {
  for (const block of blocks.values()) {
    const words = new Int32Array(block);
    words[inFlightAt(column)] = 0;
    fold(words, STARTED_BASE, startedAt(columns, column));
    fold(words, FAILED_BASE, failedAt(columns, column));
  }
  new Int32Array(total)[column] = 0;
}

function fold(words: Int32Array, base: number, at: number): void {
  words[base] = ((words[base] as number) + (words[at] as number)) | 0;
  words[at] = 0;
}
