/**
 * Addresses of backends by name, for one worker. The system's resolver is asked at most once every few seconds for each
 * name; meanwhile a recent answer is used. An older answer is used only when the resolver fails or is slow. So a new
 * address is used within `ADDRESS_USE_MS`, an outage of DNS does not stop backends that worked before, and all
 * connections to one name wait for one query. egress/name-queries.ts decides when the system is asked.
 *
 * The connecting socket chooses among several addresses (RFC 8305).
 */
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { lookupFrom, type AskName } from '../../egress/name-queries.ts';

/** How long an answer is used without asking again. */
const FRESH_MS = 5_000;
/** How long an answer is used without waiting for a newer one. */
export const ADDRESS_USE_MS = 15_000;
/** How long a connection waits for a newer answer when there is an older one. */
const WAIT_MS = 1_000;
/** Names that were unused for this long are dropped. */
const FORGET_MS = 600_000;
/** Limit of the cached names: they come from the configuration, which may change often. */
const NAMES_MAX = 10_000;

export interface ResolverOptions {
  readonly resolve: AskName;
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
}

/** @returns a `lookup` for `net.connect` and `tls.connect` */
export function createLookup(options: ResolverOptions): LookupFunction {
  const byHost = new Map<string, Known>();
  return lookupFrom((host) => addressesOf(byHost, host, options));
}

async function addressesOf(
  byHost: Map<string, Known>,
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
    };
    byHost.set(host, known);
  }
  known.usedAtMs = nowMs;
  if (known.asking === undefined && nowMs - known.askedAtMs >= FRESH_MS) ask(known, host, options);
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

function ask(known: Known, host: string, { resolve, onFailure, monotonicMs }: ResolverOptions): void {
  const startedMs = monotonicMs();
  const asking = resolve(host);
  known.asking = asking;
  asking.then(
    (addresses) => {
      known.asking = undefined;
      known.addresses = addresses;
      known.knownAtMs = startedMs;
      known.askedAtMs = startedMs;
    },
    (error: Error) => {
      known.asking = undefined;
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
