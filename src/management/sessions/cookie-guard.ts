/**
 * Limits the work that unknown cookies cause. An unknown cookie is not looked up again for a while, for example that of
 * a browser that keeps asking after its session has ended. Each client address may send a limited number of other
 * unknown cookies a minute, as with wrong tokens (login-guard.ts). A cookie that was valid from this address before is
 * always looked up. Cookies count apart from wrong tokens, so that a browser whose session has ended can sign in.
 *
 * Owns a bounded number of refused cookies (hashes); the ones refused longest ago are forgotten first.
 */
import type { Clock } from '../../lib/clock.ts';
import { badSession } from '../access/admin-auth.ts';
import { LoginGuard } from '../access/login-guard.ts';
import { fail, type Failure } from '../api/failure.ts';

const REFUSED_MAX = 10_000;
const REFUSED_MS = 60_000;

export class CookieGuard {
  readonly #clock: Clock;
  readonly #guard: LoginGuard;
  /** Monotonic milliseconds until which a cookie is refused unseen, by its hash; in the order of the refusals. */
  readonly #refused = new Map<string, number>();

  /** @param failuresPerMinute limit of one address; 0: no limit */
  constructor(failuresPerMinute: number, clock: Clock) {
    this.#clock = clock;
    this.#guard = new LoginGuard(failuresPerMinute, () => clock.monotonicMs());
  }

  /**
   * Looks a cookie up, unless it was refused before or the address has sent too many.
   * @param address the client's address in canonical form
   * @param hash hash of the cookie's value
   */
  async run<T extends object>(
    address: string,
    hash: string,
    lookUp: () => Promise<T | undefined>,
  ): Promise<T | Failure> {
    if ((this.#refused.get(hash) ?? 0) > this.#clock.monotonicMs()) return ended();
    const waitSecs = this.#guard.admit(address, hash);
    if (waitSecs > 0) return slowedDown(waitSecs);
    try {
      const found = await lookUp();
      if (found === undefined) {
        this.#refuse(address, hash);
        return ended();
      }
      this.#guard.succeeded(address, hash);
      return found;
    } catch (error) {
      this.#guard.abandoned(address, hash);
      throw error;
    }
  }

  /** A session was started here. */
  started(address: string, hash: string): void {
    this.#guard.succeeded(address, hash);
  }

  #refuse(address: string, hash: string): void {
    this.#guard.failed(address, hash);
    this.#refused.delete(hash);
    this.#refused.set(hash, this.#clock.monotonicMs() + REFUSED_MS);
    const oldest = this.#refused.keys().next();
    if (this.#refused.size > REFUSED_MAX && oldest.done !== true) this.#refused.delete(oldest.value);
  }
}

const ended = (): Failure => badSession('the session has ended');

function slowedDown(waitSecs: number): Failure {
  const detail = 'Too many cookies without a session came from this address; try again later';
  return { ...fail('too_many_auth_failures', detail), headers: { 'Retry-After': String(waitSecs) } };
}
