/**
 * Asks the system for the addresses of names, on behalf of everything in one thread of the gateway: backends, health
 * checks, key sets, receivers of webhooks, certificate authorities. The system answers a query in a thread of the
 * process that waits with it, and a query cannot be cancelled. There is a limited number of these threads for the whole
 * process, so names that get no answer would take all of them, and no other name would be found.
 *
 * - A name is asked for once at a time, however many connections wait for it.
 * - Names that were slow the last time are asked for two at a time; those that were slow less often go first.
 * - Six of all other names are asked for at once. While all of these are slow, one more is asked for, up to a limit.
 *   The newest goes first: the connections that asked for older ones have mostly given up.
 *
 * Owns the queries that wait. `src/main.ts` sets the number of the system's threads.
 */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { systemClock } from '../lib/clock.ts';

/** A query that takes longer makes its name slow. */
export const SLOW_MS = 1_000;
/** Queries of slow names that a thread of the gateway has under way at once. */
export const SLOW_QUERIES_MAX = 2;
/** Queries of other names at once. */
export const QUERIES_AT_ONCE = 6;
/** Limit of queries of other names when all of them take longer than SLOW_MS. */
export const QUERIES_MAX = 16;
/** Names that are remembered as slow; the one that was added first is forgotten first. */
const SLOW_NAMES_MAX = 10_000;

/** All addresses of a name, best first; rejects as `dns.lookup` does. */
export type AskName = (host: string) => Promise<readonly LookupAddress[]>;

interface WaitingQuery {
  readonly host: string;
  readonly slowInARow: number;
  start(): void;
}

export interface NameQueriesOptions {
  readonly resolve: AskName;
  readonly monotonicMs: () => number;
}

export class NameQueries {
  readonly #options: NameQueriesOptions;
  readonly #underWay = new Map<string, Promise<readonly LookupAddress[]>>();
  /** How many queries of a name in a row were slow. */
  readonly #slow = new Map<string, number>();
  readonly #waitingSlow = new Set<WaitingQuery>();
  #runningSlow = 0;
  /** Queries of other names; the newest is the last. */
  readonly #waiting: WaitingQuery[] = [];
  #running = 0;
  /** Those of `#running` that have taken longer than SLOW_MS. */
  #late = 0;

  constructor(options: NameQueriesOptions) {
    this.#options = options;
  }

  readonly ask: AskName = (host) => {
    const known = this.#underWay.get(host);
    if (known !== undefined) {
      this.#moveUp(host);
      return known;
    }
    const slowInARow = this.#slow.get(host) ?? 0;
    const query = slowInARow > 0 ? this.#runSlow(host, slowInARow) : this.#run(host);
    const tracked = query.finally(() => this.#underWay.delete(host));
    this.#underWay.set(host, tracked);
    return tracked;
  };

  async #runSlow(host: string, slowInARow: number): Promise<readonly LookupAddress[]> {
    if (this.#runningSlow >= SLOW_QUERIES_MAX)
      await new Promise<void>((start) => this.#waitingSlow.add({ host, slowInARow, start }));
    else this.#runningSlow += 1;
    try {
      return await this.#query(host);
    } finally {
      const next = this.#nextSlow();
      if (next === undefined) this.#runningSlow -= 1;
      else next.start();
    }
  }

  async #run(host: string): Promise<readonly LookupAddress[]> {
    if (this.#mayStart) this.#running += 1;
    else await new Promise<void>((start) => this.#waiting.push({ host, slowInARow: 0, start }));
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#late += 1;
      this.#startNext();
    }, SLOW_MS).unref();
    try {
      return await this.#query(host);
    } finally {
      clearTimeout(timer);
      this.#running -= 1;
      if (isLate) this.#late -= 1;
      this.#startNext();
    }
  }

  /** A name that waits and is asked for again becomes the newest. */
  #moveUp(host: string): void {
    const at = this.#waiting.findLastIndex((one) => one.host === host);
    if (at >= 0) this.#waiting.push(...this.#waiting.splice(at, 1));
  }

  get #mayStart(): boolean {
    return this.#running < QUERIES_AT_ONCE || (this.#running === this.#late && this.#running < QUERIES_MAX);
  }

  #startNext(): void {
    while (this.#mayStart) {
      const next = this.#waiting.pop();
      if (next === undefined) return;
      this.#running += 1;
      next.start();
    }
  }

  /** A name that was slow less often goes first: the cause may have been an outage, and not the name. */
  #nextSlow(): WaitingQuery | undefined {
    let next: WaitingQuery | undefined;
    for (const one of this.#waitingSlow)
      if (next === undefined || one.slowInARow < next.slowInARow) next = one;
    if (next !== undefined) this.#waitingSlow.delete(next);
    return next;
  }

  async #query(host: string): Promise<readonly LookupAddress[]> {
    const { resolve, monotonicMs } = this.#options;
    const startedMs = monotonicMs();
    try {
      return await resolve(host);
    } finally {
      this.#note(host, monotonicMs() - startedMs > SLOW_MS);
    }
  }

  #note(host: string, isSlow: boolean): void {
    const slowInARow = this.#slow.get(host) ?? 0;
    this.#slow.delete(host);
    if (!isSlow) return;
    this.#slow.set(host, slowInARow + 1);
    const oldest = this.#slow.keys().next();
    if (this.#slow.size > SLOW_NAMES_MAX && oldest.done !== true) this.#slow.delete(oldest.value);
  }
}

/** A `lookup` for sockets. */
export function lookupFrom(ask: AskName): LookupFunction {
  const find = callbackify(ask);
  return (host, { all, family }, callback) => {
    find(host, (error, addresses) => {
      if (error !== null) return callback(error, '');
      const wanted =
        family === 4 || family === 6 ? addresses.filter((one) => one.family === family) : addresses;
      const [first] = wanted;
      if (first === undefined) callback(notFound(host), '');
      else if (all === true) callback(null, [...wanted]);
      else callback(null, first.address, first.family);
    });
  };
}

function notFound(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`there is no address for ${host}`), { code: 'ENOTFOUND' });
}

const ofThread = new NameQueries({
  resolve: (host) => lookup(host, { all: true }),
  monotonicMs: () => systemClock.monotonicMs(),
});

/** Asks the system. Everything in this thread that needs the address of a name does it here. */
export const askSystem: AskName = ofThread.ask;

/** The same for sockets. */
export const systemLookup: LookupFunction = lookupFrom(askSystem);
