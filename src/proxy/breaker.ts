/**
 * The circuit breaker of a revision (design section 2 "Breaker"). Its state is a few words of shared memory,
 * so that all workers of a node see one breaker and the management API can show it. Words are changed by
 * compare-and-exchange only; the rules themselves are the total table in `transition`.
 *
 *   state      success    failure                    probe_ok   trial_due    trial_lost
 *   closed     closed     closed, or open at the     closed     closed       closed
 *                         n-th in a row
 *   open       open       open                       closed     half_open    open
 *                                                    (one request goes through)
 *   half_open  closed     open                       closed     half_open    open (and the next trial is due)
 *
 * A trial is lost when its client goes away before the backend has shown what it can do.
 *
 * Requests that were under way when the breaker opened do not move it. Does not decide what a failure is:
 * that is forward's part.
 */
import type { CircuitBreakerSettings } from '../model/resources.ts';

export type BreakerState = 'closed' | 'open' | 'half_open';
export type BreakerEvent = 'success' | 'failure' | 'probe_ok' | 'trial_due' | 'trial_lost';
/** Whether a request may go to the backend, and whether the breaker waits for what comes of it. */
export type Admission = 'refused' | 'admitted' | 'trial';
export type BreakerRules = Required<CircuitBreakerSettings>;

const STATES: readonly BreakerState[] = ['closed', 'open', 'half_open'];
const CLOSED = 0;
const OPEN = 1;
const HALF_OPEN = 2;

/** Words of the shared memory. */
const STATE = 0;
const FAILURES = 1;
/** Low 32 bits of the Unix milliseconds of the last opening, or of the trial while half-open. */
const SINCE = 2;
const OPENINGS = 3;
const WORDS = 4;

/** A trial whose worker died or whose request hangs is given up after this time and another may go. */
const TRIAL_MS_MAX = 90_000;

export function createBreakerMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT);
}

/** The table above: the next state, given the failures in a row including this event. */
export function transition(
  state: BreakerState,
  event: BreakerEvent,
  failuresInARow: number,
  failuresMax: number,
): BreakerState {
  switch (state) {
    case 'closed':
      return event === 'failure' && failuresInARow >= failuresMax ? 'open' : 'closed';
    case 'open':
      if (event === 'probe_ok') return 'closed';
      return event === 'trial_due' ? 'half_open' : 'open';
    case 'half_open':
      if (event === 'failure' || event === 'trial_lost') return 'open';
      return event === 'trial_due' ? 'half_open' : 'closed';
  }
}

export interface BreakerView {
  readonly state: BreakerState;
  readonly consecutive_failures: number;
  /** Milliseconds since it opened or sent its trial; 0 while closed. */
  readonly since_ms: number;
  readonly openings: number;
}

/** One worker's handle on a breaker's shared words. */
export class Breaker {
  readonly #words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  /** A breaker in the same state that moves nothing but itself. */
  copy(): Breaker {
    const memory = createBreakerMemory();
    new Int32Array(memory).set(this.#words);
    return new Breaker(memory);
  }

  view(nowMs: number): BreakerView {
    const state = STATES[Atomics.load(this.#words, STATE)] ?? 'closed';
    return {
      state,
      consecutive_failures: Atomics.load(this.#words, FAILURES),
      since_ms: state === 'closed' ? 0 : this.#elapsedMs(nowMs),
      openings: Atomics.load(this.#words, OPENINGS),
    };
  }

  get isClosed(): boolean {
    return this.#words[STATE] === CLOSED;
  }

  /** Whether a request could go through now; takes nothing. */
  isAvailable(rules: BreakerRules, hasProbe: boolean, nowMs: number): boolean {
    const state = this.#words[STATE];
    if (state === undefined || state === CLOSED) return true;
    return trialIsDue(state, this.#words[SINCE] ?? 0, rules, hasProbe, nowMs);
  }

  /** Asks to send one request; when only a trial is possible, exactly one asker of all workers gets it. */
  admit(rules: BreakerRules, hasProbe: boolean, nowMs: number): Admission {
    const state = Atomics.load(this.#words, STATE);
    if (state === CLOSED) return 'admitted';
    const since = Atomics.load(this.#words, SINCE);
    if (!trialIsDue(state, since, rules, hasProbe, nowMs)) return 'refused';
    if (Atomics.compareExchange(this.#words, SINCE, since, nowMs | 0) !== since) return 'refused';
    Atomics.compareExchange(this.#words, STATE, state, HALF_OPEN);
    return 'trial';
  }

  /** The trial came to its end without a word on the backend: the next request is one. */
  onTrialLost(rules: BreakerRules, nowMs: number): void {
    if (Atomics.compareExchange(this.#words, STATE, HALF_OPEN, OPEN) !== HALF_OPEN) return;
    Atomics.store(this.#words, SINCE, (nowMs - rules.open_secs * 1000) | 0);
  }

  onSuccess(): void {
    if (this.#words[FAILURES] !== 0) Atomics.store(this.#words, FAILURES, 0);
    if (this.#words[STATE] !== CLOSED) Atomics.compareExchange(this.#words, STATE, HALF_OPEN, CLOSED);
  }

  /** True when this failure opened the breaker. */
  onFailure(rules: BreakerRules, nowMs: number): boolean {
    const failures = Atomics.add(this.#words, FAILURES, 1) + 1;
    const before = Atomics.load(this.#words, STATE);
    const next = transition(STATES[before] ?? 'closed', 'failure', failures, rules.failures);
    if (next !== 'open' || before === OPEN) return false;
    // First the time, so that nobody sees it open with the time of an opening long ago.
    Atomics.store(this.#words, SINCE, nowMs | 0);
    if (Atomics.compareExchange(this.#words, STATE, before, OPEN) !== before) return false;
    Atomics.add(this.#words, OPENINGS, 1);
    return true;
  }

  onProbeSuccess(): void {
    Atomics.store(this.#words, FAILURES, 0);
    Atomics.store(this.#words, STATE, CLOSED);
  }

  /** Whole seconds until it is worth trying again, at least 1. */
  retryAfterSecs(rules: BreakerRules, nowMs: number): number {
    return Math.max(1, Math.ceil(rules.open_secs - this.#elapsedMs(nowMs) / 1000));
  }

  #elapsedMs(nowMs: number): number {
    return elapsedMs(this.#words[SINCE] ?? 0, nowMs);
  }
}

/** Arithmetic modulo 2^32: right for differences of up to 24 days, negative beyond. */
function elapsedMs(since: number, nowMs: number): number {
  return ((nowMs | 0) - since) | 0;
}

function trialIsDue(
  state: number,
  since: number,
  rules: BreakerRules,
  hasProbe: boolean,
  nowMs: number,
): boolean {
  if (hasProbe && state === OPEN) return false;
  const elapsed = elapsedMs(since, nowMs);
  // A clock that was set back must not keep the breaker open for as long as it was set back.
  return elapsed < 0 || elapsed >= (state === OPEN ? rules.open_secs * 1000 : TRIAL_MS_MAX);
}
