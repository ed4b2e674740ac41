/** What the store of leased limits needs, and what it counts. */
import type { Clock } from '../../lib/clock.ts';
import type { LimitServer } from './limit-server.ts';
import type { LiveNodes } from './live-nodes.ts';
import type { LimitMode } from '../store.ts';
import type { After } from '../timers.ts';
import type { NodeLimits } from './without-store.ts';

export interface LeasedStoreDeps {
  readonly server: LimitServer;
  readonly local: NodeLimits;
  readonly clock: Clock;
  readonly after: After;
  readonly nodes: LiveNodes;
  /** Threads of this node that take permits. */
  readonly threads: number;
  /** For rules that do not say. */
  readonly mode: LimitMode;
  /** How long a request waits for the store. */
  readonly timeoutMs: number;
  readonly onOutage: (reason: string) => void;
  readonly onRecovery: () => void;
  /** One server of several does not answer, while others do. */
  readonly onPartLost?: (reason: string) => void;
}

/** Counts since the start. */
export interface LeasedStoreCounts {
  answered: number;
  timedOut: number;
  failed: number;
  /** Decisions that had to wait for a round trip. */
  waited: number;
  /** Decisions without the store, by what the rule says. */
  share: number;
  allow: number;
  deny: number;
}
