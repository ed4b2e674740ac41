import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Breaker, createBreakerMemory, type Admission, type BreakerMemory, type Trial } from './breaker.ts';
import { BREAKER_EVENTS, INITIAL_STATUS, transition, type BreakerStatus } from './breaker-table.ts';

const RULES = { failures: 3, open_secs: 10, count_5xx: false, recovery_secs: 10 };
const NOW = 1_790_000_000_000;

function trialOf(admission: Admission): Trial {
  if (admission.refused || admission.trial === undefined)
    throw new Error(`expected a trial, not ${admission.refused ? 'a refusal' : 'a usual request'}`);
  return admission.trial;
}

function opened(rules = RULES): { memory: BreakerMemory; breaker: Breaker } {
  const memory = createBreakerMemory();
  const breaker = new Breaker(memory);
  for (let n = 1; n <= rules.failures; n++) {
    const move = breaker.onOutcome('failure', undefined, rules, NOW);
    expect(move).toEqual(
      n < rules.failures ? undefined : { from: 'closed', to: 'open', event: 'failure', atMs: NOW },
    );
  }
  return { memory, breaker };
}

/** Of a block that no other breaker is in. */
function aloneInBlock(): BreakerMemory {
  const { block } = createBreakerMemory();
  for (;;) {
    const memory = createBreakerMemory();
    if (memory.block !== block) return memory;
  }
}

/** How many breakers of a block are counted as not pristine. */
const restlessIn = ({ block }: BreakerMemory): number => new Int32Array(block)[0] ?? NaN;

describe('Breaker', () => {
  it('opens only after failures in a row', () => {
    const breaker = new Breaker(createBreakerMemory());
    for (let n = 0; n < 20; n++) {
      breaker.onOutcome('failure', undefined, RULES, NOW);
      breaker.onOutcome('failure', undefined, RULES, NOW);
      expect(breaker.isPristine).toBe(false);
      breaker.onOutcome('success', undefined, RULES, NOW);
    }
    expect(breaker.isPristine).toBe(true);
  });

  it('is open in every worker and returns when to retry', () => {
    const { memory } = opened();
    const other = new Breaker(memory);
    expect(other.share(RULES, false, NOW + 9_999)).toBe(0);
    expect(other.admit(RULES, false, NOW + 9_999)).toEqual({ refused: true });
    expect(other.retryAfterSecs(RULES, NOW + 4_000)).toBe(6);
    expect(other.retryAfterSecs(RULES, NOW + 60_000)).toBe(1);
    expect(other.view(NOW + 1_000)).toEqual({
      state: 'open',
      consecutive_failures: 3,
      since_ms: 1_000,
      openings: 1,
    });
  });

  it('admits exactly one trial among simultaneous requests', () => {
    const { memory } = opened();
    const workers = Array.from({ length: 8 }, () => new Breaker(memory));
    const admitted = workers.map((worker) => worker.admit(RULES, false, NOW + 10_000));
    expect(admitted.filter(({ refused }) => !refused)).toHaveLength(1);
    expect(workers[0]?.view(NOW + 10_000).state).toBe('half_open');
  });

  it('closes when the trial succeeds and opens again when it fails', () => {
    const first = opened().breaker;
    const trial = trialOf(first.admit(RULES, false, NOW + 10_000));
    expect(first.onOutcome('success', trial, RULES, NOW + 10_100)).toMatchObject({ to: 'closed' });
    expect(first.view(NOW).state).toBe('closed');
    const second = opened().breaker;
    const failing = trialOf(second.admit(RULES, false, NOW + 10_000));
    expect(second.onOutcome('failure', failing, RULES, NOW + 10_500)).toMatchObject({ to: 'open' });
    expect(second.admit(RULES, false, NOW + 20_000)).toEqual({ refused: true });
    expect(second.admit(RULES, false, NOW + 20_500).refused).toBe(false);
    expect(second.openings).toBe(2);
  });

  it('ignores exchanges that were under way when it opened', () => {
    const { breaker } = opened();
    breaker.admit(RULES, false, NOW + 10_000);
    expect(breaker.onOutcome('success', undefined, RULES, NOW + 10_001)).toBeUndefined();
    expect(breaker.onOutcome('failure', undefined, RULES, NOW + 10_001)).toBeUndefined();
    expect(breaker.view(NOW).state).toBe('half_open');
  });

  it('admits another trial when the first one times out, which then counts as a usual exchange', () => {
    const { breaker } = opened();
    const first = trialOf(breaker.admit(RULES, false, NOW + 10_000));
    expect(breaker.admit(RULES, false, NOW + 60_000).refused).toBe(true);
    const second = trialOf(breaker.admit(RULES, false, NOW + 100_000));
    expect(breaker.onOutcome('failure', first, RULES, NOW + 100_001)).toBeUndefined();
    expect(breaker.onOutcome('abandoned', first, RULES, NOW + 100_001)).toBeUndefined();
    expect(breaker.onOutcome('success', second, RULES, NOW + 100_002)).toMatchObject({ to: 'closed' });
  });

  it('admits another trial at once if the first one ended without a result', () => {
    const { breaker } = opened();
    const trial = trialOf(breaker.admit(RULES, false, NOW + 10_000));
    expect(breaker.onOutcome('abandoned', trial, RULES, NOW + 10_100)).toMatchObject({ to: 'open' });
    expect(breaker.retryAfterSecs(RULES, NOW + 10_100)).toBe(1);
    expect(breaker.admit(RULES, false, NOW + 10_100).refused).toBe(false);
    expect(breaker.openings).toBe(1);
  });

  it('sends no trials while health checks can close it, and opens through them', () => {
    const { breaker } = opened();
    expect(breaker.admit(RULES, true, NOW + 1_000_000)).toEqual({ refused: true });
    expect(breaker.onProbe(true, RULES, NOW + 1_000_000)).toMatchObject({ event: 'probe_healthy' });
    expect(breaker.admit(RULES, true, NOW + 1_000_000).refused).toBe(false);
    expect(breaker.view(NOW).consecutive_failures).toBe(0);
    expect(breaker.onProbe(false, RULES, NOW + 1_000_001)).toMatchObject({ from: 'closed', to: 'open' });
  });

  it('regains its traffic over recovery_secs', () => {
    const { breaker } = opened();
    breaker.onProbe(true, RULES, NOW);
    expect([0, 500, 2_500, 5_000, 9_999, 10_000].map((ms) => breaker.share(RULES, true, NOW + ms))).toEqual([
      0.1, 0.1, 0.25, 0.5, 0.9999, 1,
    ]);
    expect(breaker.isPristine).toBe(false);
    expect(breaker.admit(RULES, true, NOW + 10_000)).toMatchObject({ refused: false, trial: undefined });
    expect(breaker.isPristine).toBe(true);
  });

  it('is not affected by its copy', () => {
    const { breaker } = opened();
    const copy = breaker.copy();
    expect(copy.view(NOW)).toEqual(breaker.view(NOW));
    copy.onProbe(true, RULES, NOW);
    expect(breaker.view(NOW).state).toBe('open');
  });

  it('is not affected by others of its block', () => {
    const memory = aloneInBlock();
    const [first, second] = [new Breaker(memory), new Breaker(createBreakerMemory())];
    first.onOutcome('failure', undefined, RULES, NOW);
    expect([first.isPristine, second.isPristine, restlessIn(memory)]).toEqual([false, true, 1]);
    second.onOutcome('failure', undefined, RULES, NOW);
    first.onOutcome('success', undefined, RULES, NOW);
    expect([first.isPristine, second.isPristine, restlessIn(memory)]).toEqual([true, false, 1]);
    expect(second.copy().isPristine).toBe(false);
    second.onOutcome('success', undefined, RULES, NOW);
    expect([first.isPristine, second.isPristine]).toEqual([true, true]);
  });

  it('stores every status of the table in its word', () => {
    const events = fc.array(
      fc.record({
        event: fc.constantFrom(...BREAKER_EVENTS.filter((event) => !event.startsWith('trial'))),
        afterMs: fc.nat(20_000),
        hasProbe: fc.boolean(),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(events, (steps) => {
        const memory = aloneInBlock();
        const breaker = new Breaker(memory);
        let twin: BreakerStatus = INITIAL_STATUS;
        let nowMs = NOW;
        for (const { event, afterMs, hasProbe } of steps) {
          nowMs += afterMs;
          if (event === 'request') {
            // The effect of `admit` when the recovery is over.
            if (twin.recovering && nowMs - twin.sinceMs >= RULES.recovery_secs * 1000)
              twin = transition(twin, 'recovery_over', RULES, hasProbe, nowMs).status;
            breaker.admit(RULES, hasProbe, nowMs);
          } else if (event === 'probe_healthy' || event === 'probe_unhealthy')
            breaker.onProbe(event === 'probe_healthy', RULES, nowMs);
          else if (event === 'success' || event === 'failure')
            breaker.onOutcome(event, undefined, RULES, nowMs);
          else continue;
          twin = transition(twin, event, RULES, hasProbe, nowMs).status;
          expect(breaker.status).toEqual(twin);
          const isPristine = twin.state === 'closed' && twin.failures === 0 && !twin.recovering;
          expect([breaker.isPristine, restlessIn(memory)]).toEqual([isPristine, Number(!isPristine)]);
        }
      }),
    );
  });
});
