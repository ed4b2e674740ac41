/**
 * The shared memory of all revisions with several targets, on the main thread: created when a worker first needs it,
 * and kept for each target as long as it stays in its revision. Other writes do not affect it.
 */
import { compileBalancing, isBalanced, targetKeys } from '../../config/targets.ts';
import type { Revision } from '../../model/resources.ts';
import {
  createTargetBlock,
  createTotal,
  releaseColumn,
  type TargetsMemory,
} from '../../proxy/targets/target-memory.ts';
import { TargetState } from '../../proxy/targets/target-state.ts';

/** The column of the main thread, which sends no requests. */
const NO_COLUMN = 0;

export class TargetMemories {
  readonly #columns: number;
  readonly #nowMs: () => number;
  readonly #byId = new Map<string, TargetsMemory>();

  /** @param columns limit of threads that use a memory at one time @param nowMs the wall clock */
  constructor(columns: number, nowMs: () => number) {
    this.#columns = columns;
    this.#nowMs = nowMs;
  }

  /** The memory of a revision in its current form, including found targets; undefined when it has a single target. */
  memoryFor(revision: Revision): TargetsMemory | undefined {
    if (!isBalanced(revision)) {
      this.#byId.delete(revision.id);
      return undefined;
    }
    const keys = targetKeys(revision);
    const known = this.#byId.get(revision.id);
    const isFirst = known === undefined || known.blocks.size === 0;
    const memory = known ?? { columns: this.#columns, total: createTotal(this.#columns), blocks: new Map() };
    for (const key of memory.blocks.keys()) if (!keys.includes(key)) memory.blocks.delete(key);
    for (const key of keys) {
      if (memory.blocks.has(key)) continue;
      const block = createTargetBlock(this.#columns);
      memory.blocks.set(key, block);
      // The first targets of a revision start together; an added target starts slowly.
      if (!isFirst) this.#warm(revision, block, memory);
    }
    this.#byId.set(revision.id, memory);
    return memory;
  }

  find(revisionId: string): TargetsMemory | undefined {
    return this.#byId.get(revisionId);
  }

  delete(revisionId: string): void {
    this.#byId.delete(revisionId);
  }

  clear(): void {
    this.#byId.clear();
  }

  /** A thread has ended, and its requests with it. */
  releaseColumn(column: number): void {
    for (const memory of this.#byId.values()) releaseColumn(memory, column);
  }

  #warm({ load_balancing: settings }: Revision, block: SharedArrayBuffer, { total }: TargetsMemory): void {
    const { slowStartMs } = compileBalancing(settings);
    new TargetState(block, new Int32Array(total), NO_COLUMN).warm(slowStartMs, this.#nowMs());
  }
}
