/**
 * Remembers the time of events that count as a problem for a while. It uses the monotonic clock; otherwise an event
 * would stay a problem for hours after the wall clock was set back.
 */
import type { Clock } from '../../lib/clock.ts';
import { NodeWatch } from './node-watch.ts';

/** How long it stays a problem. */
export const RECENT_MS = 600_000;

class RecentEvents {
  #count = 0;
  #firstMs = -Infinity;
  #lastMs = -Infinity;

  note(clock: Clock, count = 1): void {
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#lastMs > RECENT_MS) {
      this.#count = 0;
      this.#firstMs = nowMs;
    }
    this.#count += count;
    this.#lastMs = nowMs;
  }

  /** undefined when nothing happened recently. `firstMs` is a time of the present wall clock. */
  recent(clock: Clock): { readonly count: number; readonly firstMs: number } | undefined {
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#lastMs > RECENT_MS) return undefined;
    return { count: this.#count, firstMs: Math.round(clock.nowMs() - (nowMs - this.#firstMs)) };
  }
}

/** Notes increases of a counter; a decrease means that it started again. */
export class GrowthWatch {
  readonly events = new RecentEvents();
  #last = 0;

  look(value: number, clock: Clock): void {
    if (value > this.#last) this.events.note(clock, value - this.#last);
    this.#last = value;
  }
}

/** What the gateway remembers about past trouble. */
export interface Troubles {
  readonly workersLost: RecentEvents;
  readonly logLines: GrowthWatch;
  /** Events that were not recorded. */
  readonly events: GrowthWatch;
  readonly nodes: NodeWatch;
}

/** @param heartbeatMs interval of the heartbeats of gateways */
export function newTroubles(heartbeatMs: number): Troubles {
  const nodes = new NodeWatch(heartbeatMs);
  return { workersLost: new RecentEvents(), logLines: new GrowthWatch(), events: new GrowthWatch(), nodes };
}
