/**
 * The target groups of a worker, by revision. The compiled revision caches its group, as it does its breaker
 * (resilience/breaker-registry.ts). A revision that was compiled again gets a new group over the same shared memory,
 * and so does a revision whose discovered targets have changed.
 */
import { withFound } from '../../config/targets.ts';
import type { CompiledBackend, CompiledTargets, TargetsSlot } from '../../config/types.ts';
import type { FoundTarget } from '../../model/resources.ts';
import { TargetGroup } from './target-group.ts';
import { createTargetBlock, createTotal, type TargetsMemory } from './target-memory.ts';
import { TargetState } from './target-state.ts';

/** A compiled revision; all revisions use one `TargetRegistry`. */
interface TargetsHolder {
  readonly id: string;
  readonly backend: CompiledBackend;
  readonly targets: CompiledTargets | undefined;
  targetsSlot: TargetsSlot | undefined;
}

interface Held {
  readonly memory: TargetsMemory;
  /** The results of discovery; undefined: the targets are those of the revision. */
  readonly found: readonly FoundTarget[] | undefined;
  /** The compiled form of `found`, and the targets that it was compiled for. */
  compiled?: { readonly of: CompiledTargets; readonly targets: CompiledTargets };
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
   * @param zone zone of the gateway
   */
  constructor(column: number, nowMs: () => number, zone?: string) {
    this.#column = column;
    this.#zone = zone;
    this.#nowMs = nowMs;
  }

  /** undefined for a revision with a single target. The group is empty while discovery has found no target. */
  of(revision: TargetsHolder): TargetGroup | undefined {
    const { targetsSlot: slot } = revision;
    if (revision.targets === undefined) return undefined;
    if (slot instanceof TargetGroup && !slot.isRemoved) return slot;
    let held = this.#byId.get(revision.id);
    if (held === undefined) {
      // An exchange of a removed revision may still need the found targets.
      if (slot instanceof TargetGroup && slot.compiled.source !== undefined) return slot;
      // A thread that shares no memory has its own: in trials and tests.
      held = { memory: ownMemory(), found: undefined, group: undefined };
      this.#byId.set(revision.id, held);
    }
    const targets = compiledOf(revision, revision.targets, held);
    const group = held.group?.compiled === targets ? held.group : this.#groupOf(targets, held);
    held.group = group;
    revision.targetsSlot = group;
    return group;
  }

  /**
   * Sets the memory of a revision, replacing what it had.
   * @param found by discovery, if the revision has it
   */
  set(revisionId: string, memory: TargetsMemory, found: readonly FoundTarget[] | undefined): void {
    const before = this.#byId.get(revisionId);
    if (before?.group !== undefined) before.group.isRemoved = true;
    this.#byId.set(revisionId, { memory, found, group: before?.group });
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
      // The main thread has not provided memory, or a request still uses a replaced revision.
      if (block === undefined) memory.blocks.set(key, (block = createTargetBlock(memory.columns)));
      return new TargetState(block, total, this.#column);
    });
    return new TargetGroup(compiled, states, total, this.#nowMs, this.#zone, before);
  }
}

function compiledOf({ backend }: TargetsHolder, targets: CompiledTargets, held: Held): CompiledTargets {
  if (held.found === undefined || targets.source === undefined) return targets;
  if (held.compiled?.of !== targets)
    held.compiled = { of: targets, targets: withFound(targets, backend, held.found) };
  return held.compiled.targets;
}

function ownMemory(): TargetsMemory {
  return { columns: 1, total: createTotal(1), blocks: new Map() };
}
