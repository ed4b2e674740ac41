/**
 * The health checks of the node (design section 2 "Breaker"): one prober on the main thread for all workers. It probes
 * a revision with a `health_check_path` that may receive traffic every second while its breaker is not closed, and
 * always with `circuit_breaker.probe.interval_ms`, at that interval. The number of equal results in a row that the
 * thresholds require opens or closes the breaker, whose state is in memory shared with the workers.
 *
 * Owns the time of each revision's next check and the counts of results in a row. Checks of one revision never overlap,
 * are spread over their interval (jitter), and are bounded in number; due checks beyond the bound wait.
 */
import { randomFraction } from '../../lib/ids.ts';
import { timestamp, type Clock } from '../../lib/clock.ts';
import type { Revision } from '../../model/resources.ts';
import { Breaker } from '../../proxy/resilience/breaker.ts';
import type { UpstreamPool } from '../../proxy/upstream/pool.ts';
import { compileBackend } from '../../config/backend.ts';
import { compileBreaker } from '../../config/compile.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import type { HealthRegistry } from './health-registry.ts';
import { probe, PROBE_DEFAULTS, type ProbeResult } from './probe.ts';

const TICK_MS = 100;
/** Interval while the breaker is not closed, if none is configured. */
const OPEN_INTERVAL_MS = 1_000;
/** Checks under way at once, over all revisions. */
export const PROBES_MAX = 256;
/** Jitter: intervals vary by up to this fraction, so that checks that began together spread out. */
const JITTER = 0.1;

/** State of one revision's checks; removed with its breaker, and so with its backend. */
interface Target {
  readonly memory: SharedArrayBuffer;
  readonly breaker: Breaker;
  revision: Revision;
  /** Monotonic; Infinity while no check is due. */
  nextMs: number;
  phase: 'resting' | 'waiting' | 'running';
  /** Equal results in a row: successes are positive, failures negative. */
  inARow: number;
}

export interface HealthProbeDeps {
  readonly state: ConfigState;
  readonly clock: Clock;
  readonly book: HealthRegistry;
  /** Opens the connections; they are not pooled. */
  readonly pool: UpstreamPool;
}

export class HealthProbe {
  readonly #deps: HealthProbeDeps;
  readonly #targets = new Map<string, Target>();
  readonly #line: Target[] = [];
  #running = 0;
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
    this.#targets.clear();
    this.#line.length = 0;
  }

  #tick(): void {
    const { state, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    let known = 0;
    for (const revision of state.probedRevisions()) {
      const target = this.#targetOf(revision);
      if (target === undefined) continue;
      known += 1;
      this.#schedule(target, nowMs);
    }
    if (known < this.#targets.size) this.#forget();
    this.#startNext();
  }

  #targetOf(revision: Revision): Target | undefined {
    const memory = this.#deps.state.breakerOf(revision.id);
    if (memory === undefined) return undefined;
    const known = this.#targets.get(revision.id);
    if (known?.memory === memory) {
      known.revision = revision;
      return known;
    }
    const target: Target = {
      memory,
      breaker: new Breaker(memory),
      revision,
      nextMs: Infinity,
      phase: 'resting',
      inARow: 0,
    };
    this.#targets.set(revision.id, target);
    return target;
  }

  #schedule(target: Target, nowMs: number): void {
    if (target.phase !== 'resting') return;
    const intervalMs = intervalOf(target);
    if (intervalMs === undefined) target.nextMs = Infinity;
    // A random time within the first interval; also when the interval became shorter.
    else if (target.nextMs > nowMs + intervalMs * (1 + JITTER))
      target.nextMs = nowMs + intervalMs * randomFraction();
    if (target.nextMs > nowMs) return;
    target.phase = 'waiting';
    this.#line.push(target);
  }

  /** Removes revisions that are deleted, no longer current, or without a health check. */
  #forget(): void {
    const current = new Set<string>();
    for (const { id } of this.#deps.state.probedRevisions()) current.add(id);
    for (const id of this.#targets.keys()) if (!current.has(id)) this.#targets.delete(id);
  }

  #startNext(): void {
    while (this.#running < PROBES_MAX) {
      const target = this.#line.shift();
      if (target === undefined) return;
      if (this.#targets.get(target.revision.id) === target) void this.#run(target);
    }
  }

  async #run(target: Target): Promise<void> {
    const { clock, pool, book } = this.#deps;
    const { revision, memory, breaker } = target;
    const before = breaker.status;
    target.phase = 'running';
    this.#running += 1;
    const rules = { ...PROBE_DEFAULTS, ...revision.circuit_breaker?.probe };
    const path = revision.health_check_path ?? '/';
    const result = await probe(compileBackend(revision), path, rules, pool, clock);
    this.#running -= 1;
    const intervalMs = intervalOf(target) ?? OPEN_INTERVAL_MS;
    target.phase = 'resting';
    target.nextMs = clock.monotonicMs() + intervalMs * (1 - JITTER + 2 * JITTER * randomFraction());
    if (this.#targets.get(revision.id) === target) {
      const at = timestamp(clock.nowMs());
      book.noteProbe(memory, {
        at,
        ok: result.ok,
        status: result.status ?? null,
        duration_ms: Math.round(result.durationMs),
        error: result.error ?? null,
      });
      const { state, sinceMs } = breaker.status;
      // A check that began before the breaker changed state says nothing about the time since.
      const isSame = state === before.state && sinceMs === before.sinceMs;
      if (isSame && !result.isDenied) this.#count(target, result);
      else target.inARow = 0;
    }
    this.#startNext();
  }

  #count(target: Target, result: ProbeResult): void {
    const { ok } = result;
    const { healthy_threshold, unhealthy_threshold } = {
      ...PROBE_DEFAULTS,
      ...target.revision.circuit_breaker?.probe,
    };
    target.inARow = ok ? Math.max(0, target.inARow) + 1 : Math.min(0, target.inARow) - 1;
    const isClosed = target.breaker.status.state === 'closed';
    if (isClosed ? -target.inARow < unhealthy_threshold : target.inARow < healthy_threshold) return;
    this.#move(target, result);
    target.inARow = 0;
  }

  #move({ revision, breaker }: Target, { ok, error, status }: ProbeResult): void {
    const { clock, book } = this.#deps;
    const move = breaker.onProbe(ok, compileBreaker(revision), clock.nowMs());
    if (move === undefined) return;
    book.noteMove({
      revisionId: revision.id,
      breakerNumber: breaker.number,
      revision: revision.revision,
      backend: compileBackend(revision).authority,
      move,
      detail: ok ? `the health check was answered with ${status}` : `the health check failed: ${error}`,
      requestId: null,
    });
  }
}

/** Milliseconds between checks now; undefined for no checks. */
function intervalOf({ revision, breaker }: Target): number | undefined {
  const intervalMs = revision.circuit_breaker?.probe?.interval_ms;
  if (intervalMs !== undefined) return intervalMs;
  return breaker.isPristine || breaker.status.state === 'closed' ? undefined : OPEN_INTERVAL_MS;
}
