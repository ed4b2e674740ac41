/** Remembers when something last happened that stays a problem for a while. */

import { NodeWatch } from './node-watch.ts';

/** How long it stays a problem. */
export const RECENT_MS = 600_000;

class RecentEvents {
  #count = 0;
  #firstMs = -Infinity;
  #lastMs = -Infinity;

  note(nowMs: number, count = 1): void {
    if (nowMs - this.#lastMs > RECENT_MS) {
      this.#count = 0;
      this.#firstMs = nowMs;
    }
    this.#count += count;
    this.#lastMs = nowMs;
  }

  /** undefined when nothing happened recently. */
  recent(nowMs: number): { readonly count: number; readonly firstMs: number } | undefined {
    if (nowMs - this.#lastMs > RECENT_MS) return undefined;
    return { count: this.#count, firstMs: this.#firstMs };
  }
}

/** Notes increases of a counter; a decrease means that it started again. */
export class GrowthWatch {
  readonly events = new RecentEvents();
  #last = 0;

  look(value: number, nowMs: number): void {
    if (value > this.#last) this.events.note(nowMs, value - this.#last);
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
