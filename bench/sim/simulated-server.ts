/**
 * The shared store in virtual time: what the script of a fixed window does (src/limits/shared/redis/redis-scripts.ts),
 * behind a network that takes its time. Every call takes a moment of the one thread that a server has.
 */
import type {
  GrantDone,
  GrantReply,
  GrantRequest,
  LimitServer,
} from '../../src/limits/shared/limit-server.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface Network {
  /** One way, least and most. */
  readonly oneWayMs: readonly [number, number];
  /** Of the server, for each call. */
  readonly callMs: number;
}

interface Counter {
  window: number;
  count: number;
}

export class SimulatedStore {
  readonly #time: VirtualTime;
  readonly #network: Network;
  readonly #counters = new Map<string, Counter>();
  #busyUntilMs = 0;
  #seed = 1;
  calls = 0;

  constructor(time: VirtualTime, network: Network) {
    this.#time = time;
    this.#network = network;
  }

  /** A connection of one thread. */
  connect(): LimitServer {
    return { grant: (request, done) => this.#send(request, done), reconnect: () => undefined };
  }

  #send(request: GrantRequest, done: GrantDone): void {
    this.#time.after(this.#oneWayMs(), () => {
      const { nowMs } = this.#time;
      this.#busyUntilMs = Math.max(nowMs, this.#busyUntilMs) + this.#network.callMs;
      this.#time.after(this.#busyUntilMs - nowMs, () => {
        this.calls += 1;
        const reply = this.#grant(request);
        this.#time.after(this.#oneWayMs(), () => done(reply, ''));
      });
    });
  }

  #grant({ rule, key, need, extra, holders, unused, window: knownWindow }: GrantRequest): GrantReply {
    const nowMs = Math.floor(this.#time.nowMs);
    const window = Math.floor(nowMs / rule.windowMs);
    const counter = this.#counters.get(key) ?? { window, count: 0 };
    this.#counters.set(key, counter);
    if (counter.window < window) Object.assign(counter, { window, count: 0 });
    if (knownWindow === window) counter.count = Math.max(0, counter.count - unused);
    const free = Math.max(0, rule.requests - counter.count);
    const needed = Math.min(need, free);
    const leased = Math.min(extra, Math.floor((free - needed) / holders));
    counter.count += needed + leased;
    const endMs = (window + 1) * rule.windowMs - nowMs;
    const left = free - needed - leased;
    return {
      granted: needed + leased,
      left,
      waitMs: left > 0 ? 0 : endMs,
      resetMs: endMs,
      validMs: endMs,
      window,
    };
  }

  #oneWayMs(): number {
    const [least, most] = this.#network.oneWayMs;
    return least + (most - least) * this.random();
  }

  /** The same numbers in every run (Lehmer, modulus 2^31 - 1). */
  random(): number {
    this.#seed = (this.#seed * 48_271) % 2_147_483_647;
    return this.#seed / 2_147_483_647;
  }
}
