/**
 * Starts the proxy workers, keeps their number, hands every configuration change to all of them and waits until
 * each has swapped. A worker that dies, or whose event loop stands still for too long, is replaced with the
 * configuration as it is then; its number is never used again, and the locks that it held in the limit memory are
 * released.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../kernel/clock.ts';
import { releaseThread } from '../limits/shared-memory.ts';
import type { LimitMemory } from '../limits/memory.ts';
import type { ConfigChange } from '../model/config.ts';
import type { ExplainInput, Explanation } from '../model/schemas/explain.ts';
import type { Logger } from '../observe/log.ts';
import type { WorkerSample } from '../observe/metrics.ts';
import type { WouldDenyRow } from '../observe/would-deny.ts';
import type { Settings } from '../settings.ts';
import type { ConfigState } from './config-state.ts';
import { createHeartbeatMemory, HeartbeatWatch } from './heartbeat.ts';
import type { HealthMessage } from './health-notes.ts';
import type { KeyUsageBatch } from './key-notes.ts';
import type { ExplainSetup, FromWorker, ToWorker, WorkerStart } from './protocol.ts';

export interface SupervisorDeps {
  readonly settings: Settings;
  readonly clock: Clock;
  /** Of the traffic listener; undefined without TLS. */
  readonly certificates: WorkerStart['certificates'];
  readonly limitMemory: LimitMemory;
  readonly state: ConfigState;
  readonly log: Logger;
  /** The program that a worker runs. */
  readonly workerUrl: URL;
  onKeysUsed(used: KeyUsageBatch): void;
  onDeprecatedUsed(message: Extract<FromWorker, { type: 'deprecated_used' }>): void;
  onWouldDeny(rows: readonly WouldDenyRow[]): void;
  onHealth(message: HealthMessage): void;
  /** What workers are to know of explain, now. */
  explainSetup(): ExplainSetup;
  onWorkerLost(workerNumber: number): void;
  /** For tests; milliseconds. */
  readonly applyTimeoutMs?: number;
  readonly startTimeoutMs?: number;
}

interface Member {
  readonly number: number;
  readonly worker: Worker;
  readonly heartbeat: HeartbeatWatch;
  listening: boolean;
  drained: boolean;
  /** Changes that it has been given and not answered. */
  applying: number;
  /** It was found stuck, and its end is under way. */
  ending: boolean;
  /** Called with an error when the worker dies before it answers. */
  readonly waiting: Map<number, (message: FromWorker | undefined) => void>;
}

/**
 * Of a worker's heap, for objects that are new; without it V8 takes above 100 MiB under many connections. What one
 * collection of them has to move, for which all of the worker's clients wait, is at most a third of it.
 */
const YOUNG_GENERATION_MIB_MAX = 24;
/** A worker that dies again at once is not started again faster than this. */
const RESTART_DELAY_MS = 100;
const RESTART_DELAY_MS_MAX = 5_000;
/** A worker that lived this long died of something new. */
const STABLE_MS = 30_000;
const SAMPLE_TIMEOUT_MS = 2_000;
/** A key set that has to be fetched first may take most of it. */
const EXPLAIN_TIMEOUT_MS = 12_000;
const APPLY_TIMEOUT_MS = 10_000;
/** A worker that does not listen by then is ended: it has the whole configuration to compile first. */
const START_TIMEOUT_MS = 60_000;
const WATCH_MS = 250;

export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #members = new Map<number, Member>();
  #nextNumber = 1;
  #nextId = 1;
  #port: number;
  #certificates: WorkerStart['certificates'];
  #stopping = false;
  #deathsInARow = 0;
  #watching: NodeJS.Timeout | undefined;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#port = deps.settings.proxy.port;
    this.#certificates = deps.certificates;
  }

  /** Starts all workers; resolves with the traffic port once each of them accepts connections. */
  async start(): Promise<number> {
    const { workers } = this.#deps.settings;
    // With port 0 the first worker finds the port that the others share.
    if (this.#port === 0) this.#port = await this.#spawn();
    const missing = workers - this.#members.size;
    await Promise.all(Array.from({ length: missing }, () => this.#spawn()));
    this.#watching = setInterval(() => this.#endStalled(), WATCH_MS);
    return this.#port;
  }

  get listeningCount(): number {
    let count = 0;
    for (const member of this.#members.values()) if (member.listening) count += 1;
    return count;
  }

  /**
   * Hands a change to every worker; resolves when each has swapped to a snapshot that contains it, or has died
   * (whoever replaces it starts with it). Changes must come in the order of their config versions.
   */
  async apply(change: ConfigChange): Promise<void> {
    const { state } = this.#deps;
    const removedRevisionIds = state.apply(change);
    const retiredKeys = state.keys.takeRetired();
    const forWorkers: ConfigChange = { ...change, keys: [], removedKeyIds: [] };
    const breakers = state.breakersOf(change);
    const answers = [...this.#members.values()].map(async (member) => {
      const id = this.#nextId++;
      member.applying += 1;
      const answer = await this.#ask(
        member,
        { type: 'apply', id, change: forWorkers, breakers, removedRevisionIds },
        id,
        this.#applyTimeoutMs(member),
      );
      member.applying -= 1;
      const error = answer?.type === 'applied' ? answer.error : 'it did not answer';
      if (error === undefined || !this.#members.has(member.number)) return;
      // Whoever cannot follow must not serve what was valid before: it is ended, and replaced with the new state.
      this.#deps.log.error({ worker: member.number, error }, 'a proxy worker could not apply a change');
      await member.worker.terminate();
    });
    await Promise.all(answers);
    // Each worker has answered or is dead: none is in the middle of a look-up that began before the change.
    state.keys.release(retiredKeys);
  }

  /**
   * Hands certificates to every worker; resolves when each of them uses them for new handshakes. A worker that cannot
   * is ended, as it would go on with those that were replaced for a reason.
   */
  async setCertificates(certificates: NonNullable<WorkerStart['certificates']>): Promise<void> {
    this.#certificates = certificates;
    const answers = [...this.#members.values()].map(async (member) => {
      const id = this.#nextId++;
      const message: ToWorker = { type: 'certificates', id, certificates };
      const answer = await this.#ask(member, message, id, this.#applyTimeoutMs(member));
      const error = answer?.type === 'applied' ? answer.error : 'it did not answer';
      if (error === undefined || !this.#members.has(member.number)) return;
      this.#deps.log.error(
        { worker: member.number, error },
        'a proxy worker could not take new certificates',
      );
      await member.worker.terminate();
    });
    await Promise.all(answers);
  }

  /** A worker that starts has the whole configuration to go through before the change. */
  #applyTimeoutMs({ listening }: Member): number {
    const { applyTimeoutMs = APPLY_TIMEOUT_MS, startTimeoutMs = START_TIMEOUT_MS } = this.#deps;
    return listening ? applyTimeoutMs : startTimeoutMs + applyTimeoutMs;
  }

  /** One sample from each worker that answers in time. */
  async samples(): Promise<WorkerSample[]> {
    const answers = [...this.#members.values()].map((member) => {
      const id = this.#nextId++;
      return this.#ask(member, { type: 'sample', id }, id, SAMPLE_TIMEOUT_MS);
    });
    const samples: WorkerSample[] = [];
    for (const answer of await Promise.all(answers))
      if (answer?.type === 'sample') samples.push(answer.sample);
    return samples;
  }

  /** Has one worker run a described request; undefined when it does not answer in time. */
  async explain(input: ExplainInput): Promise<Explanation | undefined> {
    const member = [...this.#members.values()].find(({ listening }) => listening);
    if (member === undefined) return undefined;
    const id = this.#nextId++;
    const answer = await this.#ask(member, { type: 'explain', id, input }, id, EXPLAIN_TIMEOUT_MS);
    if (answer?.type !== 'explained') return undefined;
    if (answer.error !== undefined) throw new Error(`A worker could not explain a request: ${answer.error}`);
    return answer.explanation;
  }

  /** Asks all workers for an exchange that one of them may have recorded. */
  async explainRecorded(requestId: string): Promise<Explanation | undefined> {
    const answers = [...this.#members.values()].map((member) => {
      const id = this.#nextId++;
      return this.#ask(member, { type: 'explain_recorded', id, requestId }, id, SAMPLE_TIMEOUT_MS);
    });
    for (const answer of await Promise.all(answers))
      if (answer?.type === 'explained' && answer.explanation !== undefined) return answer.explanation;
    return undefined;
  }

  /** Resolves when every worker goes by the setup for explain, or has died. */
  async publishExplainSetup(): Promise<void> {
    const setup = this.#deps.explainSetup();
    const answers = [...this.#members.values()].map((member) => {
      const id = this.#nextId++;
      return this.#ask(member, { type: 'explain_setup', id, setup }, id, this.#applyTimeoutMs(member));
    });
    await Promise.all(answers);
  }

  /** Lets every worker finish what it has begun, for at most `timeoutMs`, and ends it. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#watching);
    const members = [...this.#members.values()];
    const ends = members.map(
      (member) =>
        new Promise<void>((resolve) => {
          const timer = setTimeout(() => resolve(), timeoutMs);
          member.worker.once('exit', () => {
            clearTimeout(timer);
            resolve();
          });
        }),
    );
    for (const member of members) this.#post(member, { type: 'drain' });
    await Promise.all(ends);
    await Promise.all(members.map((member) => member.worker.terminate()));
  }

  /** Starts one worker and gives it the configuration; resolves with its port. */
  async #spawn(): Promise<number> {
    const { settings, clock, limitMemory, state, workerUrl } = this.#deps;
    const number = this.#nextNumber++;
    const heartbeat = createHeartbeatMemory();
    const port = this.#port;
    const keyMemory = state.keys.memory;
    const start: WorkerStart = {
      workerNumber: number,
      settings,
      port,
      limitMemory,
      keyMemory,
      heartbeat,
      certificates: this.#certificates,
    };
    const worker = new Worker(workerUrl, {
      workerData: start,
      name: `proxy-${number}`,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB_MAX },
    });
    const bornMs = clock.monotonicMs();
    const member: Member = {
      number,
      worker,
      heartbeat: new HeartbeatWatch(heartbeat, settings.workerStallTimeoutMs || Infinity, bornMs),
      listening: false,
      drained: false,
      applying: 0,
      ending: false,
      waiting: new Map(),
    };
    this.#members.set(number, member);
    let cause: Error | undefined;
    worker.on('error', (error: Error) => (cause = error));
    worker.on('exit', (code) => this.#onExit(member, code, cause, clock.monotonicMs() - bornMs));
    const listening = this.#untilListening(member, () => cause);
    const change = state.asWorkerChange();
    this.#post(member, {
      type: 'apply',
      id: 0,
      change,
      breakers: state.breakersOf(change),
      removedRevisionIds: [],
    });
    this.#post(member, { type: 'explain_setup', id: 0, setup: this.#deps.explainSetup() });
    return listening;
  }

  /** Resolves with the port. A worker that fails to listen is ended before this rejects: nobody else knows of it. */
  #untilListening(member: Member, cause: () => Error | undefined): Promise<number> {
    const { number, worker } = member;
    const { startTimeoutMs = START_TIMEOUT_MS } = this.#deps;
    return new Promise((resolve, reject) => {
      let reason = `Worker ${number} ended before it listened`;
      const giveUp = (why: string): void => {
        reason = why;
        void worker.terminate();
      };
      const timer = setTimeout(
        () => giveUp(`Worker ${number} did not listen within ${startTimeoutMs} ms`),
        startTimeoutMs,
      );
      worker.on('message', (message: FromWorker) => {
        if (message.type === 'listening') {
          clearTimeout(timer);
          resolve(message.port);
        } else if (message.type === 'listen_failed') giveUp(message.message);
        this.#onMessage(member, message);
      });
      worker.once('exit', () => {
        clearTimeout(timer);
        reject(cause() ?? new Error(reason));
      });
    });
  }

  #onMessage(member: Member, message: FromWorker): void {
    switch (message.type) {
      case 'listening':
        member.listening = true;
        return;
      case 'applied':
        return void member.waiting.get(message.id)?.(message);
      case 'sample':
      case 'explained':
        return void member.waiting.get(message.id)?.(message);
      case 'keys_used':
        return this.#deps.onKeysUsed(message.used);
      case 'would_deny':
        return this.#deps.onWouldDeny(message.rows);
      case 'health':
        return this.#deps.onHealth(message);
      case 'deprecated_used':
        return this.#deps.onDeprecatedUsed(message);
      case 'drained':
        member.drained = true;
        return;
      case 'listen_failed':
    }
  }

  /** A worker that is stuck holds its connections and its share of new ones: only its end frees them. */
  #endStalled(): void {
    const { clock, log, settings } = this.#deps;
    const nowMs = clock.monotonicMs();
    for (const member of this.#members.values()) {
      const excused = !member.listening || member.applying > 0;
      if (member.ending || !member.heartbeat.isStalled(nowMs, WATCH_MS, excused)) continue;
      member.ending = true;
      log.error(
        { worker: member.number, stall_timeout_ms: settings.workerStallTimeoutMs },
        'a proxy worker does not react any more and is ended',
      );
      void member.worker.terminate();
    }
  }

  #onExit(member: Member, code: number, cause: Error | undefined, ageMs: number): void {
    this.#members.delete(member.number);
    releaseThread(this.#deps.limitMemory, member.number);
    for (const answer of member.waiting.values()) answer(undefined);
    this.#deps.onWorkerLost(member.number);
    if (this.#stopping || member.drained || !member.listening) return;
    this.#deathsInARow = ageMs > STABLE_MS ? 1 : this.#deathsInARow + 1;
    this.#deps.log.error({ worker: member.number, code, err: cause }, 'a proxy worker died and is replaced');
    this.#replace();
  }

  #replace(): void {
    // The first death costs no delay at all; only a series of them slows down.
    const delayMs =
      this.#deathsInARow <= 1
        ? 0
        : Math.min(RESTART_DELAY_MS * 2 ** (this.#deathsInARow - 2), RESTART_DELAY_MS_MAX);
    setTimeout(() => {
      if (this.#stopping) return;
      this.#spawn().catch((error: unknown) => {
        if (this.#stopping) return;
        this.#deps.log.error({ err: error }, 'a replacement worker could not be started');
        this.#deathsInARow += 1;
        this.#replace();
      });
    }, delayMs);
  }

  #ask(member: Member, message: ToWorker, id: number, timeoutMs?: number): Promise<FromWorker | undefined> {
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const settle = (answer: FromWorker | undefined): void => {
        clearTimeout(timer);
        member.waiting.delete(id);
        resolve(answer);
      };
      if (timeoutMs !== undefined) timer = setTimeout(() => settle(undefined), timeoutMs);
      member.waiting.set(id, settle);
      this.#post(member, message);
    });
  }

  #post(member: Member, message: ToWorker): void {
    member.worker.postMessage(message);
  }
}
