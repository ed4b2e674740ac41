/**
 * One counter as one thread knows it: the permits at hand, what the shared store last said, and what it has to be told
 * with the next call. Times are monotonic milliseconds of this process, counted from before a request was sent: by the
 * time that the store has begun to count, they have already been running, so no clock's error makes a permit live longer.
 */
import { leaseMsOf, nextRate } from './lease-size.ts';
import type { GrantReply } from './limit-server.ts';
import { NOTHING_OWED, Owed, type OwedReport } from './owed.ts';
import { RecentCount } from './recent-count.ts';
import type { LimitDecision, LimitRule } from '../store.ts';

/** A request that waits for a permit. */
export interface Waiter {
  readonly rule: LimitRule;
  readonly subject: string;
  readonly nowMs: number;
  /** The permit stays at hand, for a `take` that follows. */
  readonly keeps: boolean;
  readonly resolve: (decision: LimitDecision) => void;
}

/** What an in-flight call has to be able to tell the store, or take back. */
export interface Report extends OwedReport {
  readonly unused: number;
  /** As GrantRequest has it. */
  readonly window: number;
}

export interface AnsweredCall {
  readonly rule: LimitRule;
  readonly sentMs: number;
  readonly report: Report;
  /** Permits of the reply that stand for what is owed: the node's own counter has counted them. */
  readonly paid: number;
}

/** Subtracted from the time that a reply grants, since the store counts whole milliseconds. */
const ROUNDING_MS = 1;
/** A refusal holds for this long at most: other nodes may give permits back. */
const REFUSAL_MS_MAX = 125;

export class Lease {
  readonly key: string;
  readonly leaseMs: number;
  /** Requests that wait and are in no call yet. */
  waiters: Waiter[] = [];
  inFlight = false;
  /** Until then the store is not asked for this counter, since it did not answer. */
  failedUntilMs = -Infinity;
  /** Until then the counter goes by the node's share: the store did not answer, or other threads may still have to tell it. */
  outUntilMs = -Infinity;
  /** Permits at hand are half used up: time to fetch more. */
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
  /** From then on nothing that was granted counts any more. */
  #overAtMs = 0;
  #refusedUntilMs = -Infinity;
  #freeAtMs = 0;
  /** The limit under which the permits at hand were granted. */
  #requests = -1;
  #window = -1;
  /** Admitted without the store, and not told yet; made when there is any. */
  #owed: Owed | undefined;
  /** The fixed window of the last of them, or one later, by the store's numbers. */
  #owedWindow = -1;
  #unused = 0;
  #unusedWindow = 0;
  #asked = 0;
  #ratePerMs = 0;
  #ratedAtMs: number;
  /** Granted, and not yet counted by the node's own counter. */
  readonly #unmirrored: RecentCount;

  constructor(key: string, rule: LimitRule, monotonicMs: number) {
    this.key = key;
    this.leaseMs = leaseMsOf(rule);
    this.#ratedAtMs = monotonicMs;
    this.#unmirrored = new RecentCount(rule);
  }

  /** Permits that are left, here and, when it was last asked, in the store. */
  get remaining(): number {
    return this.#left + this.#hand + this.#next;
  }

  get hand(): number {
    return this.#hand + this.#next;
  }

  /** One request wants a permit: counts it for the demand, and tells whether there is one at hand. */
  ask(rule: LimitRule, monotonicMs: number): boolean {
    this.#asked += 1;
    return this.has(rule, monotonicMs);
  }

  has(rule: LimitRule, monotonicMs: number): boolean {
    if (this.#hand > 0 && monotonicMs < this.#handUntilMs && this.#requests === rule.requests) return true;
    return this.#hand + this.#next > 0 && this.#turn(rule, monotonicMs);
  }

  /** Uses a permit up that `has` has just seen. */
  use(): void {
    this.#hand -= 1;
  }

  get isLow(): boolean {
    return this.#hand <= this.lowWater && this.#next === 0;
  }

  /** The permits at hand are used up or have run out, or were granted under another limit: on to those that came later. */
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

  /** Gives all permits at hand back, with the next call. */
  dropHand(rule: LimitRule): void {
    this.#giveBack(rule, this.#hand, this.#handWindow);
    this.#giveBack(rule, this.#next, this.#nextWindow);
    this.#hand = this.#next = 0;
  }

  /**
   * Permits of different windows: those of an older fixed window have gone with it. For the other algorithms the older
   * place is the one that is safe to give back for all.
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

  /** The demand per millisecond, to be asked for once per call. */
  rate(monotonicMs: number): number {
    const elapsedMs = monotonicMs - this.#ratedAtMs;
    if (elapsedMs >= 1) {
      this.#ratePerMs = nextRate(this.#ratePerMs, this.#asked, elapsedMs);
      this.#asked = 0;
      this.#ratedAtMs = monotonicMs;
    }
    return this.#ratePerMs;
  }

  /** What goes along with a call. Permits that it gives back are lost if it is not answered. */
  takeReport(rule: LimitRule, monotonicMs: number): Report {
    this.#forgive(rule, monotonicMs);
    const owed = this.#owed?.report(monotonicMs) ?? NOTHING_OWED;
    return { ...this.takeUnused(rule), ...owed };
  }

  /** As `takeReport`, for a call beside the one that tells what is owed. */
  takeUnused({ algorithm }: LimitRule): Report {
    const window = algorithm === 'fixed_window' ? this.#window : this.#unusedWindow;
    const unused = window === this.#unusedWindow ? this.#unused : 0;
    this.#unused = 0;
    return { ...NOTHING_OWED, unused, window };
  }

  /** The call that was made at `sentMs` was answered, in time or not. */
  told(report: Report, sentMs: number): void {
    this.#owed?.told(report, sentMs);
  }

  owes(rule: LimitRule, monotonicMs: number): boolean {
    this.#forgive(rule, monotonicMs);
    return this.#owed !== undefined && this.#owed.report(monotonicMs).owed > 0;
  }

  /**
   * Permits came too late for the requests that waited for them and were decided without the store. They stand for what
   * is owed; returns how many of them do.
   */
  payOwed(granted: number): number {
    return this.#owed?.pay(granted) ?? 0;
  }

  /** The request was admitted without the store. */
  owe(rule: LimitRule, monotonicMs: number): void {
    this.#forgive(rule, monotonicMs);
    this.#owed ??= new Owed(rule);
    this.#owed.note(rule, monotonicMs);
    const window = this.#windowAt(rule, monotonicMs, this.#resetAtMs - ROUNDING_MS);
    this.#owedWindow = Math.max(this.#owedWindow, window);
  }

  /** What is owed of fixed windows that are over by all means has gone with them. */
  #forgive(rule: LimitRule, monotonicMs: number): void {
    if (this.#windowAt(rule, monotonicMs, this.#overAtMs) > this.#owedWindow) this.#owed?.clear();
  }

  /** Number of the store's fixed window at that time if the one that it told last ends at `endMs`; any if it told none. */
  #windowAt({ algorithm, windowMs }: LimitRule, monotonicMs: number, endMs: number): number {
    if (algorithm !== 'fixed_window') return -1;
    if (this.#window < 0) return Infinity;
    return this.#window + Math.max(0, 1 + Math.floor((monotonicMs - endMs) / windowMs));
  }

  /**
   * What the store said, `sentMs` being the time before it was asked; `kept` of the permits are for later and are at hand
   * from now on.
   */
  learn(call: AnsweredCall, reply: GrantReply, kept: number, monotonicMs: number): void {
    const { rule, sentMs, report, paid } = call;
    this.#unmirrored.takeBack(report.unused);
    if (rule.algorithm === 'fixed_window' && reply.window !== this.#window) this.#unmirrored.clear();
    this.#window = reply.window;
    // What was admitted before anything was known was so in this window or before.
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
      // Both know the end of the window only from below.
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
    const limit = rule.algorithm === 'token_bucket' ? rule.burst : rule.requests;
    return { admitted: true, limit, remaining: this.remaining, resetMs, retryAfterSecs: 0 };
  }

  refused(rule: LimitRule, monotonicMs: number): LimitDecision {
    const waitMs = Math.max(0, this.#freeAtMs - monotonicMs);
    const resetMs = Math.max(waitMs, this.#resetAtMs - monotonicMs);
    const limit = rule.algorithm === 'token_bucket' ? rule.burst : rule.requests;
    return {
      admitted: false,
      limit,
      remaining: 0,
      resetMs,
      retryAfterSecs: Math.max(1, Math.ceil(waitMs / 1000)),
    };
  }

  /** What the store granted this thread and the node's own counter has not counted: the caller counts it there. */
  takeUnmirrored(monotonicMs: number): number {
    const isOver = this.hand === 0 && monotonicMs >= this.#overAtMs;
    const count = isOver ? 0 : this.#unmirrored.total(monotonicMs);
    this.#unmirrored.clear();
    return count;
  }
}
