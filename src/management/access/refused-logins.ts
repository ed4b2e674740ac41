/**
 * Records refused admin tokens and refused sign-ins with the OpenID provider in the log and in the audit log: the
 * first from an address at once, further ones as a count once a minute. Beyond a budget of entries all addresses
 * share one entry a minute, so that a flood fills neither log. Owns the pending counts.
 */
import { timestamp, type Clock } from '../../lib/clock.ts';
import { emptyAnswer } from '../api/failure.ts';
import { NOTHING_TOUCHED, type WritePath } from '../write/write.ts';

const ADDRESSES_MAX = 1_000;
const INTERVAL_MS = 60_000;
/** Budget of entries; it grows by one each minute. */
const ENTRIES_MAX = 60;

export interface RefusedLogin {
  readonly address: string;
  readonly requestId: string;
  /** The reason in words. */
  readonly reason: string;
  /** The part of a token that lists show; undefined when it cannot be a token. */
  readonly tokenPrefix?: string | undefined;
  /** The subject named by the OpenID provider; undefined when it names none. */
  readonly subject?: string | undefined;
}

interface Refusals {
  readonly last: RefusedLogin;
  readonly attempts: number;
  readonly firstAtMs: number;
}

export interface RefusedLoginsDependencies {
  readonly write: WritePath;
  readonly clock: Clock;
  readonly onRefused: (address: string) => void;
  readonly log: { warn(fields: object, text: string): void };
}

export class RefusedLogins {
  readonly #deps: RefusedLoginsDependencies;
  /** An entry with 0 attempts was written recently, and nothing has followed. */
  #counts = new Map<string, Refusals>();
  /** Of addresses that have no entry of their own. */
  #others: Refusals | undefined;
  #budget = ENTRIES_MAX;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: RefusedLoginsDependencies) {
    this.#deps = deps;
  }

  note(login: RefusedLogin): void {
    const nowMs = this.#deps.clock.nowMs();
    this.#deps.onRefused(login.address);
    this.#timer ??= setInterval(() => this.flush(), INTERVAL_MS).unref();
    const known = this.#counts.get(login.address);
    if (known !== undefined) this.#counts.set(login.address, added(known, login, nowMs));
    else if (this.#budget < 1 || this.#counts.size >= ADDRESSES_MAX) {
      const others = this.#others ?? { last: login, attempts: 0, firstAtMs: nowMs };
      this.#others = added(others, login, nowMs);
    } else {
      this.#counts.set(login.address, { last: login, attempts: 0, firstAtMs: nowMs });
      this.#report({ last: login, attempts: 1, firstAtMs: nowMs });
    }
  }

  /** Writes the counts; at the end of each minute, and of the server. */
  flush(): void {
    this.#budget = Math.min(ENTRIES_MAX, this.#budget + 1);
    const counts = this.#counts;
    const others = this.#others;
    this.#counts = new Map();
    this.#others = undefined;
    for (const [address, refusals] of counts) {
      if (refusals.attempts === 0) continue;
      // The address stays known for the next minute.
      this.#counts.set(address, { ...refusals, attempts: 0 });
      this.#report(refusals);
    }
    if (others !== undefined) this.#report(others, 'several addresses');
    if (counts.size > 0 || others !== undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  close(): void {
    this.flush();
    clearInterval(this.#timer);
  }

  #report({ last, attempts, firstAtMs }: Refusals, from?: 'several addresses'): void {
    const { log, write, clock } = this.#deps;
    const { address, requestId, reason, tokenPrefix, subject } = last;
    const change = {
      attempts,
      reason,
      first_at: timestamp(firstAtMs),
      ...(tokenPrefix !== undefined && { token_prefix: tokenPrefix }),
      ...(subject !== undefined && { subject }),
      ...(from !== undefined && { from }),
    };
    this.#budget = Math.max(0, this.#budget - 1);
    log.warn({ request_id: requestId, address, ...change }, 'logins were refused');
    void write({ actor: { id: 'anonymous' }, address, requestId }, async () => ({
      answer: emptyAnswer(204),
      touched: NOTHING_TOUCHED,
      audit: {
        action: 'login.refused',
        resourceType: 'login',
        resourceId: address,
        resourceName: null,
        parents: {},
        change,
      },
    })).catch((error: unknown) =>
      log.warn({ err: error, at: timestamp(clock.nowMs()) }, 'refused logins were not audited'),
    );
  }
}

function added(known: Refusals, last: RefusedLogin, nowMs: number): Refusals {
  return {
    last,
    attempts: known.attempts + 1,
    firstAtMs: known.attempts === 0 ? nowMs : known.firstAtMs,
  };
}
