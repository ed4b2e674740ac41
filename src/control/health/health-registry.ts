/**
 * The health of the node's revisions beyond the state of their breakers: the last error, the last health check, and the
 * latest state changes, which are also logged here. On the main thread, which gets reports from the workers
 * (health-reporter.ts) and from the health checks. Bounded: a few texts per revision, which are removed with its
 * breaker; not kept over a restart.
 */
import { hasHealthCheck } from '../../config/backend.ts';
import { timestamp, type Clock } from '../../lib/clock.ts';
import type { Revision } from '../../model/resources.ts';
import type {
  RevisionHealth,
  RevisionLastError,
  RevisionProbe,
  RevisionTransition,
} from '../../management/schemas/revision-health.ts';
import type { Logger } from '../../observe/log.ts';
import { Breaker, createBreakerMemory, type BreakerMemory } from '../../proxy/resilience/breaker.ts';
import { compileBreaker } from '../../config/compile.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import type { TargetChange } from '../events/health-events.ts';
import { TargetWatch } from './target-watch.ts';
import type { FailureNote, HealthMessage, MoveNote } from './health-reporter.ts';

/** State changes kept per revision. */
export const HISTORY_MAX = 32;

interface Entry {
  lastErrorMs: number;
  lastError: RevisionLastError | null;
  lastProbe: RevisionProbe | null;
  /** Oldest first. */
  readonly history: { readonly atMs: number; readonly transition: RevisionTransition }[];
}

/** Receives the same events that are logged. */
export interface HealthListener {
  breakerMoved(note: MoveNote): void;
  targetChanged(change: TargetChange): void;
}

export class HealthRegistry {
  readonly #state: ConfigState;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Keyed by the breaker's memory, so that the entry of a replaced backend is removed with it. */
  readonly #entries = new WeakMap<BreakerMemory, Entry>();

  readonly targets: TargetWatch;
  #listener: HealthListener | undefined;

  constructor(state: ConfigState, clock: Clock, log: Logger) {
    this.#state = state;
    this.#clock = clock;
    this.#log = log;
    this.targets = new TargetWatch(state, clock, log);
  }

  /** Reports everything from now on to the listener. */
  listen(listener: HealthListener): void {
    this.#listener = listener;
    this.targets.listen((change) => listener.targetChanged(change));
  }

  /** Stores the reports of a worker. */
  report({ failures, moves }: HealthMessage): void {
    for (const failure of failures) this.#noteFailure(failure);
    for (const move of moves) this.noteMove(move);
  }

  noteMove(note: MoveNote): void {
    const { move, detail, requestId } = note;
    const entry = this.#entryOf(note.revisionId, note.breakerNumber);
    if (entry === undefined) return;
    const { from, to, event, atMs } = move;
    const at = timestamp(atMs);
    entry.history.push({ atMs, transition: { at, from, to, event, detail, request_id: requestId } });
    // Messages of two workers may arrive out of order.
    entry.history.sort((a, b) => a.atMs - b.atMs);
    if (entry.history.length > HISTORY_MAX) entry.history.shift();
    this.#logMove(note);
    this.#listener?.breakerMoved(note);
  }

  noteProbe(memory: BreakerMemory, probe: RevisionProbe): void {
    this.#entry(memory).lastProbe = probe;
  }

  healthOf(revision: Revision): RevisionHealth {
    const memory = this.#state.breakerOf(revision.id);
    const breaker = new Breaker(memory ?? createBreakerMemory());
    const { state, sinceMs, failures } = breaker.status;
    const entry = memory && this.#entries.get(memory);
    const hasProbe = hasHealthCheck(revision);
    const targets = this.targets.healthOf(revision);
    const always = revision.circuit_breaker?.probe?.interval_ms !== undefined;
    return {
      revision_id: revision.id,
      state,
      since: sinceMs === 0 ? null : timestamp(sinceMs),
      consecutive_failures: failures,
      openings: breaker.openings,
      traffic_share: breaker.share(compileBreaker(revision), hasProbe, this.#clock.nowMs()),
      probing: !hasProbe || !revision.is_current ? 'off' : always ? 'always' : 'while_open',
      last_error: entry?.lastError ?? null,
      last_probe: entry?.lastProbe ?? null,
      history: entry?.history.map(({ transition }) => transition).reverse() ?? [],
      ...(targets !== undefined && { targets }),
    };
  }

  #noteFailure({ revisionId, breakerNumber, atMs, kind, detail, requestId }: FailureNote): void {
    const entry = this.#entryOf(revisionId, breakerNumber);
    if (entry === undefined || atMs < entry.lastErrorMs) return;
    entry.lastErrorMs = atMs;
    entry.lastError = { at: timestamp(atMs), kind, detail, request_id: requestId };
  }

  /** undefined if the revision is deleted, or the report is about another backend. */
  #entryOf(revisionId: string, breakerNumber: number): Entry | undefined {
    const memory = this.#state.breakerOf(revisionId);
    if (memory === undefined || new Breaker(memory).number !== breakerNumber) return undefined;
    return this.#entry(memory);
  }

  #entry(memory: BreakerMemory): Entry {
    let entry = this.#entries.get(memory);
    if (entry === undefined) {
      entry = { lastErrorMs: 0, lastError: null, lastProbe: null, history: [] };
      this.#entries.set(memory, entry);
    }
    return entry;
  }

  #logMove({ revisionId, revision, backend, move, detail, requestId }: MoveNote): void {
    const { from, to, event } = move;
    const fields = {
      ...(requestId === null ? {} : { request_id: requestId }),
      ...this.#state.logNamesOf({ id: revisionId, revision }),
      backend,
      from,
      to,
      event,
      detail,
    };
    if (to === 'open') this.#log.warn(fields, 'the circuit breaker of a revision opened');
    else if (to === 'closed') this.#log.info(fields, 'the circuit breaker of a revision closed');
    else this.#log.info(fields, 'the circuit breaker of a revision lets a trial request through');
  }
}
