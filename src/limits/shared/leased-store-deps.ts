/** The dependencies of the store of leased limits, and its counts. */
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
  /** Limit of the counters that this thread knows. */
  readonly leasesMax: number;
  /** For rules without a mode. */
  readonly mode: LimitMode;
  /** How long a request waits for the store. */
  readonly timeoutMs: number;
  readonly onOutage: (reason: string) => void;
  /** Called after each unsuccessful probe during an outage. */
  readonly onStillOut?: (reason: string) => void;
  readonly onRecovery: () => void;
  /** Called when one of several servers does not answer while others do. */
  readonly onPartLost?: (reason: string) => void;
  /** Called when the store refuses a counter and answers for others. */
  readonly onCounterRefused?: (reason: string) => void;
}

/** Counts since the start. */
export interface LeasedStoreCounts {
  answered: number;
  timedOut: number;
  failed: number;
  /** Decisions that waited for a round trip. */
  waited: number;
  /** Decisions without the store, by the rule's setting. */
  share: number;
  allow: number;
  deny: number;
}
