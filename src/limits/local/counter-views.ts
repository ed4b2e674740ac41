/**
 * The shared memory of counters as one thread sees it: views of the buffer, and where its parts begin (memory.ts has
 * the layout). Owns two blocks of scratch memory.
 */
import { ACCOUNT_CELLS, BLOCK_CELLS, BUCKET_CELLS, type CounterMemory, HEAD_CELLS } from './memory.ts';
import type { Cells } from './slot.ts';

export interface Table extends Cells {
  readonly owner: number;
  readonly bucketMask: number;
  readonly accountMask: number;
  readonly accountsAt: number;
  readonly blocksAt: number;
  readonly blocks: number;
  /** Two blocks of this thread alone: a counter that is not in the table yet, and its first entries. */
  readonly scratch: Cells;
}

/** @param owner number of the thread, for locks */
export function openTable(memory: CounterMemory, owner: number): Table {
  const accountsAt = HEAD_CELLS + memory.buckets * BUCKET_CELLS;
  const scratch = new ArrayBuffer(2 * BLOCK_CELLS * Float64Array.BYTES_PER_ELEMENT);
  return Object.freeze({
    cells: new Float64Array(memory.buffer),
    words: new Int32Array(memory.buffer),
    owner,
    bucketMask: memory.buckets - 1,
    accountMask: memory.accounts - 1,
    accountsAt,
    blocksAt: accountsAt + memory.accounts * ACCOUNT_CELLS,
    blocks: memory.blocks,
    scratch: Object.freeze({ cells: new Float64Array(scratch), words: new Int32Array(scratch) }),
  });
}
