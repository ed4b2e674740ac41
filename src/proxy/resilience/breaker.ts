/**
 * The circuit breaker of a revision: the status of breaker-table.ts in one 64-bit word of shared memory, so that all
 * workers of a node see one breaker and the management API can show it. A step replaces the whole word by
 * compare-and-exchange and is repeated when another thread was faster: no step is lost, none is taken twice, and none
 * is visible in part.
 *
 *   bits 0–1 state, 2 due, 3 recovering, 4–17 failures, 18–21 a counter of steps, 22–63 Unix milliseconds
 *
 * A pristine breaker has 0 in its low 18 bits; most requests and answers read only those.
 *
 * Many breakers share a block of memory, which begins with the number of breakers in it that are not pristine. While
 * this number is 0, which is the usual case, requests do not read the words of their breaker: with thousands of
 * revisions in use, each read would be a wait for memory. The number is never too low: a breaker is counted before it
 * changes, and uncounted afterwards. A thread that ends in between, or a removed breaker, may leave it too high, which
 * costs that wait.
 */
import { assert } from '../../lib/assert.ts';
import {
  BREAKER_STATES,
  INITIAL_STATUS,
  transition,
  type BreakerEvent,
  type BreakerRules,
  type BreakerState,
  type BreakerStatus,
} from './breaker-table.ts';

export type { BreakerEvent, BreakerRules } from './breaker-table.ts';

/** Identifies a trial: the word that the breaker had when the trial began. */
export type Trial = bigint;

/** A state change, reported once, by the thread that made it. */
export interface BreakerTransition {
  readonly from: BreakerState;
  readonly to: BreakerState;
  readonly event: BreakerEvent;
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** Whether a request may be sent to the backend; with a `trial` its result decides about the breaker. */
export type Admission =
  | { readonly refused: true }
  | {
      readonly refused: false;
      readonly trial: Trial | undefined;
      readonly move: BreakerTransition | undefined;
    };

/** How an exchange with the backend ended, as the breaker counts it. */
export type Outcome = 'success' | 'failure' | 'abandoned';

export const REFUSED: Admission = Object.freeze({ refused: true });
export const ADMITTED: Admission = Object.freeze({ refused: false, trial: undefined, move: undefined });

const STATE_MASK = 0x3;
const DUE_BIT = 0x4;
const RECOVERING_BIT = 0x8;
const FAILURES_SHIFT = 4;
const FAILURES_MASK = 0x3fff;
const STEP_SHIFT = 18;
const STEP_MASK = 0xf;
const TIME_SHIFT = 22n;
const TIME_MS_MAX = 2 ** 42 - 1;
const PRISTINE_MASK = 0x3ffff;
/** Indexes of 32-bit words: the status takes two, the low one first. */
const OPENINGS = 2;
const NUMBER = 3;
const WORDS = 4;
/** Number of breakers in a block, including the place of its count. */
const PLACES = 256;
/** Index of the number of breakers that are not pristine. */
const RESTLESS = 0;

/** The smallest share of its traffic for a recovering revision. */
const RECOVERING_SHARE_MIN = 0.1;

// The low half of the word is read separately; it is first on all platforms of Node.
assert(new Uint8Array(new Uint16Array([1]).buffer)[0] === 1, 'breakers need a little-endian machine');

/** Where a breaker is; may be sent to other threads. */
export interface BreakerMemory {
  readonly block: SharedArrayBuffer;
  /** Index of its first 32-bit word. */
  readonly at: number;
}

interface Views {
  readonly words: BigUint64Array;
  readonly halves: Int32Array;
}

/** Views of each block that this thread knows. */
const views = new WeakMap<SharedArrayBuffer, Views>();

let lastNumber = 0;
let block: SharedArrayBuffer | undefined;
let places = 1;

/** Identifies a closed breaker, with a number that is unique in this thread. */
export function createBreakerMemory(): BreakerMemory {
  if (block === undefined || places === PLACES) {
    block = new SharedArrayBuffer(PLACES * WORDS * Int32Array.BYTES_PER_ELEMENT);
    places = 1;
  }
  const at = places++ * WORDS;
  lastNumber = (lastNumber + 1) | 0;
  viewsOf(block).halves[at + NUMBER] = lastNumber;
  return { block, at };
}

function viewsOf(of: SharedArrayBuffer): Views {
  let known = views.get(of);
  if (known === undefined) {
    known = { words: new BigUint64Array(of), halves: new Int32Array(of) };
    views.set(of, known);
  }
  return known;
}

export interface BreakerView {
  readonly state: BreakerState;
  readonly consecutive_failures: number;
  /** Milliseconds since it opened or sent its trial; 0 while closed. */
  readonly since_ms: number;
  readonly openings: number;
}

/** One thread's handle on a breaker's shared words. */
export class Breaker {
  readonly #words: BigUint64Array;
  readonly #halves: Int32Array;
  /** Index of its first 32-bit half; the index of its word is half of that. */
  readonly #at: number;
  /** Whether its revision was removed, or has another breaker now. */
  isRemoved = false;

  constructor({ block: of, at }: BreakerMemory) {
    const { words, halves } = viewsOf(of);
    this.#words = words;
    this.#halves = halves;
    this.#at = at;
  }

  /** An independent breaker in the same state. */
  copy(): Breaker {
    const copy = new Breaker(createBreakerMemory());
    copy.#replace(0n, this.#word);
    copy.#halves[copy.#at + OPENINGS] = this.openings;
    return copy;
  }

  /**
   * Whether it is closed, without a failure since the last success, and not recovering: neither a request nor a
   * success changes it.
   */
  get isPristine(): boolean {
    const halves = this.#halves;
    return halves[RESTLESS] === 0 || ((halves[this.#at] as number) & PRISTINE_MASK) === 0;
  }

  get isClosed(): boolean {
    return ((this.#halves[this.#at] as number) & STATE_MASK) === 0;
  }

  get status(): BreakerStatus {
    return unpack(this.#word);
  }

  /** Distinguishes it from the breaker that the revision had before its backend was changed. */
  get number(): number {
    return this.#halves[this.#at + NUMBER] as number;
  }

  get openings(): number {
    return Atomics.load(this.#halves, this.#at + OPENINGS);
  }

  view(nowMs: number): BreakerView {
    const { state, failures, sinceMs } = this.status;
    return {
      state,
      consecutive_failures: failures,
      since_ms: state === 'closed' ? 0 : Math.max(0, nowMs - sinceMs),
      openings: this.openings,
    };
  }

  /**
   * The share of its usual traffic that the revision should get now: 0 if it would be refused, 1 normally, and a value
   * between while it recovers. Changes nothing.
   */
  share(rules: BreakerRules, hasProbe: boolean, nowMs: number): number {
    if (this.isPristine) return 1;
    const { status } = this;
    if (status.state !== 'closed') {
      const { row } = transition(status, 'request', rules, hasProbe, nowMs);
      return row.actions.includes('send_trial') ? 1 : 0;
    }
    return status.recovering ? recoveredShare(status.sinceMs, rules, nowMs) : 1;
  }

  /** Asks whether one request may be sent. If only a trial is possible, exactly one caller in all workers gets it. */
  admit(rules: BreakerRules, hasProbe: boolean, nowMs: number): Admission {
    if (this.isPristine) return ADMITTED;
    if (this.#isRecovered(rules, nowMs)) this.#step('recovery_over', rules, hasProbe, nowMs);
    const { actions, move, word } = this.#step('request', rules, hasProbe, nowMs);
    if (actions.includes('refuse')) return REFUSED;
    return actions.includes('send_trial') ? { refused: false, trial: word, move } : ADMITTED;
  }

  /**
   * An admitted exchange has ended. A trial that has timed out counts as any other exchange.
   * @param trial as `admit` returned it
   */
  onOutcome(
    outcome: Outcome,
    trial: Trial | undefined,
    rules: BreakerRules,
    nowMs: number,
  ): BreakerTransition | undefined {
    if (outcome === 'success' && this.isPristine) return undefined;
    if (trial !== undefined) {
      const event = `trial_${outcome}` as const;
      const step = this.#stepFrom(trial, event, rules, nowMs);
      if (step !== undefined) return step;
    }
    return outcome === 'abandoned' ? undefined : this.#step(outcome, rules, false, nowMs).move;
  }

  /** The result of the health checks. */
  onProbe(isHealthy: boolean, rules: BreakerRules, nowMs: number): BreakerTransition | undefined {
    return this.#step(isHealthy ? 'probe_healthy' : 'probe_unhealthy', rules, true, nowMs).move;
  }

  /** Whole seconds until a retry is useful, at least 1. */
  retryAfterSecs(rules: BreakerRules, nowMs: number): number {
    const { due, sinceMs } = this.status;
    return due ? 1 : Math.max(1, Math.ceil(rules.open_secs - (nowMs - sinceMs) / 1000));
  }

  get #word(): bigint {
    return Atomics.load(this.#words, this.#at >> 1);
  }

  /** Returns false when another thread has changed the word. */
  #replace(before: bigint, word: bigint): boolean {
    const [wasPristine, isPristine] = [isPristineWord(before), isPristineWord(word)];
    if (wasPristine && !isPristine) Atomics.add(this.#halves, RESTLESS, 1);
    const isReplaced = Atomics.compareExchange(this.#words, this.#at >> 1, before, word) === before;
    const isUncounted = isReplaced ? isPristine && !wasPristine : wasPristine && !isPristine;
    if (isUncounted) Atomics.sub(this.#halves, RESTLESS, 1);
    return isReplaced;
  }

  #isRecovered(rules: BreakerRules, nowMs: number): boolean {
    const { recovering, sinceMs } = this.status;
    return recovering && recoveredShare(sinceMs, rules, nowMs) === 1;
  }

  #step(
    event: BreakerEvent,
    rules: BreakerRules,
    hasProbe: boolean,
    nowMs: number,
  ): {
    readonly actions: readonly string[];
    readonly move: BreakerTransition | undefined;
    /** The status after the step. */
    readonly word: bigint;
  } {
    for (;;) {
      const before = this.#word;
      const status = unpack(before);
      const { row, status: next } = transition(status, event, rules, hasProbe, nowMs);
      // Most steps change nothing.
      if (isSame(status, next)) return { actions: row.actions, move: undefined, word: before };
      const word = pack(next, before);
      if (!this.#replace(before, word)) continue;
      return { actions: row.actions, move: this.#moved(status, next, event, nowMs), word };
    }
  }

  /** undefined if another thread has changed the word, so that this caller's step did not happen. */
  #stepFrom(
    before: bigint,
    event: BreakerEvent,
    rules: BreakerRules,
    nowMs: number,
  ): BreakerTransition | undefined {
    const status = unpack(before);
    const { status: next } = transition(status, event, rules, false, nowMs);
    if (!this.#replace(before, pack(next, before))) return undefined;
    return this.#moved(status, next, event, nowMs);
  }

  #moved(
    { state: from }: BreakerStatus,
    { state: to }: BreakerStatus,
    event: BreakerEvent,
    atMs: number,
  ): BreakerTransition | undefined {
    if (from === to) return undefined;
    if (to === 'open' && event !== 'trial_abandoned') Atomics.add(this.#halves, this.#at + OPENINGS, 1);
    return { from, to, event, atMs };
  }
}

/** The share grows from the minimum when the breaker closes to 1 at the end of `recovery_secs`. */
function recoveredShare(sinceMs: number, { recovery_secs }: BreakerRules, nowMs: number): number {
  const elapsedMs = nowMs - sinceMs;
  if (elapsedMs < 0 || elapsedMs >= recovery_secs * 1000) return 1;
  return Math.max(RECOVERING_SHARE_MIN, elapsedMs / (recovery_secs * 1000));
}

function isSame(a: BreakerStatus, b: BreakerStatus): boolean {
  return (
    a.state === b.state &&
    a.failures === b.failures &&
    a.sinceMs === b.sinceMs &&
    a.due === b.due &&
    a.recovering === b.recovering
  );
}

function isPristineWord(word: bigint): boolean {
  return (Number(word & 0xffff_ffffn) & PRISTINE_MASK) === 0;
}

function unpack(word: bigint): BreakerStatus {
  if (word === 0n) return INITIAL_STATUS;
  const low = Number(word & 0xffff_ffffn);
  return {
    state: BREAKER_STATES[low & STATE_MASK] ?? 'closed',
    failures: (low >>> FAILURES_SHIFT) & FAILURES_MASK,
    sinceMs: Number(word >> TIME_SHIFT),
    due: (low & DUE_BIT) !== 0,
    recovering: (low & RECOVERING_BIT) !== 0,
  };
}

/** @param before the replaced word: the two differ even if their statuses are equal */
function pack({ state, failures, sinceMs, due, recovering }: BreakerStatus, before: bigint): bigint {
  const step = ((Number(before & 0xffff_ffffn) >>> STEP_SHIFT) + 1) & STEP_MASK;
  const low =
    BREAKER_STATES.indexOf(state) |
    (due ? DUE_BIT : 0) |
    (recovering ? RECOVERING_BIT : 0) |
    (failures << FAILURES_SHIFT) |
    (step << STEP_SHIFT);
  const timeMs = Math.min(Math.max(Math.trunc(sinceMs), 0), TIME_MS_MAX);
  return (BigInt(timeMs) << TIME_SHIFT) | BigInt(low);
}
