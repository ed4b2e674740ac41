/**
 * Everything that notices events other than writes of the configuration. Checks at intervals what the main thread
 * has anyway, and asks workers nothing: the only event that costs them anything is the first one of a limit.
 */
import { withTimeout } from '../../lib/with-timeout.ts';
import type { EventLog } from '../../model/events/event-log.ts';
import { CertificateEvents } from './certificate-events.ts';
import { HealthEvents } from './health-events.ts';
import { KeySweep } from './keys/key-sweep.ts';
import { LimitEvents } from './limit-events.ts';
import type { LimitReached } from './limit-notes.ts';
import { LoginEvents } from './login-events.ts';
import { NodeEvents } from './node-events.ts';
import { PacedEvents } from './paced-events.ts';
import { ReachWatch } from './reach-watch.ts';
import { ToldOnce } from './told-once.ts';
import { VersionEvents, type PlacedVersion } from './version-events.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import { Breaker } from '../../proxy/resilience/breaker.ts';
import type { NodeRecord, Repository } from '../../storage/repository.ts';
import { StorageUnavailable } from '../../storage/storage-errors.ts';
import type { CertificateFacts } from '../../proxy/downstream/tls/tls-certificate.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../observe/log.ts';
import type { Settings } from '../../settings/settings.ts';
import type { LimitNode } from '../cluster/limit-node.ts';
import type { HealthRegistry } from '../health/health-registry.ts';

const TICK_MS = 1_000;
const LOOK_TICKS = 5;
const MINUTE_TICKS = 60;
const PING_MS = 2_000;
/** Shorter outages of a store cause no event. */
const AWAY = { awayMs: 5_000, backMs: 3_000 };
/** Gateways that notice the same thing within this time record one event. */
const SAME_MS = 10_000;

export interface SourceParts {
  readonly settings: Settings;
  readonly version: string;
  readonly repository: Repository;
  readonly state: ConfigState;
  readonly health: HealthRegistry;
  /** undefined if limits are not shared with other nodes. */
  readonly limitNode: LimitNode | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Parts that exist only once the gateway serves. */
export interface Surroundings {
  /** The cluster of this gateway, once it has joined. */
  readonly cluster: Pick<Cluster, 'selfId' | 'name'>;
  /** The certificates of this gateway, by where they are used. */
  readonly certificates: () => Iterable<
    readonly [listener: string, certificates: readonly CertificateFacts[]]
  >;
}

type NodeName = Pick<NodeRecord, 'id' | 'name'>;

export class EventSources {
  readonly #logins: LoginEvents;
  readonly #parts: SourceParts;
  readonly #paced: PacedEvents;
  readonly #health: HealthEvents;
  readonly #versions: VersionEvents;
  readonly #certificates: CertificateEvents;
  readonly #limits: LimitEvents;
  readonly #nodes: NodeEvents;
  readonly #keys: KeySweep;
  readonly #database: ReachWatch;
  readonly #limitStore: ReachWatch;
  #surroundings: Surroundings | undefined;
  #self: NodeName | undefined;
  #timer: NodeJS.Timeout | undefined;
  #ticks = 0;
  #lookedVersion = -1;
  #isPinging = false;

  constructor(parts: SourceParts, events: EventLog) {
    const { settings, state, clock, log, repository, health } = parts;
    const notices = settings.notices;
    const told = new ToldOnce(events);
    this.#parts = parts;
    this.#paced = new PacedEvents(events, clock);
    this.#health = new HealthEvents({
      paced: this.#paced,
      clock,
      placeOf: (revisionId) => state.placeOf(revisionId),
      isOpen: (revisionId) => isOpen(state, revisionId),
    });
    health.listen(this.#health);
    this.#versions = new VersionEvents(told, notices.sunsetDays);
    this.#certificates = new CertificateEvents(told, notices.certificateDays);
    this.#limits = new LimitEvents(this.#paced, clock, {
      findKey: (id) => state.keys.findKeyById(id),
      findApp: (id) => state.appOf(id),
    });
    this.#nodes = new NodeEvents(events, settings.cluster.nodeTimeoutMs);
    this.#logins = new LoginEvents(this.#paced, clock);
    this.#keys = new KeySweep({
      store: () => repository.keySweeps,
      events,
      clock,
      log,
      slugOf: (appId) => state.appOf(appId)?.slug,
      expiryDays: notices.keyExpiryDays,
      unusedDays: notices.keyUnusedDays,
    });
    this.#database = this.#reach('database', repository.driver === 'postgres' ? 'PostgreSQL' : 'SQLite');
    this.#limitStore = this.#reach('limits_store', 'the store of limits');
  }

  start(surroundings: Surroundings): void {
    this.#surroundings = surroundings;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#keys.start();
  }

  /** Records the events that still wait. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#keys.stop();
    if (this.#self !== undefined) this.#nodes.stopped(this.#self);
    this.#paced.flush();
  }

  /** @param address address of a client with a wrong admin token */
  loginRefused(address: string): void {
    this.#logins.refused(address);
  }

  limitReached(reached: LimitReached): void {
    this.#limits.report(reached);
  }

  deprecatedUsed(versionId: string): void {
    const { state, clock } = this.#parts;
    const version = state.versionTree(versionId)?.version;
    const app = version && state.appOf(version.app_id);
    if (app !== undefined && version !== undefined) this.#versions.called({ app, version }, clock.nowMs());
  }

  /** Called at each heartbeat. */
  listed(live: readonly NodeRecord[]): void {
    this.#nodes.look(live);
  }

  #tick(): void {
    const { state, clock, limitNode, settings } = this.#parts;
    this.#ticks += 1;
    this.#paced.tick();
    this.#noteJoined();
    if (limitNode !== undefined) this.#limitStore.look(limitNode.problem, clock.monotonicMs());
    if (this.#ticks % LOOK_TICKS !== 0) return;
    this.#health.tick();
    if (settings.configFile === undefined) void this.#ping();
    const isMinute = this.#ticks % MINUTE_TICKS === LOOK_TICKS;
    if (isMinute) this.#lookAtCertificates();
    if (!isMinute && state.configVersion === this.#lookedVersion) return;
    this.#lookedVersion = state.configVersion;
    this.#versions.look(versionsOf(state), clock.nowMs());
  }

  /** Only on a database that other gateways can share. */
  #noteJoined(): void {
    if (this.#self !== undefined || this.#surroundings === undefined) return;
    if (this.#parts.repository.cluster === undefined) return;
    const { selfId: id, name } = this.#surroundings.cluster;
    this.#self = { id, name };
    this.#nodes.joined({ id, name, programVersion: this.#parts.version });
  }

  #lookAtCertificates(): void {
    const nowMs = this.#parts.clock.nowMs();
    for (const [listener, facts] of this.#surroundings?.certificates() ?? [])
      this.#certificates.look(listener, facts, nowMs);
  }

  async #ping(): Promise<void> {
    if (this.#isPinging) return;
    this.#isPinging = true;
    const { repository, clock } = this.#parts;
    const problem = await withTimeout(PING_MS, pingProblem(repository));
    this.#isPinging = false;
    const late = `no answer within ${PING_MS} ms`;
    this.#database.look(problem === undefined ? late : (problem ?? undefined), clock.monotonicMs());
  }

  #reach(kind: 'database' | 'limits_store', name: string): ReachWatch {
    const { clock } = this.#parts;
    const subject = { kind, id: kind, name };
    const moment = (): number => Math.floor(clock.nowMs() / SAME_MS);
    return new ReachWatch(AWAY, {
      onAway: (reason) => {
        const type = `${kind}.away` as const;
        const dedupe_key = `${type}:${moment()}`;
        this.#paced.record(kind, { type, dedupe_key, subject, data: { reason } });
      },
      onBack: (away_seconds) => {
        const type = `${kind}.back` as const;
        const dedupe_key = `${type}:${moment()}`;
        this.#paced.record(kind, { type, dedupe_key, subject, data: { away_seconds } });
      },
    });
  }
}

/** null when it answers. Contains no path and no host. */
async function pingProblem(repository: Pick<Repository, 'ping'>): Promise<string | null> {
  try {
    await repository.ping();
    return null;
  } catch (error) {
    return (error instanceof StorageUnavailable ? error.reason : undefined) ?? 'it does not answer';
  }
}

function isOpen(state: ConfigState, revisionId: string): boolean {
  const memory = state.breakerOf(revisionId);
  return memory !== undefined && !new Breaker(memory).isClosed;
}

function* versionsOf(state: ConfigState): IterableIterator<PlacedVersion> {
  for (const appId of state.appIds()) {
    const app = state.appOf(appId);
    if (app === undefined) continue;
    for (const id of state.versionIdsOf(appId)) {
      const version = state.versionTree(id)?.version;
      if (version !== undefined) yield { app, version };
    }
  }
}
