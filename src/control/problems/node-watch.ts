/**
 * Notices gateways on the same database that stop without leaving: their heartbeat ceases, and their row stays until
 * it is too old. A gateway that stops normally removes its row itself.
 */
import type { NodeRecord } from '../../storage/repository.ts';
import { found, type FoundProblem } from './found-problem.ts';

/** How long a vanished gateway is a problem, unless one of its name returns. */
const KEPT_MS = 3_600_000;
const VANISHED_MAX = 100;

export class NodeWatch {
  readonly #silentMs: number;
  /** When each vanished gateway was last seen, by name. */
  readonly #vanished = new Map<string, number>();

  /** @param heartbeatMs interval of the heartbeats of all gateways */
  constructor(heartbeatMs: number) {
    this.#silentMs = 2.5 * heartbeatMs;
  }

  /** Call it every second or so with the rows of the gateways. */
  look(nodes: readonly NodeRecord[], selfId: string): void {
    // By the clock of the database, which also sets the times of the rows.
    const latestMs = Math.max(...nodes.map(({ lastSeenAt }) => Date.parse(lastSeenAt)));
    for (const { id, name, lastSeenAt } of nodes) {
      const seenMs = Date.parse(lastSeenAt);
      if (id === selfId || latestMs - seenMs < this.#silentMs) this.#vanished.delete(name);
      else if (this.#vanished.size < VANISHED_MAX) this.#vanished.set(name, seenMs);
    }
    for (const [name, seenMs] of this.#vanished) if (latestMs - seenMs > KEPT_MS) this.#vanished.delete(name);
  }

  /** Names of recently vanished gateways. */
  get vanished(): readonly string[] {
    return [...this.#vanished.keys()];
  }

  problems(): FoundProblem[] {
    return [...this.#vanished].map(([node, seenMs]) =>
      found(
        'critical',
        'node_missing',
        `The gateway ${node} no longer sends heartbeats to the database. It has died, or it cannot reach the database`,
        { kind: 'nodes', node },
        seenMs,
      ),
    );
  }
}
