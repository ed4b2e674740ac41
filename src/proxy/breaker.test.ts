import { describe, expect, it } from 'vitest';
import { Breaker, createBreakerMemory, transition, type BreakerEvent, type BreakerState } from './breaker.ts';

const RULES = { failures: 3, open_secs: 10, count_5xx: false };
const NOW = 1_790_000_000_000;

describe('transition', () => {
  const table: Record<BreakerState, Record<BreakerEvent, BreakerState>> = {
    closed: {
      success: 'closed',
      failure: 'open',
      probe_ok: 'closed',
      trial_due: 'closed',
      trial_lost: 'closed',
    },
    open: {
      success: 'open',
      failure: 'open',
      probe_ok: 'closed',
      trial_due: 'half_open',
      trial_lost: 'open',
    },
    half_open: {
      success: 'closed',
      failure: 'open',
      probe_ok: 'closed',
      trial_due: 'half_open',
      trial_lost: 'open',
    },
  };
  it.each(
    Object.entries(table).flatMap(([state, row]) =>
      Object.entries(row).map(([event, next]) => [state, event, next] as const),
    ),
  )('%s + %s → %s at the last failure allowed', (state, event, next) => {
    expect(transition(state as BreakerState, event as BreakerEvent, RULES.failures, RULES.failures)).toBe(
      next,
    );
  });

  it('stays closed below the number of failures', () => {
    expect(transition('closed', 'failure', RULES.failures - 1, RULES.failures)).toBe('closed');
  });
});

describe('Breaker', () => {
  const opened = (): { memory: SharedArrayBuffer; breaker: Breaker } => {
    const memory = createBreakerMemory();
    const breaker = new Breaker(memory);
    for (let n = 1; n <= RULES.failures; n++)
      expect(breaker.onFailure(RULES, NOW)).toBe(n === RULES.failures);
    return { memory, breaker };
  };

  it('opens only after failures in a row', () => {
    const breaker = new Breaker(createBreakerMemory());
    for (let n = 0; n < 20; n++) {
      breaker.onFailure(RULES, NOW);
      breaker.onFailure(RULES, NOW);
      breaker.onSuccess();
    }
    expect(breaker.isClosed).toBe(true);
  });

  it('is seen open by every worker and tells when to come back', () => {
    const { memory } = opened();
    const other = new Breaker(memory);
    expect(other.isAvailable(RULES, false, NOW + 9_999)).toBe(false);
    expect(other.admit(RULES, false, NOW + 9_999)).toBe('refused');
    expect(other.retryAfterSecs(RULES, NOW + 4_000)).toBe(6);
    expect(other.retryAfterSecs(RULES, NOW + 60_000)).toBe(1);
    expect(other.view(NOW + 1_000)).toEqual({
      state: 'open',
      consecutive_failures: 3,
      since_ms: 1_000,
      openings: 1,
    });
  });

  it('lets exactly one trial through, of however many ask in the same millisecond', () => {
    const { memory } = opened();
    const workers = Array.from({ length: 8 }, () => new Breaker(memory));
    const admitted = workers.filter((worker) => worker.admit(RULES, false, NOW + 10_000) !== 'refused');
    expect(admitted).toHaveLength(1);
    expect(workers[0]?.view(NOW + 10_000).state).toBe('half_open');
  });

  it('closes when the trial succeeds and opens again when it fails', () => {
    const first = opened().breaker;
    first.admit(RULES, false, NOW + 10_000);
    first.onSuccess();
    expect(first.view(NOW).state).toBe('closed');
    const second = opened().breaker;
    second.admit(RULES, false, NOW + 10_000);
    expect(second.onFailure(RULES, NOW + 10_500)).toBe(true);
    expect(second.admit(RULES, false, NOW + 20_000)).toBe('refused');
    expect(second.admit(RULES, false, NOW + 20_500)).toBe('trial');
  });

  it('gives another trial when the first one never came back', () => {
    const { breaker } = opened();
    expect(breaker.admit(RULES, false, NOW + 10_000)).toBe('trial');
    expect(breaker.admit(RULES, false, NOW + 60_000)).toBe('refused');
    expect(breaker.admit(RULES, false, NOW + 100_000)).toBe('trial');
  });

  it('gives another trial at once when the first one ended without a word on the backend', () => {
    const { breaker } = opened();
    expect(breaker.admit(RULES, false, NOW + 10_000)).toBe('trial');
    breaker.onTrialLost(RULES, NOW + 10_100);
    expect(breaker.admit(RULES, false, NOW + 10_100)).toBe('trial');
  });

  it('sends no trials while a health check is there to close it', () => {
    const { breaker } = opened();
    expect(breaker.admit(RULES, true, NOW + 1_000_000)).toBe('refused');
    breaker.onProbeSuccess();
    expect(breaker.admit(RULES, true, NOW + 1_000_000)).toBe('admitted');
    expect(breaker.view(NOW).consecutive_failures).toBe(0);
  });

  it('does not stay open because the clock was set back', () => {
    const { breaker } = opened();
    expect(breaker.isAvailable(RULES, false, NOW - 3_600_000)).toBe(true);
  });

  it('counts right over the end of 32 bits of milliseconds', () => {
    const edge = Math.ceil(NOW / 2 ** 31) * 2 ** 31;
    const breaker = new Breaker(createBreakerMemory());
    for (let n = 0; n < RULES.failures; n++) breaker.onFailure(RULES, edge - 5_000);
    expect(breaker.admit(RULES, false, edge + 4_999)).toBe('refused');
    expect(breaker.admit(RULES, false, edge + 5_000)).toBe('trial');
  });
});
