/**
 * One counter as one thread knows it: the permits at hand, the last answer of the shared store, and the report for the
 * next call. Times are monotonic milliseconds of this process and start before a request is sent. They have therefore
 * been running before the store starts to count, so a clock error never extends the life of a permit.
 */
import { leaseMsOf, nextRate } from './lease-size.ts';
import type { GrantReply } from './limit-server.ts';
import { NOTHING_OWED, Owed, type OwedReport } from './owed.ts';
import { RecentCount } from './recent-count.ts';
import { type LimitDecision, limitOf, type LimitRule, refusal } from '../store.ts';

/** A request that waits for a permit. */
export interface Waiter {
  readonly rule: LimitRule;
  readonly subject: string;
  readonly nowMs: number;
  /** The permit stays at hand for a following `take`. */
  readonly keeps: boolean;
  readonly resolve: (decision: LimitDecision) => void;
}

/** What a call reports to the store, and what is restored when the call fails. */
export interface Report extends OwedReport {
  readonly unused: number;
  /** As in GrantRequest. */
  readonly window: number;
}

export interface AnsweredCall {
  readonly rule: LimitRule;
  readonly sentMs: number;
  readonly report: Report;
  /** Permits of the reply that pay the debt. The node's own counter has already counted them. */
  readonly paid: number;
}

/** Subtracted from the time that a reply grants, since the store counts whole milliseconds. */
const ROUNDING_MS = 1;
/** How long a refusal applies at most, since other nodes may return permits. */
const REFUSAL_MS_MAX = 125;

export class Lease {
  readonly key: string;
  readonly leaseMs: number;
  /** Requests that wait and are not part of a call yet. */
  waiters: Waiter[] = [];
  inFlight = false;
  /** Until then the store is not called for this counter, since it did not answer. */
  failedUntilMs = -Infinity;
  /**
   * Until then the counter uses the node's share: the store did not answer, or other threads may still have to report
   * debts.
   */
  outUntilMs = -Infinity;
  /** With this number of permits or fewer, half of the portion is used, and more permits are fetched. */
  lowWater = 0;

  #hand = 0;
  #handUntilMs = 0;
  #handWindow = 0;
  /** Permits of a later grant that outlive those at hand. */
  #next = 0;
  #nextUntilMs = 0;
  #nextWindow = 0;
  #left = 0;
  #resetAtMs = 0;
  /** From this time on no earlier grant counts. */
  #overAtMs = 0;
  #refusedUntilMs = -Infinity;
  #freeAtMs = 0;
  /** The limit under which the permits at hand were granted. */
  #requests = -1;
  #window = -1;
  /** Requests admitted without the store that are not reported yet; created on demand. */
  #owed: Owed | undefined;
  /** The fixed window of the last of these requests, or the one after it, in the numbering of the store. */
  #owedWindow = -1;
  #unused = 0;
  #unusedWindow = 0;
  #asked = 0;
  #ratePerMs = 0;
  #ratedAtMs: number;
  /** Granted permits that the node's own counter has not counted yet. */
  readonly #unmirrored: RecentCount;

  constructor(key: string, rule: LimitRule, monotonicMs: number) {
    this.key = key;
    this.leaseMs = leaseMsOf(rule);
    this.#ratedAtMs = monotonicMs;
    this.#unmirrored = new RecentCount(rule);
  }

  /** Permits that are left here and, at the last answer, in the store. */
  get remaining(): number {
    return this.#left + this.#hand + this.#next;
  }

  get hand(): number {
    return this.#hand + this.#next;
  }

  /** Counts a request for the demand, and returns whether a permit is at hand. */
  ask(rule: LimitRule, monotonicMs: number): boolean {
    this.#asked += 1;
    return this.has(rule, monotonicMs);
  }

  has(rule: LimitRule, monotonicMs: number): boolean {
    if (this.#hand > 0 && monotonicMs < this.#handUntilMs && this.#requests === rule.requests) return true;
    return this.#hand + this.#next > 0 && this.#turn(rule, monotonicMs);
  }

  /** Uses a permit that `has` has just found. */
  use(): void {
    this.#hand -= 1;
  }

  get isLow(): boolean {
    return this.#hand <= this.lowWater && this.#next === 0;
  }

  /** Moves on to later permits when those at hand are used up, have expired or were granted under another limit. */
  #turn(rule: LimitRule, monotonicMs: number): boolean {
    if (this.#requests !== rule.requests) {
      this.dropHand(rule);
      return false;
    }
    this.#giveBack(rule, this.#hand, this.#handWindow);
    this.#hand = this.#next;
    this.#handUntilMs = this.#nextUntilMs;
    this.#handWindow = this.#nextWindow;
    this.#next = 0;
    if (this.#hand > 0 && monotonicMs < this.#handUntilMs) return true;
    this.dropHand(rule);
    return false;
  }

  /** Returns all permits at hand with the next call. */
  dropHand(rule: LimitRule): void {
    this.#giveBack(rule, this.#hand, this.#handWindow);
    this.#giveBack(rule, this.#next, this.#nextWindow);
    this.#hand = this.#next = 0;
  }

  /**
   * Combines permits of different windows. In a fixed window, older permits have expired. For the other algorithms, the
   * older window is safe for all permits.
   */
  #giveBack({ algorithm }: LimitRule, count: number, window: number): void {
    if (count === 0) return;
    if (this.#unused === 0) this.#unusedWindow = window;
    else if (algorithm !== 'fixed_window') this.#unusedWindow = Math.min(this.#unusedWindow, window);
    else if (window !== this.#unusedWindow) {
      this.#unused = 0;
      this.#unusedWindow = window;
    }
    this.#unused += count;
  }

  get unused(): number {
    return this.#unused;
  }

  /** The demand per millisecond. Call it once per call to the store. */
  rate(monotonicMs: number): number {
    const elapsedMs = monotonicMs - this.#ratedAtMs;
    if (elapsedMs >= 1) {
      this.#ratePerMs = nextRate(this.#ratePerMs, this.#asked, elapsedMs);
      this.#asked = 0;
      this.#ratedAtMs = monotonicMs;
    }
    return this.#ratePerMs;
  }

  /** The report for a call. The permits that it returns are lost if the call is not answered. */
  takeReport(rule: LimitRule, monotonicMs: number): Report {
    this.#forgive(rule, monotonicMs);
    const owed = this.#owed?.report(monotonicMs) ?? NOTHING_OWED;
    return { ...this.takeUnused(rule), ...owed };
  }

  /** Like `takeReport`, for a second call beside the one that reports the debt. */
  takeUnused({ algorithm }: LimitRule): Report {
    const window = algorithm === 'fixed_window' ? this.#window : this.#unusedWindow;
    const unused = window === this.#unusedWindow ? this.#unused : 0;
    this.#unused = 0;
    return { ...NOTHING_OWED, unused, window };
  }

  /** The call that was sent at `sentMs` was answered, in time or late. */
  told(report: Report, sentMs: number): void {
    this.#owed?.told(report, sentMs);
  }

  owes(rule: LimitRule, monotonicMs: number): boolean {
    this.#forgive(rule, monotonicMs);
    return this.#owed !== undefined && this.#owed.report(monotonicMs).owed > 0;
  }

  /**
   * Uses permits that arrived too late for their requests, which were decided without the store, to pay the debt.
   * Returns how many are used.
   */
  payOwed(granted: number): number {
    return this.#owed?.pay(granted) ?? 0;
  }

  /** Notes that a request was admitted without the store. */
  owe(rule: LimitRule, monotonicMs: number): void {
    this.#forgive(rule, monotonicMs);
    this.#owed ??= new Owed(rule);
    this.#owed.note(rule, monotonicMs);
    const window = this.#windowAt(rule, monotonicMs, this.#resetAtMs - ROUNDING_MS);
    this.#owedWindow = Math.max(this.#owedWindow, window);
  }

  /** Drops the debt of fixed windows that are certainly over. */
  #forgive(rule: LimitRule, monotonicMs: number): void {
    if (this.#windowAt(rule, monotonicMs, this.#overAtMs) > this.#owedWindow) this.#owed?.clear();
  }

  /**
   * Number of the store's fixed window at that time, if the last known one ends at `endMs`; any window if none is
   * known.
   */
  #windowAt({ algorithm, windowMs }: LimitRule, monotonicMs: number, endMs: number): number {
    if (algorithm !== 'fixed_window') return -1;
    if (this.#window < 0) return Infinity;
    return this.#window + Math.max(0, 1 + Math.floor((monotonicMs - endMs) / windowMs));
  }

  /**
   * Processes the answer of the store to a call sent at `sentMs`; `kept` of the permits stay at hand for later
   * requests.
   */
  learn(call: AnsweredCall, reply: GrantReply, kept: number, monotonicMs: number): void {
    const { rule, sentMs, report, paid } = call;
    this.#unmirrored.takeBack(report.unused);
    if (rule.algorithm === 'fixed_window' && reply.window !== this.#window) this.#unmirrored.clear();
    this.#window = reply.window;
    // Requests admitted before the first answer belong to this window or an earlier one.
    if (this.#owedWindow === Infinity) this.#owedWindow = reply.window;
    this.#unmirrored.note(reply.granted - paid, monotonicMs);
    this.#left = reply.left;
    this.#resetAtMs = sentMs + reply.resetMs;
    this.#overAtMs = monotonicMs + reply.resetMs;
    this.#freeAtMs = sentMs + reply.waitMs;
    this.#refusedUntilMs = reply.waitMs > 0 ? Math.min(this.#freeAtMs, sentMs + REFUSAL_MS_MAX) : -Infinity;
    this.#hold(rule, kept, sentMs + reply.validMs - ROUNDING_MS, reply.window, monotonicMs);
  }

  #hold(rule: LimitRule, count: number, untilMs: number, window: number, monotonicMs: number): void {
    if (count === 0) return;
    if (!this.has(rule, monotonicMs)) {
      this.#requests = rule.requests;
      this.#hand = count;
      this.#handUntilMs = untilMs;
      this.#handWindow = window;
    } else if (rule.algorithm === 'fixed_window' && window === this.#handWindow) {
      // Both ends are lower bounds for the end of the window.
      this.#hand += count;
      this.#handUntilMs = Math.max(this.#handUntilMs, untilMs);
    } else {
      const isFirst = this.#next === 0;
      this.#nextUntilMs = isFirst ? untilMs : Math.min(this.#nextUntilMs, untilMs);
      this.#nextWindow = isFirst ? window : Math.min(this.#nextWindow, window);
      this.#next += count;
    }
  }

  isRefused(monotonicMs: number): boolean {
    return monotonicMs < this.#refusedUntilMs;
  }

  admitted(rule: LimitRule, monotonicMs: number): LimitDecision {
    const resetMs = Math.max(0, this.#resetAtMs - monotonicMs);
    return { admitted: true, limit: limitOf(rule), remaining: this.remaining, resetMs, retryAfterSecs: 0 };
  }

  refused(rule: LimitRule, monotonicMs: number): LimitDecision {
    const waitMs = Math.max(0, this.#freeAtMs - monotonicMs);
    const resetMs = Math.max(waitMs, this.#resetAtMs - monotonicMs);
    return refusal(limitOf(rule), waitMs, resetMs);
  }

  /** Permits that the store granted and the node's own counter has not counted; the caller counts them there. */
  takeUnmirrored(monotonicMs: number): number {
    const isOver = this.hand === 0 && monotonicMs >= this.#overAtMs;
    const count = isOver ? 0 : this.#unmirrored.total(monotonicMs);
    this.#unmirrored.clear();
    return count;
  }
}
