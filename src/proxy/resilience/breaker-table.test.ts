import { describe, expect, it } from 'vitest';
import {
  BREAKER_EVENTS,
  BREAKER_STATES,
  BREAKER_TABLE,
  FAILURES_MAX,
  INITIAL_STATUS,
  transition,
  TRIAL_MS_MAX,
  type BreakerEvent,
  type BreakerState,
  type BreakerStatus,
} from './breaker-table.ts';

const RULES = { failures: 3, open_secs: 10, count_5xx: false, recovery_secs: 10 };
const NOW = 1_790_000_000_000;

const at = (state: BreakerState, changes: Partial<BreakerStatus> = {}): BreakerStatus => ({
  ...INITIAL_STATUS,
  state,
  sinceMs: NOW,
  ...changes,
});

const next = (status: BreakerStatus, event: BreakerEvent, nowMs = NOW, hasProbe = false): BreakerStatus =>
  transition(status, event, RULES, hasProbe, nowMs).status;

const actionsOf = (status: BreakerStatus, event: BreakerEvent, nowMs = NOW, hasProbe = false) =>
  transition(status, event, RULES, hasProbe, nowMs).row.actions;

describe('the table', () => {
  it('is total: every state has every event, and the last row of each cell has no guard', () => {
    for (const state of BREAKER_STATES) {
      for (const event of BREAKER_EVENTS) {
        const rows = BREAKER_TABLE[state][event];
        expect(rows.at(-1)?.when, `${state} ${event}`).toBeUndefined();
        expect(
          rows.slice(0, -1).every(({ when }) => when !== undefined),
          `${state} ${event}`,
        ).toBe(true);
      }
    }
  });

  // The next states, written a second time: before and after the time or count of a guard.
  const early: Record<BreakerState, Record<BreakerEvent, BreakerState>> = {
    closed: {
      request: 'closed',
      success: 'closed',
      failure: 'closed',
      trial_success: 'closed',
      trial_failure: 'closed',
      trial_abandoned: 'closed',
      probe_healthy: 'closed',
      probe_unhealthy: 'open',
      recovery_over: 'closed',
    },
    open: {
      request: 'open',
      success: 'open',
      failure: 'open',
      trial_success: 'open',
      trial_failure: 'open',
      trial_abandoned: 'open',
      probe_healthy: 'closed',
      probe_unhealthy: 'open',
      recovery_over: 'open',
    },
    half_open: {
      request: 'half_open',
      success: 'half_open',
      failure: 'half_open',
      trial_success: 'closed',
      trial_failure: 'open',
      trial_abandoned: 'open',
      probe_healthy: 'closed',
      probe_unhealthy: 'open',
      recovery_over: 'half_open',
    },
  };
  const late: typeof early = {
    closed: { ...early.closed, failure: 'open', trial_failure: 'open' },
    open: { ...early.open, request: 'half_open' },
    half_open: early.half_open,
  };
  it.each(
    BREAKER_STATES.flatMap((state) =>
      BREAKER_EVENTS.map((event) => [state, event, early[state][event], late[state][event]] as const),
    ),
  )('%s + %s → %s, or %s when its time or count is reached', (state, event, soon, then) => {
    expect(next(at(state), event).state).toBe(soon);
    expect(next(at(state, { failures: RULES.failures - 1 }), event, NOW + TRIAL_MS_MAX).state).toBe(then);
  });
});

describe('a step', () => {
  it('counts failures in a row, up to the maximum', () => {
    expect(next(at('closed', { failures: 1 }), 'failure')).toMatchObject({ failures: 2, state: 'closed' });
    expect(next(at('closed', { failures: 1 }), 'success').failures).toBe(0);
    expect(next(at('half_open', { failures: FAILURES_MAX }), 'trial_failure').failures).toBe(FAILURES_MAX);
  });

  it('sends one trial, and another after the first was abandoned or timed out', () => {
    const half = next(at('open'), 'request', NOW + 10_000);
    expect(half).toMatchObject({ state: 'half_open', sinceMs: NOW + 10_000 });
    expect(actionsOf(half, 'request', NOW + 11_000)).toEqual(['refuse']);
    expect(actionsOf(half, 'request', NOW + 10_000 + TRIAL_MS_MAX)).toEqual(['send_trial']);
    const lost = next(half, 'trial_abandoned', NOW + 11_000);
    expect(lost).toMatchObject({ state: 'open', due: true, sinceMs: NOW + 11_000 });
    expect(actionsOf(lost, 'request', NOW + 11_000)).toEqual(['send_trial']);
    expect(next(lost, 'request', NOW + 11_000).due).toBe(false);
  });

  it('sends no trial if health checks decide, and closes through them', () => {
    expect(actionsOf(at('open', { due: true }), 'request', NOW + 1_000_000, true)).toEqual(['refuse']);
    expect(next(at('open'), 'probe_healthy', NOW + 5, true)).toEqual(
      at('closed', { recovering: true, sinceMs: NOW + 5 }),
    );
  });

  it('recovers after closing, unless it takes no time, and not after opening again', () => {
    const recovering = next(at('half_open'), 'trial_success');
    expect(recovering.recovering).toBe(true);
    expect(next(recovering, 'probe_unhealthy').recovering).toBe(false);
    expect(next(recovering, 'recovery_over').recovering).toBe(false);
    const rules = { ...RULES, recovery_secs: 0 };
    expect(transition(at('open'), 'probe_healthy', rules, true, NOW).status.recovering).toBe(false);
  });

  it('does not wait after the clock was set back', () => {
    expect(actionsOf(at('open'), 'request', NOW - 3_600_000)).toEqual(['send_trial']);
    expect(actionsOf(at('half_open'), 'request', NOW - 3_600_000)).toEqual(['send_trial']);
  });

  it('tolerates another thread that has read the clock a moment later', () => {
    expect(actionsOf(at('open'), 'request', NOW - 1)).toEqual(['refuse']);
    expect(actionsOf(at('half_open'), 'request', NOW - 1)).toEqual(['refuse']);
  });
});
