/**
 * What a circuit breaker does, as a total table: every state meets every event (docs/reference/circuit-breaker.md has
 * the same table, made from this one). Pure: owns nothing, reads no clock. breaker.ts keeps the status in shared
 * memory, breaker-report.ts decides what a failure is, health-probe.ts what a healthy backend is.
 *
 * Three states as in Nygard's "Release It!"; while half-open exactly one request, the trial, is with the backend.
 * Requests that were under way when the breaker opened report `success` or `failure`, which changes nothing.
 */
import type { CircuitBreakerSettings } from '../../model/resources.ts';

export const BREAKER_STATES = ['closed', 'open', 'half_open'] as const;
export type BreakerState = (typeof BREAKER_STATES)[number];

export const BREAKER_EVENTS = [
  'request',
  'success',
  'failure',
  'trial_success',
  'trial_failure',
  'trial_abandoned',
  'probe_healthy',
  'probe_unhealthy',
  'recovery_over',
] as const;
export type BreakerEvent = (typeof BREAKER_EVENTS)[number];

export type BreakerRules = Required<Omit<CircuitBreakerSettings, 'probe'>>;

export interface BreakerStatus {
  readonly state: BreakerState;
  /** Failures in a row, at most FAILURES_MAX. */
  readonly failures: number;
  /** Unix milliseconds at which it entered this state, or of the trial while half-open; 0 before the first opening. */
  readonly sinceMs: number;
  /** Open, and the next request is the trial, whatever the time. */
  readonly due: boolean;
  /** Closed recently: its revision gets a growing share of its traffic. */
  readonly recovering: boolean;
}

export const INITIAL_STATUS: BreakerStatus = Object.freeze({
  state: 'closed',
  failures: 0,
  sinceMs: 0,
  due: false,
  recovering: false,
});

export const FAILURES_MAX = 0x3fff;

/** A trial without a result is abandoned after this time, and another is sent. */
export const TRIAL_MS_MAX = 90_000;

type Guard = 'last_failure' | 'trial_due' | 'trial_overdue';
type Action =
  | 'admit'
  | 'refuse'
  | 'send_trial'
  | 'count_failure'
  | 'forget_failures'
  | 'start_waiting'
  | 'make_due'
  | 'start_recovery'
  | 'end_recovery';

export interface BreakerRow {
  /** undefined: always. */
  readonly when?: Guard;
  readonly next: BreakerState;
  readonly actions: readonly Action[];
}

const stay = (state: BreakerState, ...actions: readonly Action[]): readonly BreakerRow[] => [
  { next: state, actions },
];
const go = (next: BreakerState, ...actions: readonly Action[]): readonly BreakerRow[] => [{ next, actions }];

const COUNT_OR_OPEN: readonly BreakerRow[] = [
  { when: 'last_failure', next: 'open', actions: ['count_failure', 'start_waiting'] },
  { next: 'closed', actions: ['count_failure'] },
];

/** The first row whose guard is true applies; the last row of each cell has none. */
export const BREAKER_TABLE: Readonly<
  Record<BreakerState, Readonly<Record<BreakerEvent, readonly BreakerRow[]>>>
> = {
  closed: {
    request: stay('closed', 'admit'),
    success: stay('closed', 'forget_failures'),
    failure: COUNT_OR_OPEN,
    trial_success: stay('closed', 'forget_failures'),
    trial_failure: COUNT_OR_OPEN,
    trial_abandoned: stay('closed'),
    probe_healthy: stay('closed'),
    probe_unhealthy: go('open', 'start_waiting'),
    recovery_over: stay('closed', 'end_recovery'),
  },
  open: {
    request: [
      { when: 'trial_due', next: 'half_open', actions: ['send_trial'] },
      { next: 'open', actions: ['refuse'] },
    ],
    success: stay('open'),
    failure: stay('open'),
    trial_success: stay('open'),
    trial_failure: stay('open'),
    trial_abandoned: stay('open'),
    probe_healthy: go('closed', 'forget_failures', 'start_recovery'),
    probe_unhealthy: stay('open'),
    recovery_over: stay('open'),
  },
  half_open: {
    request: [
      { when: 'trial_overdue', next: 'half_open', actions: ['send_trial'] },
      { next: 'half_open', actions: ['refuse'] },
    ],
    success: stay('half_open'),
    failure: stay('half_open'),
    trial_success: go('closed', 'forget_failures', 'start_recovery'),
    trial_failure: go('open', 'count_failure', 'start_waiting'),
    trial_abandoned: go('open', 'make_due'),
    probe_healthy: go('closed', 'forget_failures', 'start_recovery'),
    probe_unhealthy: go('open', 'start_waiting'),
    recovery_over: stay('half_open'),
  },
};

export interface BreakerStep {
  readonly row: BreakerRow;
  readonly status: BreakerStatus;
}

/**
 * One step of the table.
 * @param hasProbe health checks close the breaker, so no trials are sent
 */
export function transition(
  status: BreakerStatus,
  event: BreakerEvent,
  rules: BreakerRules,
  hasProbe: boolean,
  nowMs: number,
): BreakerStep {
  const rows = BREAKER_TABLE[status.state][event];
  const row = rows.find(({ when }) => when === undefined || holds(when, status, rules, hasProbe, nowMs));
  if (row === undefined) return { row: { next: status.state, actions: [] }, status };
  return { row, status: apply(status, row, rules, nowMs) };
}

function holds(
  guard: Guard,
  status: BreakerStatus,
  rules: BreakerRules,
  hasProbe: boolean,
  nowMs: number,
): boolean {
  switch (guard) {
    case 'last_failure':
      return status.failures + 1 >= rules.failures;
    case 'trial_due':
      return !hasProbe && (status.due || hasPassed(status.sinceMs, rules.open_secs * 1000, nowMs));
    case 'trial_overdue':
      return hasPassed(status.sinceMs, TRIAL_MS_MAX, nowMs);
  }
}

/**
 * Threads read the clock a moment before they change the state, so a time written by another thread may be slightly in
 * the future. A larger difference means that the clock was set back, which must not keep a breaker open.
 */
const CLOCK_AHEAD_MS_MAX = 1_000;

function hasPassed(sinceMs: number, waitMs: number, nowMs: number): boolean {
  return nowMs - sinceMs >= waitMs || sinceMs - nowMs > CLOCK_AHEAD_MS_MAX;
}

function apply(status: BreakerStatus, row: BreakerRow, rules: BreakerRules, nowMs: number): BreakerStatus {
  let { failures, sinceMs, due, recovering } = status;
  for (const action of row.actions) {
    if (action === 'count_failure') failures = Math.min(failures + 1, FAILURES_MAX);
    else if (action === 'forget_failures') failures = 0;
    else if (action === 'make_due') due = true;
    else if (action === 'start_recovery') recovering = rules.recovery_secs > 0;
    else if (action === 'end_recovery') recovering = false;
  }
  const isTrial = row.actions.includes('send_trial');
  if (row.next !== status.state || isTrial) {
    sinceMs = nowMs;
    due &&= row.actions.includes('make_due');
    recovering &&= row.next === 'closed';
  }
  return { state: row.next, failures, sinceMs, due, recovering };
}
