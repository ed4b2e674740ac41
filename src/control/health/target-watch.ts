/**
 * The targets of revisions with several, on the main thread: once a second it compares the failures of each target
 * in the last ten seconds with those of its peers, ejects outliers, and logs every target that went out of service
 * or returned. Workers eject for failures in a row at once; all states are in shared memory
 * (proxy/targets/target-memory.ts).
 *
 * Owns the counts of the last seconds and the last health check of each target; both are removed with the target's
 * memory.
 */
import { shownPlace } from '../../config/backend.ts';
import { compileTargets } from '../../config/targets.ts';
import { timestamp, type Clock } from '../../lib/clock.ts';
import type { RevisionProbe, TargetHealth } from '../../management/schemas/revision-health.ts';
import type { Revision } from '../../model/resources.ts';
import type { Logger } from '../../observe/log.ts';
import { TargetGroup } from '../../proxy/targets/target-group.ts';
import { countsOf, type TargetCounts, type TargetsMemory } from '../../proxy/targets/target-memory.ts';
import { TargetState, type TargetPhase } from '../../proxy/targets/target-state.ts';
import type { TargetChange } from '../events/health-events.ts';
import type { ConfigState } from '../cluster/config-state.ts';

const TICK_MS = 1_000;
/** Ticks over which failures are compared. */
const WINDOW_TICKS = 10;
/** The main thread sends no requests; it has no column and writes to none. */
const NO_COLUMN = 0;

/** One target of a revision. */
export interface WatchedTarget {
  readonly state: TargetState;
  readonly block: SharedArrayBuffer;
  /** `host:port`. */
  readonly authority: string;
  /** Counts at the latest ticks, oldest first; at most one more than the window. */
  readonly counts: TargetCounts[];
  phase: TargetPhase;
}

export interface WatchedRevision {
  readonly revision: Revision;
  readonly memory: TargetsMemory;
  readonly group: TargetGroup;
  /** By index. */
  readonly targets: readonly WatchedTarget[];
}

export class TargetWatch {
  readonly #state: ConfigState;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #watched = new Map<string, WatchedRevision>();
  readonly #checks = new WeakMap<SharedArrayBuffer, RevisionProbe>();
  /** Revisions with a defect that was reported. */
  readonly #failed = new WeakSet<Revision>();
  #timer: NodeJS.Timeout | undefined;
  #hear: (change: TargetChange) => void = () => undefined;

  constructor(state: ConfigState, clock: Clock, log: Logger) {
    this.#state = state;
    this.#clock = clock;
    this.#log = log;
  }

  /** @param hear called for every target that goes out of service or returns */
  listen(hear: (change: TargetChange) => void): void {
    this.#hear = hear;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.tick(), TICK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /**
   * undefined for a revision with a single target, and as long as no worker has its memory.
   * @param written the revision as configured
   */
  find(written: Revision): WatchedRevision | undefined {
    const revision = this.#state.discovered.served(written);
    const memory = this.#state.targetMemory(revision.id);
    if (memory === undefined) return undefined;
    const known = this.#watched.get(revision.id);
    if (known?.revision === revision && known.memory === memory) return known;
    const watched = this.#watch(revision, memory, known);
    if (watched !== undefined) this.#watched.set(revision.id, watched);
    return watched;
  }

  /** All revisions with several targets. */
  *all(): IterableIterator<WatchedRevision> {
    for (const revision of this.#state.balancedRevisions()) {
      const watched = this.find(revision);
      if (watched !== undefined) yield watched;
    }
  }

  noteCheck({ block }: WatchedTarget, result: RevisionProbe): void {
    this.#checks.set(block, result);
  }

  healthOf(revision: Revision): TargetHealth[] | undefined {
    const watched = this.find(revision);
    if (watched === undefined) return undefined;
    const { group, targets, memory } = watched;
    const { ejection, slowStartMs } = group.compiled.balancing;
    const nowMs = this.#clock.nowMs();
    return targets.map(({ state, block }, index) => {
      const { backend, weight, zone } = group.targetOf(index);
      const phase = state.phase(ejection, slowStartMs, nowMs);
      const untilMs = state.ejectedUntilMs(ejection, nowMs);
      const { inFlight, started, failed } = countsOf(new Int32Array(block), memory.columns);
      return {
        host: backend.host,
        port: backend.port,
        weight,
        zone: zone ?? null,
        state: phase,
        share: phase === 'ejected' || phase === 'unhealthy' ? 0 : state.share(ejection, slowStartMs, nowMs),
        in_flight: inFlight,
        requests: started,
        failures: failed,
        consecutive_failures: state.failuresInRow,
        ejections: state.ejections,
        ejected_until: untilMs === undefined ? null : timestamp(untilMs),
        cause: state.ejections === 0 ? null : state.cause,
        last_probe: this.#checks.get(block) ?? null,
      };
    });
  }

  /** Numbers of targets by state, over all current revisions with several. */
  phaseCounts(): { readonly in_service: number; readonly ejected: number; readonly unhealthy: number } {
    const nowMs = this.#clock.nowMs();
    const counts = { in_service: 0, ejected: 0, unhealthy: 0 };
    for (const { revision, group, targets } of this.all()) {
      if (!revision.is_current) continue;
      const { ejection, slowStartMs } = group.compiled.balancing;
      for (const { state } of targets) {
        const phase = state.phase(ejection, slowStartMs, nowMs);
        counts[phase === 'warming' ? 'in_service' : phase] += 1;
      }
    }
    return counts;
  }

  /** Called once a second. */
  tick(): void {
    let count = 0;
    for (const revision of this.#state.balancedRevisions()) {
      try {
        if (this.#tickOf(revision)) count += 1;
      } catch (error) {
        // A defect in one revision must not stop the others.
        if (this.#failed.has(revision)) continue;
        this.#failed.add(revision);
        const named = { err: error, revision: revision.revision, revision_id: revision.id };
        this.#log.error(named, 'a defect: the targets of a revision cannot be compared');
      }
    }
    if (count === this.#watched.size) return;
    for (const id of this.#watched.keys())
      if (this.#state.targetMemory(id) === undefined) this.#watched.delete(id);
  }

  /** Returns false when it is not watched. */
  #tickOf(revision: Revision): boolean {
    const watched = this.find(revision);
    if (watched === undefined) return false;
    this.#compare(watched);
    for (const [index, target] of watched.targets.entries()) this.#logChange(watched, target, index);
    return true;
  }

  /** Ejects targets that fail much more often than the others. */
  #compare({ group, targets, memory }: WatchedRevision): void {
    const { ejection } = group.compiled.balancing;
    for (const { block, counts } of targets) {
      counts.push(countsOf(new Int32Array(block), memory.columns));
      if (counts.length > WINDOW_TICKS + 1) counts.shift();
    }
    const windows = targets.map(({ counts }) => windowOf(counts));
    // Discovery may have found no target yet.
    const all = { started: 0, failed: 0 };
    for (const { started, failed } of windows) {
      all.started += started;
      all.failed += failed;
    }
    windows.forEach((own, index) => {
      const peers = { started: all.started - own.started, failed: all.failed - own.failed };
      if (own.started < ejection.attemptsMin || peers.started < ejection.attemptsMin) return;
      if (shareOf(own) - shareOf(peers) < ejection.failureShare) return;
      // Its earlier failures do not count when it returns.
      if (group.eject(index, 'more_failures_than_its_peers')) targets[index]?.counts.splice(0);
    });
  }

  #logChange({ revision, group }: WatchedRevision, target: WatchedTarget, index: number): void {
    const { ejection, slowStartMs } = group.compiled.balancing;
    const nowMs = this.#clock.nowMs();
    const before = target.phase;
    const phase = target.state.phase(ejection, slowStartMs, nowMs);
    target.phase = phase;
    const isOut = phase === 'ejected' || phase === 'unhealthy';
    const wasOut = before === 'ejected' || before === 'unhealthy';
    if (phase === before || (!isOut && !wasOut)) return;
    const { zone } = group.targetOf(index);
    const named = {
      ...this.#state.logNamesOf(revision),
      target: target.authority,
      ...(zone !== undefined && { zone }),
    };
    const change = { revisionId: revision.id, target: target.authority };
    if (!isOut) {
      this.#hear({ ...change, reason: undefined });
      return this.#log.info(named, 'a target of a revision is back in service');
    }
    const reason = phase === 'unhealthy' ? 'it fails its health checks' : target.state.cause;
    if (!wasOut) this.#hear({ ...change, reason: reason.replaceAll('_', ' ') });
    if (phase === 'unhealthy') return this.#log.warn(named, 'a target of a revision fails its health checks');
    const untilMs = target.state.ejectedUntilMs(ejection, nowMs) ?? nowMs;
    const fields = { ...named, cause: target.state.cause, until: timestamp(untilMs) };
    this.#log.warn(fields, 'a target of a revision was ejected');
  }

  #watch(
    revision: Revision,
    memory: TargetsMemory,
    before: WatchedRevision | undefined,
  ): WatchedRevision | undefined {
    const compiled = compileTargets(revision);
    if (compiled === undefined) return undefined;
    const total = new Int32Array(memory.total);
    const targets: WatchedTarget[] = [];
    for (const { key, backend } of compiled.list) {
      const block = memory.blocks.get(key);
      // For a moment, the memory may belong to the earlier or the next form of the revision.
      if (block === undefined) return undefined;
      const known = before?.targets.find((target) => target.block === block);
      const state = known?.state ?? new TargetState(block, total, NO_COLUMN);
      const { counts = [], phase = 'in_service' } = known ?? {};
      targets.push({ state, block, authority: shownPlace(backend.host, backend.port), counts, phase });
    }
    const states = targets.map(({ state }) => state);
    const group = new TargetGroup(compiled, states, total, () => this.#clock.nowMs());
    return { revision, memory, group, targets };
  }
}

type Window = Pick<TargetCounts, 'started' | 'failed'>;

function windowOf(counts: readonly TargetCounts[]): Window {
  const [first] = counts;
  const last = counts.at(-1);
  if (first === undefined || last === undefined) return { started: 0, failed: 0 };
  return { started: last.started - first.started, failed: last.failed - first.failed };
}

function shareOf({ started, failed }: Window): number {
  return started === 0 ? 0 : failed / started;
}
