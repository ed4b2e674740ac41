/**
 * The target groups of a worker, by revision. The compiled revision caches its group, as it does its breaker
 * (resilience/breaker-registry.ts). A revision that was compiled again gets a new group over the same shared memory.
 */
import type { CompiledTargets, TargetsSlot } from '../../config/types.ts';
import { TargetGroup } from './target-group.ts';
import { createTargetBlock, createTotal, type TargetsMemory } from './target-memory.ts';
import { TargetState } from './target-state.ts';

/** A compiled revision; all revisions use one `TargetRegistry`. */
interface TargetsHolder {
  readonly id: string;
  readonly targets: CompiledTargets | undefined;
  targetsSlot: TargetsSlot | undefined;
}

interface Held {
  readonly memory: TargetsMemory;
  group: TargetGroup | undefined;
}

export class TargetRegistry {
  readonly #column: number;
  readonly #nowMs: () => number;
  readonly #zone: string | undefined;
  readonly #byId = new Map<string, Held>();

  /**
   * @param column of this thread in all memories
   * @param nowMs the wall clock
   * @param zone that of the gateway
   */
  constructor(column: number, nowMs: () => number, zone?: string) {
    this.#column = column;
    this.#zone = zone;
    this.#nowMs = nowMs;
  }

  /** undefined for a revision with a single target. */
  of(revision: TargetsHolder): TargetGroup | undefined {
    const { targets, targetsSlot: slot } = revision;
    if (targets === undefined) return undefined;
    if (slot instanceof TargetGroup && !slot.isRemoved) return slot;
    let held = this.#byId.get(revision.id);
    // Memory of its own, in a thread that shares none: for trials and tests.
    if (held === undefined) this.#byId.set(revision.id, (held = { memory: ownMemory(), group: undefined }));
    const group = held.group?.compiled === targets ? held.group : this.#groupOf(targets, held);
    held.group = group;
    revision.targetsSlot = group;
    return group;
  }

  /** Takes the memory of a revision, in place of what it had. */
  set(revisionId: string, memory: TargetsMemory): void {
    const before = this.#byId.get(revisionId);
    if (before?.group !== undefined) before.group.isRemoved = true;
    this.#byId.set(revisionId, { memory, group: before?.group });
  }

  delete(revisionId: string): void {
    const held = this.#byId.get(revisionId);
    if (held?.group !== undefined) held.group.isRemoved = true;
    this.#byId.delete(revisionId);
  }

  #groupOf(compiled: CompiledTargets, { memory, group: before }: Held): TargetGroup {
    const total = new Int32Array(memory.total);
    const states = compiled.list.map(({ key }) => {
      let block = memory.blocks.get(key);
      // Without memory of the main thread, or of a revision that was replaced while a request still uses it.
      if (block === undefined) memory.blocks.set(key, (block = createTargetBlock(memory.columns)));
      return new TargetState(block, total, this.#column);
    });
    return new TargetGroup(compiled, states, total, this.#nowMs, this.#zone, before);
  }
}

function ownMemory(): TargetsMemory {
  return { columns: 1, total: createTotal(1), blocks: new Map() };
}
