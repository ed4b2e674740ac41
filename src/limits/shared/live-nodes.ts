/**
 * How many nodes share the limits, and the rank of this one: two words of shared memory that the main thread writes
 * after each heartbeat (control/cluster/limit-node.ts) and every thread of the node reads. Also what each node may
 * admit by itself when the store is unavailable.
 */
import type { LimitRule } from '../store.ts';

const COUNT = 0;
const RANK = 1;

export interface LiveNodes {
  /** At least 1. */
  readonly count: number;
  /** From 0, unique among the live nodes. */
  readonly rank: number;
}

/** The result of a heartbeat. */
export interface ListedNodes extends LiveNodes {
  /** Whether the store already knew this node. If it did not, it may have forgotten the other nodes, too. */
  readonly wasListed: boolean;
}

export type LiveNodesMemory = SharedArrayBuffer;

export function createLiveNodesMemory(): LiveNodesMemory {
  return new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
}

export function writeLiveNodes(memory: LiveNodesMemory, { count, rank }: LiveNodes): void {
  const words = new Int32Array(memory);
  Atomics.store(words, RANK, rank);
  Atomics.store(words, COUNT, count);
}

/** Reads the last written values; a node that knows of no others counts itself alone. */
export function liveNodesOf(memory: LiveNodesMemory): LiveNodes {
  const words = new Int32Array(memory);
  return {
    get count() {
      return Math.max(1, Atomics.load(words, COUNT));
    },
    get rank() {
      return Atomics.load(words, RANK);
    },
  };
}

/**
 * The part of a limit that one node may admit by itself; the parts of all nodes add up to the limit. The nodes with the
 * lowest ranks get the remainder, one each, so a limit below the number of nodes leaves some without a share.
 */
export function fairShare(rule: LimitRule, { count, rank }: LiveNodes): LimitRule {
  const part = (whole: number): number => Math.floor(whole / count) + (rank < whole % count ? 1 : 0);
  return Object.freeze({
    id: `${rule.id} share`,
    algorithm: rule.algorithm,
    requests: part(rule.requests),
    windowMs: rule.windowMs,
    burst: part(rule.burst),
  });
}
