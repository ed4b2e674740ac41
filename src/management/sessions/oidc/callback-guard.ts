/**
 * Limits the work of browsers that come back from the OpenID provider, or pretend to: each makes the gateway ask the
 * provider. An answer of the provider is taken once, a few are processed at the same time, and each address may fail a
 * limited number of times a minute.
 *
 * Owns a bounded number of the sign-ins that were answered. Other gateways do not know them: there, the provider
 * refuses a code that was used.
 */
import { LoginGuard } from '../../access/login-guard.ts';
import { Admission } from '../../api/admission.ts';
import { fail, isFailure, type Failure } from '../../api/failure.ts';
import type { Clock } from '../../../lib/clock.ts';
import { FLOW_SECS, type Flow } from './flow-cookie.ts';

const AT_ONCE = 16;
const ANSWERED_MAX = 10_000;

export class CallbackGuard {
  readonly #clock: Clock;
  readonly #guard: LoginGuard;
  readonly #admission = new Admission(AT_ONCE);
  /** Unix milliseconds after which the sign-in has ended anyway, by its state; in the order of the answers. */
  readonly #answered = new Map<string, number>();

  /** @param failuresPerMinute limit of one address; 0: no limit */
  constructor(failuresPerMinute: number, clock: Clock) {
    this.#clock = clock;
    this.#guard = new LoginGuard(failuresPerMinute, () => clock.monotonicMs());
  }

  /** Runs the work unless the sign-in was answered before, or too much is going on. */
  async run<T extends object>(
    { state }: Flow,
    address: string,
    work: () => Promise<T | Failure>,
  ): Promise<T | Failure> {
    if (this.#answered.has(state))
      return fail('sign_in_failed', 'This sign-in was answered before; start again');
    const waitSecs = this.#guard.admit(address, state);
    if (waitSecs > 0) {
      const detail = 'Too many sign-ins from this address have failed; try again later';
      return { ...fail('too_many_auth_failures', detail), headers: { 'Retry-After': String(waitSecs) } };
    }
    const leave = this.#admission.enter();
    if (typeof leave !== 'function') {
      this.#guard.abandoned(address, state);
      return leave;
    }
    this.#remember(state);
    try {
      const result = await work();
      if (isFailure(result)) this.#guard.failed(address, state);
      else this.#guard.succeeded(address, state);
      return result;
    } finally {
      leave();
    }
  }

  #remember(state: string): void {
    const nowMs = this.#clock.nowMs();
    for (const [old, endsAtMs] of this.#answered) {
      if (endsAtMs > nowMs && this.#answered.size < ANSWERED_MAX) break;
      this.#answered.delete(old);
    }
    this.#answered.set(state, nowMs + FLOW_SECS * 1_000);
  }
}
