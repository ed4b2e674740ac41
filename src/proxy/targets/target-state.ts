/**
 * One thread's handle on the shared words of a target (target-memory.ts): whether it is in service and with which share
 * of its weight, the requests under way, and its ejection.
 *
 *   in service ─ failures in a row, or more failures than its peers ─▶ ejected ─ time ─▶ warming ─▶ in service
 *   in service ─ health checks ─▶ unhealthy ─ health checks ─▶ warming
 *
 * Any thread may eject a target and any may return it; each step is one atomic operation that exactly one thread wins.
 * Only the main thread marks a target unhealthy. A target in service costs a reader one word.
 */
import type { EjectionRules } from '../../config/types.ts';
import {
  CAUSE,
  centiseconds,
  changesAt,
  EJECTED,
  EJECTED_UNTIL,
  EJECTIONS,
  EJECTIONS_IN_ROW,
  failedAt,
  FAILURES_IN_ROW,
  FLAGS,
  inFlightAt,
  inFlightOf,
  startedAt,
  SUSPECT,
  UNHEALTHY,
  WARM_SINCE,
  WARMING,
} from './target-memory.ts';

const EJECTION_CAUSES = ['none', 'failures_in_a_row', 'more_failures_than_its_peers'] as const;
export type EjectionCause = (typeof EJECTION_CAUSES)[number];

/** The share of its weight with which a target returns; it grows to 1 during the slow start. */
const WARMING_SHARE_MIN = 0.1;
/** The share of its weight for a failing target that must stay in service. */
const SUSPECT_SHARE = 0.05;

export type TargetPhase = 'in_service' | 'warming' | 'ejected' | 'unhealthy';

export class TargetState {
  readonly #words: Int32Array;
  readonly #total: Int32Array;
  readonly #columns: number;
  readonly #inFlight: number;
  readonly #column: number;

  /** @param column of this thread */
  constructor(block: SharedArrayBuffer, total: Int32Array, column: number) {
    this.#words = new Int32Array(block);
    this.#total = total;
    this.#columns = changesAt(total);
    this.#column = column;
    this.#inFlight = inFlightAt(column);
  }

  /** Requests under way, over all threads. */
  get inFlight(): number {
    return inFlightOf(this.#words, this.#columns);
  }

  get failuresInRow(): number {
    return this.#words[FAILURES_IN_ROW] as number;
  }

  get ejections(): number {
    return this.#words[EJECTIONS] as number;
  }

  get cause(): EjectionCause {
    return EJECTION_CAUSES[this.#words[CAUSE] as number] ?? 'none';
  }

  /** An attempt begins; `ended` must follow once, from the same thread. */
  begun(): void {
    const words = this.#words;
    const started = startedAt(this.#columns, this.#column);
    words[this.#inFlight] = (words[this.#inFlight] as number) + 1;
    words[started] = ((words[started] as number) + 1) | 0;
    this.#total[this.#column] = (this.#total[this.#column] as number) + 1;
  }

  ended(): void {
    const words = this.#words;
    words[this.#inFlight] = (words[this.#inFlight] as number) - 1;
    this.#total[this.#column] = (this.#total[this.#column] as number) - 1;
  }

  /** The target has responded successfully. */
  succeeded(): void {
    const words = this.#words;
    if (words[FAILURES_IN_ROW] === 0 && ((words[FLAGS] as number) & SUSPECT) === 0) return;
    Atomics.store(words, FAILURES_IN_ROW, 0);
    if ((Atomics.and(words, FLAGS, ~SUSPECT) & SUSPECT) !== 0) this.#changed();
  }

  /** Counts a failed attempt. @returns the failures in a row */
  failed(): number {
    const at = failedAt(this.#columns, this.#column);
    this.#words[at] = ((this.#words[at] as number) + 1) | 0;
    return Atomics.add(this.#words, FAILURES_IN_ROW, 1) + 1;
  }

  get isFullyInService(): boolean {
    return this.#words[FLAGS] === 0;
  }

  /**
   * 0: no requests; 1: its whole weight; between them while it warms up. Also returns the target to service when
   * its ejection has ended.
   */
  share(rules: EjectionRules, slowStartMs: number, nowMs: number): number {
    const words = this.#words;
    let flags = words[FLAGS] as number;
    if (flags === 0) return 1;
    if ((flags & EJECTED) !== 0) {
      if (this.#isEjected(rules, nowMs)) return 0;
      this.#returnToService(rules, slowStartMs, nowMs);
      flags = words[FLAGS] as number;
    }
    if ((flags & (UNHEALTHY | EJECTED)) !== 0) return 0;
    const share = (flags & WARMING) === 0 ? 1 : this.#warmShare(slowStartMs, nowMs);
    return (flags & SUSPECT) === 0 ? share : Math.min(share, SUSPECT_SHARE);
  }

  /** The state that `share` would find; changes nothing. */
  phase(rules: EjectionRules, slowStartMs: number, nowMs: number): TargetPhase {
    const flags = this.#words[FLAGS] as number;
    if ((flags & UNHEALTHY) !== 0) return 'unhealthy';
    if ((flags & EJECTED) !== 0) {
      if (this.#isEjected(rules, nowMs)) return 'ejected';
      return slowStartMs > 0 ? 'warming' : 'in_service';
    }
    const isWarm = (flags & WARMING) === 0 || this.#warmedMs(nowMs) >= slowStartMs;
    return isWarm ? 'in_service' : 'warming';
  }

  /** Unix milliseconds at which it returns; undefined unless it is ejected. */
  ejectedUntilMs(rules: EjectionRules, nowMs: number): number | undefined {
    if ((this.#words[FLAGS]! & EJECTED) === 0 || !this.#isEjected(rules, nowMs)) return undefined;
    return Math.floor(nowMs / 10) * 10 + this.#remainingMs(nowMs);
  }

  /** Like `share`, for a target that needs no change. */
  isEjected(rules: EjectionRules, nowMs: number): boolean {
    return (this.#words[FLAGS]! & EJECTED) !== 0 && this.#isEjected(rules, nowMs);
  }

  /**
   * Ejects it for a time that doubles with each ejection.
   * @returns false if it is ejected already, or another thread did it
   */
  eject(cause: EjectionCause, rules: EjectionRules, nowMs: number): boolean {
    const words = this.#words;
    const before = Atomics.load(words, EJECTED_UNTIL);
    if ((Atomics.load(words, FLAGS) & EJECTED) !== 0) return false;
    const now = centiseconds(nowMs);
    // It was in service for longer than any ejection: the count starts again.
    const served = (now - before) | 0;
    const isNew = before === 0 || served < 0 || served * 10 > rules.maxMs;
    const row = isNew ? 0 : Atomics.load(words, EJECTIONS_IN_ROW);
    const lastsMs = Math.min(rules.maxMs, rules.baseMs * 2 ** Math.min(row, 20));
    // 0 is reserved for "never ejected".
    const until = (now + Math.ceil(lastsMs / 10)) | 0 || 1;
    if (Atomics.compareExchange(words, EJECTED_UNTIL, before, until) !== before) return false;
    Atomics.store(words, EJECTIONS_IN_ROW, row + 1);
    Atomics.store(words, CAUSE, EJECTION_CAUSES.indexOf(cause));
    Atomics.add(words, EJECTIONS, 1);
    Atomics.and(words, FLAGS, ~SUSPECT);
    Atomics.or(words, FLAGS, EJECTED);
    this.#changed();
    return true;
  }

  /**
   * The target fails and must stay in service, because too many others are out: it gets little traffic until it
   * succeeds.
   */
  suspect(): void {
    if ((Atomics.or(this.#words, FLAGS, SUSPECT) & SUSPECT) === 0) this.#changed();
  }

  /** Takes back an ejection that exceeds the bound because another thread ejected a target at the same time. */
  undoEjection(): void {
    if ((Atomics.and(this.#words, FLAGS, ~EJECTED) & EJECTED) === 0) return;
    Atomics.sub(this.#words, EJECTIONS, 1);
    Atomics.sub(this.#words, EJECTIONS_IN_ROW, 1);
    this.#changed();
  }

  /** Sets the result of the health checks. @returns whether it has changed */
  setHealthy(isHealthy: boolean, slowStartMs: number, nowMs: number): boolean {
    if (!isHealthy) {
      const before = Atomics.or(this.#words, FLAGS, UNHEALTHY);
      this.#changed();
      return (before & UNHEALTHY) === 0;
    }
    if (((this.#words[FLAGS] as number) & UNHEALTHY) === 0) return false;
    this.warm(slowStartMs, nowMs);
    Atomics.store(this.#words, FAILURES_IN_ROW, 0);
    Atomics.and(this.#words, FLAGS, ~(UNHEALTHY | SUSPECT));
    this.#changed();
    return true;
  }

  /** Whether it is neither ejected nor unhealthy. Until a worker checks, it stays ejected after its time. */
  get isInService(): boolean {
    return ((this.#words[FLAGS] as number) & (UNHEALTHY | EJECTED)) === 0;
  }

  /** Whether it is in service and does not fail. */
  get isReliable(): boolean {
    return ((this.#words[FLAGS] as number) & (UNHEALTHY | EJECTED | SUSPECT)) === 0;
  }

  get isUnhealthy(): boolean {
    return ((this.#words[FLAGS] as number) & UNHEALTHY) !== 0;
  }

  /** Its share grows from now on. */
  warm(slowStartMs: number, nowMs: number): void {
    if (slowStartMs === 0) return;
    Atomics.store(this.#words, WARM_SINCE, centiseconds(nowMs));
    Atomics.or(this.#words, FLAGS, WARMING);
    this.#changed();
  }

  /** An independent state with the same words. */
  copy(): TargetState {
    const copy = new SharedArrayBuffer(this.#words.byteLength);
    new Int32Array(copy).set(this.#words);
    return new TargetState(copy, this.#total.slice(), this.#column);
  }

  #remainingMs(nowMs: number): number {
    return ((Atomics.load(this.#words, EJECTED_UNTIL) - centiseconds(nowMs)) | 0) * 10;
  }

  /**
   * A remaining time longer than any ejection means that the clock was set back, which must not keep a target
   * out.
   */
  #isEjected({ maxMs }: EjectionRules, nowMs: number): boolean {
    const remainingMs = this.#remainingMs(nowMs);
    return remainingMs > 0 && remainingMs <= maxMs + 1_000;
  }

  #returnToService({ failuresInRow }: EjectionRules, slowStartMs: number, nowMs: number): void {
    const words = this.#words;
    // Before others see it in service: the first failure ejects it again, and its share begins small.
    Atomics.store(words, FAILURES_IN_ROW, Math.max(0, failuresInRow - 1));
    this.warm(slowStartMs, nowMs);
    Atomics.and(words, FLAGS, ~EJECTED);
    this.#changed();
  }

  /** After the change, so that a reader who sees the count also sees the change. */
  #changed(): void {
    Atomics.add(this.#total, changesAt(this.#total), 1);
  }

  #warmedMs(nowMs: number): number {
    const elapsedMs = ((centiseconds(nowMs) - Atomics.load(this.#words, WARM_SINCE)) | 0) * 10;
    // The clock was set back.
    return elapsedMs < -1_000 ? Infinity : Math.max(0, elapsedMs);
  }

  #warmShare(slowStartMs: number, nowMs: number): number {
    const elapsedMs = this.#warmedMs(nowMs);
    if (elapsedMs < slowStartMs) return Math.max(WARMING_SHARE_MIN, elapsedMs / slowStartMs);
    Atomics.and(this.#words, FLAGS, ~WARMING);
    this.#changed();
    return 1;
  }
}
