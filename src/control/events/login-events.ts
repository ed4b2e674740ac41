/**
 * Events of repeated wrong admin tokens from one network. The audit log, which only admins read, has each address;
 * an event has its network: the first three numbers of an IPv4 address, the /64 of an IPv6 address. Owns counts for
 * a bounded number of networks.
 */
import { isIP } from 'node:net';
import { addressBlock } from '../../http/address.ts';
import type { Clock } from '../../lib/clock.ts';
import type { PacedEvents } from './paced-events.ts';

/** This many within `WINDOW_MS` cause an event. */
export const REFUSED_MIN = 5;
const WINDOW_MS = 600_000;
/** The least time between two events about one network. */
const QUIET_MS = 3_600_000;
const NETWORKS_MAX = 1_000;

interface Refusals {
  count: number;
  /** Times of the monotonic clock: a wall clock that is set back must not keep an attack from being told. */
  sinceMs: number;
  toldMs: number;
}

export class LoginEvents {
  readonly #paced: PacedEvents;
  readonly #clock: Clock;
  readonly #networks = new Map<string, Refusals>();

  constructor(paced: PacedEvents, clock: Clock) {
    this.#paced = paced;
    this.#clock = clock;
  }

  refused(address: string): void {
    const nowMs = this.#clock.monotonicMs();
    const network = networkOf(address);
    let refusals = this.#networks.get(network);
    if (refusals === undefined) {
      refusals = { count: 0, sinceMs: nowMs, toldMs: -Infinity };
      if (this.#networks.size >= NETWORKS_MAX) this.#forgetOldest();
      this.#networks.set(network, refusals);
    }
    // After an event, all wrong tokens are counted until the next event.
    if (refusals.toldMs === -Infinity && nowMs - refusals.sinceMs > WINDOW_MS) {
      refusals.count = 0;
      refusals.sinceMs = nowMs;
    }
    refusals.count += 1;
    if (refusals.count < REFUSED_MIN || nowMs - refusals.toldMs < QUIET_MS) return;
    this.#paced.record('logins', {
      type: 'login.refused_repeatedly',
      dedupe_key: `login.refused_repeatedly:${network}:${Math.floor(this.#clock.nowMs() / WINDOW_MS)}`,
      subject: { kind: 'network', id: network, name: network },
      data: { refused: refusals.count },
    });
    refusals.toldMs = nowMs;
    refusals.count = 0;
  }

  #forgetOldest(): void {
    const oldest = this.#networks.keys().next();
    if (oldest.done !== true) this.#networks.delete(oldest.value);
  }
}

const IPV6_BITS = 64;

function networkOf(address: string): string {
  return isIP(address) === 4
    ? `${address.slice(0, address.lastIndexOf('.'))}.0/24`
    : addressBlock(address, IPV6_BITS);
}
