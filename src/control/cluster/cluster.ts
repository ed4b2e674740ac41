/**
 * Membership in the group of nodes on the same database: joins it, applies changes of other nodes, and reports how many
 * nodes have applied a write. With SQLite there is one node, and all of this does nothing.
 *
 * Owns the membership and the last known config version of each node. If a node does not apply a write in time, writes
 * no longer wait for it until it has caught up, so a frozen node delays only one write.
 */
import { hostname } from 'node:os';
import { messageOf } from '../../lib/error-message.ts';
import type { Clock } from '../../lib/clock.ts';
import { timestamp } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { ConfigPosition } from '../../model/config.ts';
import type { Logger } from '../../observe/log.ts';
import type { ClusterSettings } from '../../settings/settings.ts';
import type {
  ClusterStore,
  Membership,
  NodeDescription,
  NodePlace,
  NodeRecord,
} from '../../storage/repository.ts';
import { StatementRefused, StorageRefused, StorageUnavailable } from '../../storage/storage-errors.ts';
import type { ConfigSync } from './config-sync.ts';

export interface ClusterDeps {
  readonly settings: ClusterSettings;
  readonly programVersion: string;
  readonly configSync: Pick<ConfigSync, 'position' | 'catchUp' | 'catchUpIfNewer'>;
  /** The port of the management API, known when `join` is called. */
  readonly managementPort: () => number;
  /** Called at each heartbeat. */
  readonly onNodes: (place: NodePlace) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How many of the live nodes have applied a config version. */
export interface NodesApplied {
  readonly applied: number;
  readonly nodes: number;
}

/** Why this gateway sends no heartbeats. */
export interface HeartbeatFailure {
  /** Without hosts, for anonymous callers; undefined if unknown. */
  readonly reason: string | undefined;
  /** For operators. */
  readonly text: string;
  readonly sinceMs: number;
}

/** Another gateway on the same database. */
export type Peer = Pick<NodeRecord, 'id' | 'name'>;

/** Interval at which the table is read while a write waits, because a notification may be lost with its connection. */
const ASK_AGAIN_MS = 250;
const JOIN_AGAIN_MS = 1_000;
/** A lost connection is usually replaced within this time. */
const FAILURE_SHOWN_AFTER_MS = 2_000;

export const HEARTBEAT_FIX =
  'let the user of GATEWAY_DATABASE_URL read and write the table "node" of the primary';

export class Cluster {
  readonly #deps: ClusterDeps;
  #self: NodeDescription;
  #store: ClusterStore | undefined;
  #membership: Membership | undefined;
  #joining: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;
  #refused = false;
  /** Live nodes at the last heartbeat, including this one. */
  #live = 1;
  /** The version that all workers of this node have applied. */
  #applied = 0;
  /** Per node: the version that it last reported, and the version for which the wait timed out. */
  readonly #heard = new Map<string, number>();
  readonly #givenUp = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  readonly #hearers = new Set<(text: string) => void>();
  /** The last failure of joining or of a heartbeat, and when the first one of them happened. */
  #failure: { readonly error: unknown; readonly sinceMs: number; readonly shownFromMs: number } | undefined;
  /** The other live gateways, when they were last listed. */
  #peers: readonly Peer[] = [];

  constructor(deps: ClusterDeps) {
    this.#deps = deps;
    const { nodeName, heartbeatMs, nodeTimeoutMs } = deps.settings;
    const nowMs = deps.clock.nowMs();
    this.#self = {
      id: uuidv7(nowMs),
      name: nodeName ?? hostname(),
      programVersion: deps.programVersion,
      startedAt: timestamp(nowMs),
      heartbeatMs,
      timeoutMs: nodeTimeoutMs,
    };
  }

  get selfId(): string {
    return this.#self.id;
  }

  /** The name by which other nodes know this one. */
  get name(): string {
    return this.#name();
  }

  /**
   * Joins the other nodes; resolves when this node serves what the database contains. If the database does not answer,
   * joining is retried.
   * @param store undefined: there are no other nodes
   * @throws StorageRefused if this node must not join
   */
  async join(store: ClusterStore | undefined): Promise<void> {
    clearTimeout(this.#retry);
    this.#store = store;
    this.#self = { ...this.#self, name: this.#name() };
    this.#applied = this.#deps.configSync.position.configVersion;
    if (store === undefined || this.#stopped) return;
    try {
      this.#joining = this.#tryJoin(store);
      await this.#joining;
    } catch (error) {
      if (error instanceof StorageRefused) throw error;
      this.#logFailure(error, 'cannot join the other nodes; retrying');
      this.#missed(error);
      this.#joinLater(store);
    }
  }

  /** All workers of this node have applied the version. */
  applied(configVersion: number): void {
    // A lower version: earlier reports belong to a history that the database has lost.
    if (configVersion <= this.#applied) this.#heard.clear();
    this.#applied = configVersion;
    this.#membership?.applied(configVersion);
  }

  /** Resolves when all live nodes have applied the version, or when the time is over. Never rejects. */
  async settle(configVersion: number): Promise<NodesApplied> {
    if (this.#store === undefined) return { applied: 1, nodes: 1 };
    const { clock, settings } = this.#deps;
    const endMs = clock.monotonicMs() + settings.writeWaitMs;
    for (;;) {
      const others = await this.#others();
      // The database was lost after the write: the state of other nodes is unknown.
      if (others === undefined) return { applied: 1, nodes: Math.max(1, this.#live) };
      const behind = others.filter((node) => this.#versionOf(node) < configVersion);
      const awaited = behind.filter((node) => !this.#isGivenUp(node));
      const leftMs = endMs - clock.monotonicMs();
      if (awaited.length === 0 || leftMs <= 0) {
        for (const { id } of awaited) this.#givenUp.set(id, configVersion);
        return { applied: 1 + others.length - behind.length, nodes: 1 + others.length };
      }
      await this.#untilHeard(awaited, configVersion, Math.min(leftMs, ASK_AGAIN_MS));
    }
  }

  /** Live nodes, including this one, with the version that each has applied; throws StorageUnavailable. */
  async nodes(): Promise<readonly NodeRecord[]> {
    const { clock } = this.#deps;
    if (this.#store !== undefined) {
      const listed = await this.#store.liveNodes();
      this.#peers = listed.filter(({ id }) => id !== this.#self.id);
      return listed;
    }
    const { id, name, programVersion, startedAt } = this.#self;
    const lastSeenAt = timestamp(clock.nowMs());
    return [{ id, name, programVersion, startedAt, lastSeenAt, configVersion: this.#applied }];
  }

  /**
   * The other live gateways when they were last listed, which is at most one heartbeat ago. It stays the same while the
   * database is unavailable.
   */
  get peers(): readonly Peer[] {
    return this.#peers;
  }

  /** @param onMessage receives all messages of other gateways; must not throw */
  listen(onMessage: (text: string) => void): void {
    this.#hearers.add(onMessage);
  }

  /** Like `ClusterStore.send`; does nothing without other gateways. */
  async send(nodeId: string | undefined, texts: readonly string[]): Promise<void> {
    await this.#store?.send(nodeId, texts);
  }

  /** undefined while heartbeats are sent, or if the database has only one gateway. */
  get heartbeatFailure(): HeartbeatFailure | undefined {
    if (this.#failure === undefined) return undefined;
    const { error, sinceMs, shownFromMs } = this.#failure;
    const { reason } = error instanceof StorageUnavailable ? error : {};
    if (!(error instanceof StatementRefused) && this.#deps.clock.monotonicMs() < shownFromMs)
      return undefined;
    return { reason, text: messageOf(error), sinceMs };
  }

  /** Removes this node from the list. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    await this.#joining?.catch(() => undefined);
    await this.#membership?.leave();
  }

  /** Unique, since two gateways on one host cannot have the same port, and stable over restarts. */
  #name(): string {
    const { settings, managementPort } = this.#deps;
    return settings.nodeName ?? `${hostname()}:${managementPort()}`;
  }

  async #tryJoin(store: ClusterStore): Promise<void> {
    const { configSync, log } = this.#deps;
    // Left over if the database came back and was lost again before the gateway had joined.
    await this.#membership?.leave();
    this.#membership = await store.join(this.#self, this.#applied, {
      onChanged: () => this.#look(),
      onPosition: (position) => this.#onPosition(position),
      onApplied: (id, version) => this.#hear(id, version),
      onMessage: (text) => this.#hearers.forEach((hear) => hear(text)),
      onNodes: (place) => {
        this.#live = place.count;
        this.#deps.onNodes(place);
      },
      onMissed: (error) => this.#missed(error),
      onLost: (error) => this.#logFailure(error, 'lost the connection to the other nodes'),
      onBack: () => {
        this.#failure = undefined;
        log.info('the connection to the other nodes is back');
      },
    });
    this.#failure = undefined;
    // From now on the other nodes wait for this node; it reads their earlier writes here.
    await configSync.catchUp();
  }

  #joinLater(store: ClusterStore): void {
    if (this.#stopped) return;
    this.#retry = setTimeout(() => {
      if (this.#membership !== undefined) return void this.#look();
      this.#joining = this.#tryJoin(store).catch((error: unknown) => {
        const isNews = error instanceof StorageRefused && !this.#refused;
        if (isNews) this.#deps.log.error({ err: error }, 'refused to join the other nodes');
        this.#refused ||= isNews;
        if (!(error instanceof StorageRefused)) this.#missed(error);
        this.#joinLater(store);
      });
    }, JOIN_AGAIN_MS);
  }

  /** A refusal lasts until an operator does something; a lost connection is replaced. */
  #logFailure(error: unknown, text: string): void {
    if (error instanceof StatementRefused)
      this.#deps.log.error({ reason: error.message }, `the database refuses heartbeats: ${HEARTBEAT_FIX}`);
    else this.#deps.log.warn({ err: error }, text);
  }

  #missed(error: unknown): void {
    const { clock } = this.#deps;
    const { sinceMs, shownFromMs } = this.#failure ?? {
      sinceMs: clock.nowMs(),
      shownFromMs: clock.monotonicMs() + FAILURE_SHOWN_AFTER_MS,
    };
    this.#failure = { error, sinceMs, shownFromMs };
    this.#lookAnyway();
  }

  #onPosition({ configVersion, changeId }: ConfigPosition): void {
    const known = this.#deps.configSync.position;
    if (known.configVersion !== configVersion || known.changeId !== changeId) this.#look();
  }

  #look(): void {
    this.#deps.configSync.catchUp().catch((error: unknown) => {
      // The next heartbeat tries again.
      this.#deps.log.warn({ err: error }, 'cannot apply changes of other nodes; retrying');
    });
  }

  /**
   * Without a heartbeat no change is heard, for example on a standby, or if the user may not write the table of
   * gateways. The configuration is read for as long as it can be.
   */
  #lookAnyway(): void {
    this.#deps.configSync.catchUpIfNewer().catch((error: unknown) => {
      this.#deps.log.debug({ err: error }, 'cannot look for changes of other nodes; retrying');
    });
  }

  async #others(): Promise<readonly NodeRecord[] | undefined> {
    try {
      const all = await this.#store?.liveNodes();
      const others = (all ?? []).filter(({ id }) => id !== this.#self.id);
      this.#forgetAllBut(others);
      return others;
    } catch {
      return undefined;
    }
  }

  #forgetAllBut(nodes: readonly NodeRecord[]): void {
    const live = new Set(nodes.map(({ id }) => id));
    for (const map of [this.#heard, this.#givenUp]) {
      for (const id of map.keys()) if (!live.has(id)) map.delete(id);
    }
  }

  #versionOf({ id, configVersion }: NodeRecord): number {
    return Math.max(configVersion, this.#heard.get(id) ?? 0);
  }

  #isGivenUp(node: NodeRecord): boolean {
    const missed = this.#givenUp.get(node.id);
    if (missed === undefined) return false;
    if (this.#versionOf(node) < missed) return true;
    this.#givenUp.delete(node.id);
    return false;
  }

  #hear(nodeId: string, configVersion: number): void {
    this.#heard.set(nodeId, configVersion);
    for (const listener of this.#listeners) listener();
  }

  /** Resolves when all of these nodes have reported the version, or after `ms`. */
  #untilHeard(nodes: readonly NodeRecord[], configVersion: number, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#listeners.delete(listener);
        resolve();
      };
      const listener = (): void => {
        if (nodes.every((node) => this.#versionOf(node) >= configVersion)) done();
      };
      const timer = setTimeout(done, ms);
      this.#listeners.add(listener);
      listener();
    });
  }
}
