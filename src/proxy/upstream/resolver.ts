/**
 * Addresses of backends by name, for one worker. The system's resolver is asked at most once every few seconds for each
 * name; meanwhile a recent answer is used. An older answer is used only when the resolver fails or is slow. So a new
 * address is used within `ADDRESS_USE_MS`, an outage of DNS does not stop backends that worked before, and all
 * connections to one name wait for one query. Names that were slow to be resolved are asked a few at a time
 * (lookup-line.ts).
 *
 * The connecting socket chooses among several addresses (RFC 8305).
 */
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { LookupLine, SLOW_MS } from './lookup-line.ts';

/** How long an answer is used without asking again. */
const FRESH_MS = 5_000;
/** How long an answer is used without waiting for a newer one. */
export const ADDRESS_USE_MS = 15_000;
/** How long a connection waits for a newer answer when there is an older one. */
const WAIT_MS = 1_000;
/** Names that were unused for this long are dropped. */
const FORGET_MS = 600_000;
/** Names come from the configuration, which may change often. */
const NAMES_MAX = 10_000;

export interface ResolverOptions {
  /** All addresses of a name, best first; rejects as `dns.lookup` does. */
  readonly resolve: (host: string) => Promise<readonly LookupAddress[]>;
  readonly monotonicMs: () => number;
  /** A known name can no longer be resolved. Called at most once every few seconds per name. */
  readonly onFailure: (host: string, error: Error) => void;
}

interface Known {
  addresses: readonly LookupAddress[] | undefined;
  /** Start of the query that returned `addresses`. */
  knownAtMs: number;
  /** Start of the latest query that has ended. */
  askedAtMs: number;
  usedAtMs: number;
  asking: Promise<readonly LookupAddress[]> | undefined;
  /** Slow queries since the last one that was not. */
  slowInARow: number;
}

interface Names {
  readonly byHost: Map<string, Known>;
  readonly line: LookupLine;
}

/** @returns a `lookup` for `net.connect` and `tls.connect` */
export function createLookup(options: ResolverOptions): LookupFunction {
  const names = { byHost: new Map<string, Known>(), line: new LookupLine() };
  const find = callbackify((host: string) => addressesOf(names, host, options));
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

async function addressesOf(
  { byHost, line }: Names,
  host: string,
  options: ResolverOptions,
): Promise<readonly LookupAddress[]> {
  const nowMs = options.monotonicMs();
  let known = byHost.get(host);
  if (known === undefined) {
    if (byHost.size >= NAMES_MAX) forget(byHost, nowMs);
    known = {
      addresses: undefined,
      knownAtMs: -Infinity,
      askedAtMs: -Infinity,
      usedAtMs: nowMs,
      asking: undefined,
      slowInARow: 0,
    };
    byHost.set(host, known);
  }
  known.usedAtMs = nowMs;
  if (known.asking === undefined && nowMs - known.askedAtMs >= FRESH_MS) ask(known, host, line, options);
  const { addresses, asking } = known;
  if (addresses === undefined) return asking ?? options.resolve(host);
  if (asking === undefined || nowMs - known.knownAtMs < ADDRESS_USE_MS) return addresses;
  return newer(asking, addresses);
}

/** The answer of the current query; the older one if that fails or takes too long. */
function newer(
  asking: Promise<readonly LookupAddress[]>,
  addresses: readonly LookupAddress[],
): Promise<readonly LookupAddress[]> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(addresses), WAIT_MS);
    asking.then(resolve, () => resolve(addresses)).finally(() => clearTimeout(timer));
  });
}

function ask(
  known: Known,
  host: string,
  line: LookupLine,
  { resolve, onFailure, monotonicMs }: ResolverOptions,
): void {
  let startedMs = 0;
  const query = (): Promise<readonly LookupAddress[]> => {
    startedMs = monotonicMs();
    return resolve(host);
  };
  const asking = line.run(known.slowInARow, query);
  known.asking = asking;
  const ended = (): void => {
    known.asking = undefined;
    known.slowInARow = monotonicMs() - startedMs > SLOW_MS ? known.slowInARow + 1 : 0;
  };
  asking.then(
    (addresses) => {
      ended();
      known.addresses = addresses;
      known.knownAtMs = startedMs;
      known.askedAtMs = startedMs;
    },
    (error: Error) => {
      ended();
      // The next connection to an unknown name asks again.
      if (known.addresses === undefined) return;
      known.askedAtMs = startedMs;
      onFailure(host, error);
    },
  );
}

/** Drops names that were unused for long, or else the name used longest ago. */
function forget(names: Map<string, Known>, nowMs: number): void {
  let oldest: string | undefined;
  let oldestMs = Infinity;
  for (const [host, { usedAtMs }] of names) {
    if (nowMs - usedAtMs >= FORGET_MS) names.delete(host);
    else if (usedAtMs < oldestMs) {
      oldest = host;
      oldestMs = usedAtMs;
    }
  }
  if (names.size >= NAMES_MAX && oldest !== undefined) names.delete(oldest);
}

function notFound(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`there is no address for ${host}`), { code: 'ENOTFOUND' });
}
