/**
 * The health checks of the node: one prober on the main thread for all workers. It probes a revision with a health
 * check that may receive traffic every second while its breaker is not closed, and always with
 * `circuit_breaker.probe.interval_ms`, at that interval. The number of equal results in a row that the thresholds
 * require opens or closes the breaker, whose state is in memory shared with the workers.
 *
 * If a revision has several targets, each target is checked separately, and is out of service while it is unhealthy.
 * Without `interval_ms`, a target is checked only while it is out of service. The breaker opens when all targets are
 * unhealthy, and closes when one is healthy.
 *
 * Owns the time of each revision's next check and the counts of results in a row. Checks of one revision never overlap,
 * are spread over their interval (jitter), and are bounded in number; due checks beyond the bound wait (probe-line.ts).
 */
import { randomFraction } from '../../lib/ids.ts';
import { timestamp, type Clock } from '../../lib/clock.ts';
import type { Revision } from '../../model/resources.ts';
import { Breaker, type BreakerMemory } from '../../proxy/resilience/breaker.ts';
import type { UpstreamPool } from '../../proxy/upstream/pool/pool.ts';
import { compileBackend } from '../../config/backend.ts';
import { compileBreaker } from '../../config/compile.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import type { CompiledBackend } from '../../config/types.ts';
import type { WatchedRevision, WatchedTarget } from './target-watch.ts';
import type { HealthRegistry } from './health-registry.ts';
import { ProbeLine } from './probe-line.ts';
import { probe, PROBE_DEFAULTS, type ProbeResult } from './probe.ts';

const TICK_MS = 100;
/** Interval while the breaker is not closed, if none is configured. */
const OPEN_INTERVAL_MS = 1_000;
/** Jitter: intervals vary by up to this fraction, so that checks that began together spread out. */
const JITTER = 0.1;

/** State of the checks of one revision or one of its targets; removed with its breaker, and so with its backend. */
interface Check {
  readonly memory: BreakerMemory;
  readonly breaker: Breaker;
  /** Its key among the checks. */
  readonly name: string;
  revision: Revision;
  backend: CompiledBackend;
  /** undefined when the revision has a single target. */
  place: CheckedTarget | undefined;
  /** Monotonic; Infinity while no check is due. */
  nextMs: number;
  phase: 'resting' | 'waiting' | 'running';
  /** Equal results in a row: successes are positive, failures negative. */
  inARow: number;
}

interface CheckedTarget {
  readonly watched: WatchedRevision;
  readonly target: WatchedTarget;
}

export interface HealthProbeDeps {
  readonly state: ConfigState;
  readonly clock: Clock;
  readonly registry: HealthRegistry;
  /** Opens the connections; they are not pooled. */
  readonly pool: UpstreamPool;
}

export class HealthProbe {
  readonly #deps: HealthProbeDeps;
  readonly #checks = new Map<string, Check>();
  readonly #line = new ProbeLine<Check>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: HealthProbeDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#checks.clear();
    this.#line.clear();
  }

  #tick(): void {
    const { state, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    let known = 0;
    for (const revision of state.probedRevisions()) {
      for (const check of this.#checksOf(revision)) {
        known += 1;
        this.#schedule(check, nowMs);
      }
    }
    if (known < this.#checks.size) this.#forget();
    this.#startNext();
  }

  #checksOf(revision: Revision): Check[] {
    const memory = this.#deps.state.breakerOf(revision.id);
    if (memory === undefined) return [];
    const watched = this.#deps.registry.targets.find(revision);
    if (watched === undefined) return [this.#checkOf(revision.id, revision, memory, undefined)];
    return watched.targets.map((target) =>
      this.#checkOf(`${revision.id} ${target.authority}`, revision, memory, { watched, target }),
    );
  }

  #checkOf(name: string, revision: Revision, memory: BreakerMemory, place: CheckedTarget | undefined): Check {
    const known = this.#checks.get(name);
    if (known?.memory === memory && known.place?.target.block === place?.target.block) {
      if (known.revision !== revision) known.backend = backendOf(revision, place);
      known.revision = revision;
      known.place = place;
      return known;
    }
    const check: Check = {
      memory,
      breaker: known?.memory === memory ? known.breaker : new Breaker(memory),
      name,
      revision,
      backend: backendOf(revision, place),
      place,
      nextMs: Infinity,
      phase: 'resting',
      inARow: 0,
    };
    this.#checks.set(name, check);
    return check;
  }

  #schedule(target: Check, nowMs: number): void {
    if (target.phase !== 'resting') return;
    const intervalMs = intervalOf(target);
    if (intervalMs === undefined) target.nextMs = Infinity;
    // A random time within the first interval; also when the interval became shorter.
    else if (target.nextMs > nowMs + intervalMs * (1 + JITTER))
      target.nextMs = nowMs + intervalMs * randomFraction();
    if (target.nextMs > nowMs) return;
    target.phase = 'waiting';
    this.#line.add(this.#appOf(target), target);
  }

  /** Removes revisions that are deleted, no longer current, or without a health check, and targets that are gone. */
  #forget(): void {
    const current = new Set<Check>();
    for (const revision of this.#deps.state.probedRevisions())
      for (const check of this.#checksOf(revision)) current.add(check);
    for (const [name, check] of this.#checks) if (!current.has(check)) this.#checks.delete(name);
  }

  #startNext(): void {
    for (let next = this.#line.next(); next !== undefined; next = this.#line.next()) {
      const { one, end } = next;
      if (this.#checks.get(one.name) === one) void this.#run(one, end);
      else end();
    }
  }

  #appOf({ revision }: Check): string {
    return this.#deps.state.versionTree(revision.version_id)?.version.app_id ?? '';
  }

  /** @param leave called when its place is free again */
  async #run(target: Check, leave: () => void): Promise<void> {
    const { clock, pool, registry } = this.#deps;
    const { revision, memory, breaker } = target;
    const before = breaker.status;
    target.phase = 'running';
    const rules = { ...PROBE_DEFAULTS, ...revision.circuit_breaker?.probe };
    const path = revision.health_check_path ?? '/';
    const result = await probe(target.backend, path, rules, pool, clock);
    leave();
    const intervalMs = intervalOf(target) ?? OPEN_INTERVAL_MS;
    target.phase = 'resting';
    target.nextMs = clock.monotonicMs() + intervalMs * (1 - JITTER + 2 * JITTER * randomFraction());
    if (this.#checks.get(target.name) === target) {
      const noted = {
        at: timestamp(clock.nowMs()),
        ok: result.ok,
        status: result.status ?? null,
        duration_ms: Math.round(result.durationMs),
        error: result.error ?? null,
      };
      registry.noteProbe(memory, noted);
      if (target.place !== undefined) registry.targets.noteCheck(target.place.target, noted);
      const { state, sinceMs } = breaker.status;
      // A check that began before the breaker changed state says nothing about the time since.
      const isSame = state === before.state && sinceMs === before.sinceMs;
      if (isSame && !result.isUntried) this.#count(target, result);
      else target.inARow = 0;
    }
    this.#startNext();
  }

  #count(check: Check, result: ProbeResult): void {
    const { ok } = result;
    const { healthy_threshold, unhealthy_threshold } = {
      ...PROBE_DEFAULTS,
      ...check.revision.circuit_breaker?.probe,
    };
    check.inARow = ok ? Math.max(0, check.inARow) + 1 : Math.min(0, check.inARow) - 1;
    const { place } = check;
    const isClosed = check.breaker.status.state === 'closed';
    const isWell = place === undefined ? isClosed : isClosed && !place.target.state.isUnhealthy;
    if (isWell ? -check.inARow < unhealthy_threshold : check.inARow < healthy_threshold) return;
    if (place === undefined) this.#move(check, result);
    else this.#moveTarget(check, place, result);
    check.inARow = 0;
  }

  /** Applies a result to the breaker above the targets: it opens with the last healthy target. */
  #moveTarget(check: Check, { watched, target }: CheckedTarget, result: ProbeResult): void {
    const { group, targets } = watched;
    target.state.setHealthy(result.ok, group.compiled.balancing.slowStartMs, this.#deps.clock.nowMs());
    const isUsable = targets.some(({ state }, index) => group.weight(index) > 0 && !state.isUnhealthy);
    if (result.ok || !isUsable) this.#move(check, result);
  }

  #move({ revision, breaker, backend }: Check, { ok, error, answer }: ProbeResult): void {
    const { clock, registry } = this.#deps;
    const move = breaker.onProbe(ok, compileBreaker(revision), clock.nowMs());
    if (move === undefined) return;
    registry.noteMove({
      revisionId: revision.id,
      breakerNumber: breaker.number,
      revision: revision.revision,
      backend: backend.authority,
      move,
      detail: ok ? `the health check was answered with ${answer}` : `the health check failed: ${error}`,
      requestId: null,
    });
  }
}

function backendOf(revision: Revision, place: CheckedTarget | undefined): CompiledBackend {
  if (place === undefined) return compileBackend(revision);
  const { watched, target } = place;
  return watched.group.targetOf(watched.targets.indexOf(target)).backend;
}

/** Milliseconds between checks at present; undefined when there are none. */
function intervalOf({ revision, breaker, place }: Check): number | undefined {
  const intervalMs = revision.circuit_breaker?.probe?.interval_ms;
  if (intervalMs !== undefined) return intervalMs;
  if (!breaker.isPristine && breaker.status.state !== 'closed') return OPEN_INTERVAL_MS;
  return place === undefined || place.target.state.isInService ? undefined : OPEN_INTERVAL_MS;
}
