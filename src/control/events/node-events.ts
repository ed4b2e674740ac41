/**
 * Events of gateways that share a database. A gateway records its own join and stop; one that falls silent is
 * recorded by the others. The deduplication key comes from the database, so that together they record one event.
 */
import type { EventLog } from '../../model/events/event-log.ts';
import type { NodeRecord } from '../../storage/repository.ts';

const SILENT_MAX = 100;
/** The fraction of the time-out after which a gateway counts as silent; its row is then still listed. */
const SILENT_SHARE = 0.5;

interface SilentNode {
  readonly node: NodeRecord;
  isTold: boolean;
}

export class NodeEvents {
  readonly #log: EventLog;
  readonly #silentMs: number;
  readonly #silent = new Map<string, SilentNode>();

  /** @param timeoutMs a gateway without a heartbeat for this long is no longer live */
  constructor(log: EventLog, timeoutMs: number) {
    this.#log = log;
    this.#silentMs = SILENT_SHARE * timeoutMs;
  }

  joined(node: Pick<NodeRecord, 'id' | 'name' | 'programVersion'>, after = ''): void {
    this.#log.record({
      type: 'node.joined',
      dedupe_key: `node.joined:${node.id}${after}`,
      subject: { kind: 'node', id: node.id, name: node.name },
      data: { program_version: node.programVersion },
    });
  }

  stopped(node: Pick<NodeRecord, 'id' | 'name'>): void {
    this.#left(node, 'stopped', '');
  }

  /**
   * Call it at each heartbeat with the gateways that count as live. A gateway that stops normally removes its row
   * before it counts as silent. Times are those of the database.
   */
  look(live: readonly NodeRecord[]): void {
    const nowMs = Math.max(...live.map(({ lastSeenAt }) => Date.parse(lastSeenAt)));
    const listed = new Set(live.map(({ id }) => id));
    for (const node of live) this.#lookAt(node, nowMs);
    for (const [id, silent] of this.#silent) {
      if (listed.has(id) || silent.isTold) continue;
      silent.isTold = true;
      this.#left(silent.node, 'silent', `:${silent.node.lastSeenAt}`);
    }
  }

  #lookAt(node: NodeRecord, nowMs: number): void {
    const known = this.#silent.get(node.id);
    if (nowMs - Date.parse(node.lastSeenAt) > this.#silentMs) {
      this.#silent.set(node.id, { node, isTold: known?.isTold ?? false });
      const oldest = this.#silent.keys().next();
      if (this.#silent.size > SILENT_MAX && oldest.done !== true) this.#silent.delete(oldest.value);
      return;
    }
    if (known === undefined) return;
    this.#silent.delete(node.id);
    if (known.isTold) this.joined(node, `:${known.node.lastSeenAt}`);
  }

  #left({ id, name }: Pick<NodeRecord, 'id' | 'name'>, reason: 'stopped' | 'silent', after: string): void {
    this.#log.record({
      type: 'node.left',
      dedupe_key: `node.left:${id}${after}`,
      subject: { kind: 'node', id, name },
      data: { reason },
    });
  }
}
