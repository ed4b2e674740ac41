/**
 * Starts the proxy workers and keeps their number. Sends every configuration change to all of them and waits until each
 * has applied it; all of them compile a large one before. Replaces a worker that dies, reports a failure or is stuck;
 * its number is never reused, and the locks it held in the limit memory are released.
 *
 * Unless switched off, there is also a spare worker. It has the configuration and applies every change, so it only has
 * to listen when a worker is lost. A worker that must be replaced is ended after the spare listens, so that the port
 * stays open even with one worker.
 */
import type { Clock } from '../../lib/clock.ts';
import { inSlices } from '../../config/changes/slices.ts';
import { fewAtOnce } from '../../lib/few-at-once.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import { releaseThread } from '../../limits/local/local-store.ts';
import type { LimitMemory } from '../../limits/local/memory.ts';
import { compiledDifference } from '../../config/changes/compiled-difference.ts';
import type { ConfigChange } from '../../model/config.ts';
import type { Logger } from '../../observe/log.ts';
import type { StatsReport } from '../../observe/stats/stats-report.ts';
import type { ShadowRow } from '../../observe/shadow-tally.ts';
import type { Settings } from '../../settings/settings.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import type { HealthMessage } from '../health/health-reporter.ts';
import type { LimitReached } from '../events/limit-notes.ts';
import type { KeyUsageBatch } from '../../keys/usage-counter.ts';
import type { LiveMessage } from '../../explain/live/live-messages.ts';
import type { ExplainSetup } from '../../explain/messages.ts';
import type { FromWorker, ToWorker, TrafficPorts, WorkerRings } from './protocol.ts';
import { isLarge, packChange } from '../changes/change-parts.ts';
import { WorkerUpdates, type FirstUpdates } from '../changes/worker-updates.ts';
import { flagsForLoading, flagsForServing } from './serving-flags.ts';
import { RestartBackoff } from './restart-backoff.ts';
import type { OrderedChange } from '../../proxy/downstream/tls/ordered-certificates.ts';
import type { UnixListener } from '../unix-socket/unix-listener.ts';
import { TargetColumns } from './target-columns.ts';
import { threadName, WaitingThread } from '../threads/waiting-thread.ts';
import { WorkerQuestions } from './worker-questions.ts';
import { WorkerThread } from './worker-thread.ts';

/** A change, what of it is compiled, and which workers have done that. */
export interface PreparedChange {
  readonly toCompile: ConfigChange;
  readonly members: ReadonlySet<WorkerThread>;
}

export interface SupervisorDeps {
  readonly version: string;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly firstUpdates: FirstUpdates;
  /** Returns everything for a worker that starts; undefined when the gateway orders no certificates. */
  readonly ordered?: (() => OrderedChange) | undefined;
  readonly limitMemory: LimitMemory;
  /** See egress/own-listeners.ts. */
  readonly ownPorts: SharedArrayBuffer;
  /** The gateway's name towards backends. */
  readonly viaName: string;
  readonly state: ConfigState;
  readonly log: Logger;
  /** The Unix socket for traffic; undefined when there is none. */
  readonly unixSocket?: Pick<UnixListener, 'take' | 'restore' | 'remove'> | undefined;
  readonly processors: number;
  /** The program of a worker. */
  readonly workerUrl: URL;
  /** Threads that load it, for the first workers. */
  readonly waiting?: WaitingThread[];
  onKeysUsed(used: KeyUsageBatch): void;
  onLimitReached(reached: LimitReached): void;
  onDeprecatedUsed(message: Extract<FromWorker, { type: 'deprecated_used' }>): void;
  onShadowDenials(rows: readonly ShadowRow[]): void;
  onHealth(message: HealthMessage): void;
  onStats(workerNumber: number, report: StatsReport): void;
  onLive(message: LiveMessage): void;
  /** Returns the rings of a worker that starts; undefined when nothing is exported. */
  openRings?(workerNumber: number): WorkerRings | undefined;
  onRingFills(): void;
  /** The current explain setup for workers. */
  explainSetup(): ExplainSetup;
  onWorkerLost(workerNumber: number): void;
  /** For tests; milliseconds. */
  readonly applyTimeoutMs?: number;
  readonly startTimeoutMs?: number;
  readonly spareDelayMs?: number;
}

const APPLY_TIMEOUT_MS = 10_000;
const APPLY_COMPLAINT = 'a proxy worker failed to apply a change';
/** Replacements of workers that failed to prepare a change may fail, too. */
const PREPARE_ROUNDS_MAX = 3;
/** A worker that does not listen by then is ended. It compiles the whole configuration first. */
const START_TIMEOUT_MS = 60_000;
/** More than two heartbeats: what a thread does is read from the system only where it has not counted meanwhile. */
const WATCH_MS = 250;
/**
 * Delay before a spare starts: long after the start of the gateway, when other threads need the CPUs, and short
 * after a loss, since another may follow.
 */
const SPARE_DELAY_MS = 1_000;
const NEXT_SPARE_DELAY_MS = 50;
/** How long a worker that must end continues until the spare listens, which takes a few milliseconds. */
const PROMOTION_PATIENCE_MS = 500;
/** After this time all other workers close their ports at once. */
const CLOSE_PORTS_MS_MAX = 5_000;

export class Supervisor {
  readonly questions: WorkerQuestions;
  readonly updates: WorkerUpdates;
  readonly #deps: SupervisorDeps;
  readonly #members = new Map<number, WorkerThread>();
  readonly #backoff: RestartBackoff;
  readonly #columns: TargetColumns;
  #nextNumber = 1;
  #ports: TrafficPorts;
  #started = false;
  #stopping = false;
  #hasServingFlags = false;
  #watching: NodeJS.Timeout | undefined;
  #filling: NodeJS.Timeout | undefined;
  #spareTimer: NodeJS.Timeout | undefined;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    const { port, tlsPort } = deps.settings.proxy;
    this.#ports = { main: port, tls: tlsPort };
    this.#backoff = new RestartBackoff(deps.clock);
    this.#columns = new TargetColumns(deps.state, deps.settings.workers, deps.clock);
    this.updates = new WorkerUpdates({
      first: deps.firstUpdates,
      state: deps.state,
      follow: (message, complaint) => this.#follow(message, complaint),
    });
    this.questions = new WorkerQuestions({
      workers: (fits) => this.#all(fits),
      isThere: (workerNumber) => this.#members.has(workerNumber),
      explainSetup: () => deps.explainSetup(),
      applyTimeoutMs: (member) => this.#applyTimeoutMs(member),
    });
  }

  /** Starts all workers; resolves with the traffic ports once each of them accepts connections. */
  async start(): Promise<TrafficPorts> {
    const { workers } = this.#deps.settings;
    // With port 0, the first worker gets the port that the others share.
    const { main, tls } = this.#ports;
    if (main === 0 || tls === 0) this.#ports = await this.#spawn(false).listening;
    const missing = workers - this.#members.size;
    await Promise.all(Array.from({ length: missing }, () => this.#spawn(false).listening));
    this.#started = true;
    this.#flagWhenLoaded();
    this.#watching = setInterval(() => {
      this.#endStalled();
      this.#flagWhenLoaded();
      this.#shareUnixSocket();
    }, WATCH_MS);
    if (this.#deps.settings.workerSpare) this.#prepareSpare(this.#deps.spareDelayMs ?? SPARE_DELAY_MS);
    this.#fill();
    return this.#ports;
  }

  get listeningCount(): number {
    return this.#all(({ isListening }) => isListening).length;
  }

  /**
   * Must be called before `apply` for a change that may be large, and after the `apply` of the change before it. Has
   * every worker compile it, if it is large, without using it: few at once, so that a processor is left for requests.
   * Never rejects.
   */
  async prepare(change: ConfigChange): Promise<PreparedChange> {
    const toCompile = await inSlices(compiledDifference(change, this.#deps.state));
    const prepared = { toCompile, members: new Set<WorkerThread>() };
    if (!isLarge(toCompile)) return prepared;
    const parts = await inSlices(packChange(toCompile));
    // Workers that start meanwhile get the change when they have no traffic yet, or in the next round.
    for (let round = 1; round <= PREPARE_ROUNDS_MAX; round += 1) {
      const members = this.#all((each) => each.isConfigured && !prepared.members.has(each));
      if (members.length === 0) break;
      for (const member of members) prepared.members.add(member);
      const message = (id: number): ToWorker => ({ type: 'prepare', id, parts });
      await fewAtOnce(members, Math.max(1, this.#deps.processors - 1), (each) =>
        this.#obeys(each, message, APPLY_COMPLAINT, true),
      );
    }
    return prepared;
  }

  /**
   * Sends a change to every worker. Resolves when each has swapped to a snapshot that contains it, or has died (its
   * replacement starts with the change). Does not wait for the spare: it handles messages in order, so it applies the
   * change before it listens. Changes must arrive in the order of their config versions.
   * @param prepared of the same change; absent: everything in it is compiled
   */
  async apply(change: ConfigChange, prepared?: PreparedChange): Promise<void> {
    const { state } = this.#deps;
    const { toCompile = change, members } = prepared ?? {};
    const removedRevisionIds = state.apply(change);
    const retiredKeys = state.keys.takeRetired();
    const forWorkers: ConfigChange = { ...toCompile, keys: [], removedKeyIds: [] };
    const shared = { breakers: state.breakersOf(toCompile), targets: state.targetsOf(toCompile) };
    const { endedPools } = state;
    await this.#follow((id, member) => {
      const own = members?.has(member) === true ? undefined : forWorkers;
      return { type: 'apply', id, change: own, ...shared, removedRevisionIds, endedPools };
    }, APPLY_COMPLAINT);
    // Each worker has answered or is dead: no look-up that began before the change is still running.
    state.keys.release(retiredKeys);
  }

  /** Resolves when each worker that serves has obeyed or is ended. */
  async #follow(message: (id: number, member: WorkerThread) => ToWorker, complaint: string): Promise<void> {
    // Includes lost workers that still run: they may be handling a request.
    const members = [...this.#members.values()];
    const obeys = (member: WorkerThread): Promise<void> => this.#obeys(member, message, complaint);
    for (const member of members) if (member.isSpare) void obeys(member);
    await Promise.all(members.filter(({ isSpare }) => !isSpare).map(obeys));
  }

  /**
   * A worker that fails to apply a change must not serve the old state: it is replaced.
   * @param isSliced it may take any time while its event loop runs, and is not excused for one long step
   */
  async #obeys(
    member: WorkerThread,
    message: (id: number, member: WorkerThread) => ToWorker,
    complaint: string,
    isSliced = false,
  ): Promise<void> {
    const excused = isSliced ? 0 : 1;
    member.applying += excused;
    const answer = await member.ask((id) => message(id, member), this.#applyTimeoutMs(member), isSliced);
    member.applying -= excused;
    const error = answer?.type === 'applied' ? answer.error : 'it did not answer';
    if (error === undefined || !this.#members.has(member.number)) return;
    if (!member.isLost) this.#deps.log.error({ worker: member.number, error }, complaint);
    this.#lose(member);
    await member.terminate();
  }

  /** A worker that starts compiles the whole configuration before the change. */
  #applyTimeoutMs({ isListening, snapshotUntilMs }: WorkerThread): number {
    const { applyTimeoutMs = APPLY_TIMEOUT_MS, startTimeoutMs = START_TIMEOUT_MS } = this.#deps;
    const snapshotMs = Math.max(0, snapshotUntilMs - this.#deps.clock.monotonicMs());
    return snapshotMs + (isListening ? applyTimeoutMs : startTimeoutMs + applyTimeoutMs);
  }

  /** Lets every worker finish its exchanges, for at most `timeoutMs`, and ends it. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#watching);
    clearTimeout(this.#filling);
    clearTimeout(this.#spareTimer);
    const members = [...this.#members.values()];
    const serving = members.filter(({ isSpare }) => !isSpare);
    const ends = async (): Promise<void> => {
      await this.#closePorts(serving);
      await Promise.all(serving.map(({ exited }) => exited));
    };
    await withTimeout(timeoutMs, ends());
    await Promise.all(members.map((member) => member.terminate()));
  }

  /**
   * One after another, so that the other workers accept new connections meanwhile (see
   * proxy/downstream/accept/close-port.ts).
   */
  async #closePorts(members: readonly WorkerThread[]): Promise<void> {
    const { clock } = this.#deps;
    const endMs = clock.monotonicMs() + CLOSE_PORTS_MS_MAX;
    for (const member of members) member.post({ type: 'drain' });
    this.#deps.unixSocket?.remove();
    for (const member of members) {
      member.post({ type: 'close_port' });
      await withTimeout(endMs - clock.monotonicMs(), member.portClosed);
    }
  }

  /** Workers that are not lost. */
  #all(fits: (member: WorkerThread) => boolean = () => true): WorkerThread[] {
    return [...this.#members.values()].filter((member) => !member.isLost && fits(member));
  }

  /** Starts one worker and sends it the configuration. */
  #spawn(isSpare: boolean): WorkerThread {
    const { settings, clock, limitMemory, state, startTimeoutMs = START_TIMEOUT_MS } = this.#deps;
    const { ownPorts, viaName, version } = this.#deps;
    const workerNumber = this.#nextNumber++;
    if (this.#hasServingFlags) flagsForLoading();
    this.#hasServingFlags = false;
    const member: WorkerThread = new WorkerThread({
      thread: this.#thread(workerNumber),
      start: {
        version,
        workerNumber,
        settings,
        ports: this.#ports,
        limitMemory,
        ownPorts,
        viaName,
        keyMemory: state.keys.memory,
        ...this.updates.kept,
        ordered: this.#deps.ordered?.(),
        targetColumn: this.#columns.take(workerNumber),
        exported: this.#deps.openRings?.(workerNumber),
        isSpare,
      },
      clock,
      startTimeoutMs,
      onMessage: (message) => this.#onMessage(member, message),
      onExit: (code) => this.#onExit(member, code),
    });
    this.#members.set(workerNumber, member);
    const change = state.asWorkerChange();
    const [breakers, targets] = [state.breakersOf(change), state.targetsOf(change)];
    member.post({ type: 'apply', id: 0, change, breakers, targets, removedRevisionIds: [], endedPools: [] });
    member.post({ type: 'explain_setup', id: 0, setup: this.#deps.explainSetup() });
    return member;
  }

  #thread(workerNumber: number): WaitingThread {
    const { settings, workerUrl, waiting = [] } = this.#deps;
    // One that has ended could not be loaded: a new one has what it needs to say so.
    for (let thread = waiting.shift(); thread !== undefined; thread = waiting.shift())
      if (!thread.hasEnded) return thread;
    return new WaitingThread(workerUrl, threadName(workerNumber), settings.workers);
  }

  #onMessage(member: WorkerThread, message: FromWorker): void {
    switch (message.type) {
      case 'keys_used':
        return this.#deps.onKeysUsed(message.used);
      case 'limit_reached':
        return this.#deps.onLimitReached(message.reached);
      case 'shadow_denials':
        return this.#deps.onShadowDenials(message.rows);
      case 'health':
        return this.#deps.onHealth(message);
      case 'stats':
        return this.#deps.onStats(member.number, message.report);
      case 'live':
        return this.#deps.onLive(message);
      case 'ring_fills':
        return this.#deps.onRingFills();
      case 'deprecated_used':
        return this.#deps.onDeprecatedUsed(message);
      case 'listening':
        return this.#shareUnixSocket();
      case 'failed':
        return member.isLost ? undefined : void this.#end(member);
      default:
    }
  }

  /** A worker that dies before it listens takes no descriptor with it. */
  #shareUnixSocket(): void {
    const { unixSocket } = this.#deps;
    if (unixSocket === undefined || this.#stopping) return;
    for (const member of this.#all(({ isListening, hasUnixSocket }) => isListening && !hasUnixSocket)) {
      const descriptor = unixSocket.take();
      if (descriptor === undefined) return;
      member.hasUnixSocket = true;
      member.post({ type: 'unix_socket', descriptor });
    }
  }

  /** Call it after a takeover that failed. Never rejects. */
  async restoreUnixSocket(): Promise<void> {
    if ((await this.#deps.unixSocket?.restore()) !== true) return;
    for (const member of this.#members.values()) member.hasUnixSocket = false;
    this.#shareUnixSocket();
  }

  /** Sets the flags for serving while no worker loads its program (serving-flags.ts). */
  #flagWhenLoaded(): void {
    if (this.#hasServingFlags || this.#all(({ isConfigured }) => !isConfigured).length > 0) return;
    this.#hasServingFlags = true;
    flagsForServing();
  }

  /** A stuck worker keeps its connections and its share of new ones: only its end frees them. */
  #endStalled(): void {
    const { clock, log, settings } = this.#deps;
    const nowMs = clock.monotonicMs();
    for (const member of this.#all()) {
      const excused = !member.isConfigured || member.applying > 0 || nowMs < member.snapshotUntilMs;
      const stall = member.heartbeat.look(nowMs, WATCH_MS, excused);
      if (stall === undefined) continue;
      log.error(
        { worker: member.number, stall, stall_timeout_ms: settings.workerStallTimeoutMs },
        'a proxy worker is stuck and is being stopped',
      );
      void this.#end(member);
    }
  }

  /** Ends a running worker, if possible after another one listens in its place. */
  async #end(member: WorkerThread): Promise<void> {
    const successor = this.#lose(member);
    const listening = successor?.listening.catch(() => undefined);
    if (listening !== undefined) await withTimeout(PROMOTION_PATIENCE_MS, listening);
    await member.terminate();
  }

  /** The worker no longer counts. Returns the spare that replaces it, if there is one. */
  #lose(member: WorkerThread): WorkerThread | undefined {
    if (member.isLost) return undefined;
    member.isLost = true;
    if (!this.#started || this.#stopping || member.isDrained) return undefined;
    this.#backoff.noteDeath(member.listeningSinceMs);
    return this.#fill();
  }

  #onExit(member: WorkerThread, code: number): void {
    this.#members.delete(member.number);
    // This checks a million locks; after the last worker of a stopping gateway, no thread waits for them.
    if (!this.#stopping || this.#members.size > 0) releaseThread(this.#deps.limitMemory, member.number);
    this.#columns.release(member.number);
    this.#deps.onWorkerLost(member.number);
    if (!this.#stopping && !member.isDrained && this.#started) {
      const { number: worker, cause, isListening } = member;
      const text = isListening
        ? 'a proxy worker died and is replaced'
        : 'a replacement worker could not be started';
      this.#deps.log.error({ worker, code, err: cause }, text);
    }
    this.#lose(member);
  }

  /** Restores the number of workers. Returns the spare that was started, if there was one. */
  #fill(): WorkerThread | undefined {
    const { settings } = this.#deps;
    let missing = settings.workers - this.#all(({ isSpare }) => !isSpare).length;
    const [spare] = this.#all(({ isSpare }) => isSpare);
    const isCalled = missing > 0 && spare !== undefined;
    if (isCalled) {
      spare.promote();
      missing -= 1;
    }
    if (missing > 0) {
      this.#filling ??= setTimeout(() => {
        this.#filling = undefined;
        this.#spawnMissing();
      }, this.#startDelayMs);
    }
    if (settings.workerSpare && (isCalled || spare === undefined)) {
      this.#prepareSpare(Math.max(NEXT_SPARE_DELAY_MS, this.#startDelayMs));
    }
    return isCalled ? spare : undefined;
  }

  get #startDelayMs(): number {
    return this.#backoff.delayMs(this.#all(({ isListening }) => isListening).length > 0);
  }

  #spawnMissing(): void {
    if (this.#stopping) return;
    const serving = this.#all(({ isSpare }) => !isSpare).length;
    for (let count = serving; count < this.#deps.settings.workers; count++) this.#spawn(false);
  }

  #prepareSpare(delayMs: number): void {
    this.#spareTimer ??= setTimeout(() => {
      this.#spareTimer = undefined;
      if (!this.#stopping && this.#all(({ isSpare }) => isSpare).length === 0) this.#spawn(true);
    }, delayMs);
  }
}
