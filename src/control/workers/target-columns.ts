/**
 * Assigns columns in the shared memory of targets (proxy/targets/target-memory.ts) to workers. A column is taken
 * when a worker starts, and folded and freed when it has ended.
 */
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import { TargetMemories } from '../cluster/target-memories.ts';

export class TargetColumns {
  readonly #memories: TargetMemories;
  readonly #columns: number;
  /** By column: the number of the worker. */
  readonly #owners = new Map<number, number>();

  constructor(state: ConfigState, workers: number, clock: Clock) {
    // Besides the workers: a spare, and one replaced worker each that has not ended yet.
    this.#columns = 2 * workers + 4;
    this.#memories = new TargetMemories(this.#columns, () => clock.nowMs());
    state.shareTargets(this.#memories);
  }

  take(workerNumber: number): number {
    let column = 0;
    while (this.#owners.has(column)) column += 1;
    assert(column < this.#columns, `no column of targets is left for worker ${workerNumber}`);
    this.#owners.set(column, workerNumber);
    return column;
  }

  /** Call it when the worker has ended. */
  release(workerNumber: number): void {
    for (const [column, owner] of this.#owners) {
      if (owner !== workerNumber) continue;
      this.#memories.releaseColumn(column);
      this.#owners.delete(column);
    }
  }
}
