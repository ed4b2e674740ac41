/**
 * Looks up targets in DNS: all addresses of a name (A and AAAA), or the targets of a service (SRV, RFC 2782) with
 * the addresses of their names. Owns the resolver, and for each source the last found addresses: when one kind of
 * record cannot be read, its addresses stay.
 *
 * Asks only DNS servers, without hosts file and search domains, so names must be complete.
 */
import type { SrvRecord } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { Discovery, FoundTarget } from '../../model/resources.ts';
import type { Egress } from '../../egress/egress.ts';
import { serviceName } from '../../management/write/rules/discovery.ts';
import { TARGET_WEIGHT_DEFAULT } from '../../management/schemas/revision-parts/targets.ts';
import { FOUND_MAX } from './found-set.ts';
import { permitted, type Look } from './look.ts';

/** After this time, the servers of the system are read again. */
const RESOLVER_AGE_MS = 30_000;
const TRIES = 2;
/** Limit of concurrent look-ups for the names of one SRV answer. */
const NAMES_AT_ONCE = 16;
/** Time limit for all names of an SRV answer together, as a multiple of the limit for one query. */
const NAMES_TIMEOUTS = 2;
/** Approximate limit of the targets of one SRV answer. */
const SRV_TARGETS_MAX = 4 * FOUND_MAX;
/**
 * The weight of an SRV record is divided among the addresses of its name; this factor keeps the shares exact enough.
 */
const WEIGHT_SCALE = 10;

export interface DnsLookOptions {
  /** Addresses of DNS servers, with an optional port; empty: the servers of the system. */
  readonly servers: readonly string[];
  readonly timeoutMs: number;
  readonly srvIntervalMs: number;
  readonly egress: Egress;
  readonly monotonicMs: () => number;
}

type Family = 4 | 6;
/** What earlier look-ups of a source have learnt about its names. */
export interface KnownNames {
  /** By name and family. */
  readonly addresses: Map<string, readonly string[]>;
  /** Names that did not answer in time: they are looked up after the others. */
  readonly silent: Set<string>;
}

export const newKnownNames = (): KnownNames => ({ addresses: new Map(), silent: new Set() });

interface Addresses {
  readonly addresses: readonly string[];
  /** The TTL of the records; undefined when there are none. */
  readonly ttlMs: number | undefined;
  readonly notes: readonly string[];
  /** Why there are no records. */
  readonly error: string | undefined;
}

export class DnsLook {
  readonly #options: DnsLookOptions;
  #resolver: Resolver;
  #madeAtMs: number;

  constructor(options: DnsLookOptions) {
    this.#options = options;
    this.#resolver = this.#newResolver();
    this.#madeAtMs = options.monotonicMs();
  }

  /** @param known names of the source; this function changes it */
  async addressesOf({ host, port }: Discovery & { type: 'dns' }, known: KnownNames): Promise<Look> {
    const { egress } = this.#options;
    const { addresses, ttlMs, notes, error } = await this.#resolve(host, known);
    if (error !== undefined) return { kind: 'failed', error };
    const found = addresses.map((address): FoundTarget => {
      return { host: address, port, weight: TARGET_WEIGHT_DEFAULT, foundAs: host, service: host };
    });
    return permitted(found, (target) => egress.denial(host, target.host, port), notes, ttlMs);
  }

  /** @param known names of the source; this function changes it */
  async placesOf({ name }: Discovery & { type: 'dns_srv' }, known: KnownNames): Promise<Look> {
    const { egress, srvIntervalMs } = this.#options;
    let records;
    try {
      records = await this.#current().resolveSrv(name);
    } catch (error) {
      return { kind: 'failed', error: `SRV ${name}: ${errorText(error)}` };
    }
    const { used, leftOut } = boundedPlaces(records);
    const resolved = await this.#resolveAll([...new Set(used.map((record) => record.name))], known);
    const service = serviceName(name);
    const { found, cut } = targetsAt(used, resolved, service);
    const all = [...resolved.values()];
    const notes = all.flatMap((each) => (each.error === undefined ? each.notes : [each.error]));
    if (found.length === 0)
      return { kind: 'failed', error: notes[0] ?? `SRV ${name}: the service has no targets` };
    const againMs = Math.min(
      srvIntervalMs,
      ...all.flatMap(({ ttlMs }) => (ttlMs === undefined ? [] : [ttlMs])),
    );
    const denialOf = (target: FoundTarget): string | undefined =>
      egress.denial(service, target.host, target.port) ??
      egress.denial(target.foundAs ?? service, target.host, target.port);
    const look = permitted(found, denialOf, notes, againMs);
    return look.kind === 'found' && leftOut + cut > 0 ? { ...look, leftOut: leftOut + cut } : look;
  }

  /** Names that do not answer within the common time keep the addresses that they had. */
  async #resolveAll(names: readonly string[], known: KnownNames): Promise<Map<string, Addresses>> {
    const { silent } = known;
    const line = [...names.filter((name) => !silent.has(name)), ...names.filter((name) => silent.has(name))];
    const asked = new Set<string>();
    const resolved = new Map<string, Addresses>();
    const limitMs = NAMES_TIMEOUTS * this.#options.timeoutMs;
    let isOver = false;
    const work = async (): Promise<void> => {
      for (let name = line.shift(); name !== undefined && !isOver; name = line.shift()) {
        asked.add(name);
        const answer = await this.#resolve(name, known);
        // After the time limit, the result is already in use.
        if (!isOver) resolved.set(name, answer);
      }
    };
    let timer: NodeJS.Timeout | undefined;
    const end = new Promise<void>((done) => (timer = setTimeout(done, limitMs)));
    await Promise.race([Promise.all(Array.from({ length: NAMES_AT_ONCE }, work)), end]);
    clearTimeout(timer);
    isOver = true;
    for (const name of names) {
      if (resolved.has(name)) {
        silent.delete(name);
        continue;
      }
      if (asked.has(name)) silent.add(name);
      const addresses = ([4, 6] as const).flatMap((family) => known.addresses.get(`${family} ${name}`) ?? []);
      const error = `${name}: no answer within ${limitMs} ms, the time limit for all names of the service`;
      resolved.set(name, { addresses, ttlMs: undefined, notes: [], error });
    }
    // Names of services come and go.
    if (silent.size > 4 * FOUND_MAX) silent.clear();
    return resolved;
  }

  stop(): void {
    this.#resolver.cancel();
  }

  async #resolve(name: string, { addresses: known }: KnownNames): Promise<Addresses> {
    const answers = await Promise.all([this.#ask(name, 4), this.#ask(name, 6)]);
    const fresh = answers.some(({ addresses }) => addresses.length > 0);
    const ttls = answers.flatMap(({ ttlMs }) => (ttlMs === undefined ? [] : [ttlMs]));
    const failures = answers.flatMap(({ error }) => (error === undefined ? [] : [error]));
    const [error = `${name} has no address`] = failures;
    const addresses = answers.flatMap(({ family, addresses: found, isMissing }) => {
      const key = `${family} ${name}`;
      // If a kind of record cannot be read now, its addresses stay; if it does not exist, they are dropped.
      if (found.length === 0 && !(isMissing && fresh)) return known.get(key) ?? [];
      known.set(key, found);
      return found;
    });
    // Names of services come and go.
    if (known.size > 4 * FOUND_MAX) known.clear();
    return {
      addresses,
      ttlMs: ttls.length === 0 ? undefined : Math.min(...ttls),
      notes: fresh ? failures : [],
      error: fresh ? undefined : error,
    };
  }

  async #ask(name: string, family: Family) {
    const nothing = {
      family,
      addresses: [] as string[],
      ttlMs: undefined,
      isMissing: false,
      error: undefined,
    };
    try {
      const resolver = this.#current();
      const records =
        family === 4
          ? await resolver.resolve4(name, { ttl: true })
          : await resolver.resolve6(name, { ttl: true });
      if (records.length === 0) return { ...nothing, isMissing: true };
      const ttlMs = Math.min(...records.map(({ ttl }) => ttl)) * 1_000;
      return { ...nothing, addresses: records.map(({ address }) => address), ttlMs };
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENODATA') return { ...nothing, isMissing: true };
      return { ...nothing, error: `${family === 4 ? 'A' : 'AAAA'} ${name}: ${errorText(error)}` };
    }
  }

  #current(): Resolver {
    const nowMs = this.#options.monotonicMs();
    if (this.#options.servers.length === 0 && nowMs - this.#madeAtMs > RESOLVER_AGE_MS) {
      this.#resolver = this.#newResolver();
      this.#madeAtMs = nowMs;
    }
    return this.#resolver;
  }

  #newResolver(): Resolver {
    const { servers, timeoutMs } = this.#options;
    const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES });
    if (servers.length > 0) resolver.setServers(servers);
    return resolver;
  }
}

/**
 * The records with the lowest priority, with names in lower case; if there are too many, the same ones for any
 * order of the answer.
 */
function boundedPlaces(records: readonly SrvRecord[]) {
  const named = records.filter(({ name }) => name !== '' && name !== '.');
  const places = lowestPriority(named).map((record) => ({ ...record, name: record.name.toLowerCase() }));
  if (places.length > FOUND_MAX)
    places.sort((a, b) => (a.name === b.name ? a.port - b.port : a.name < b.name ? -1 : 1));
  return { used: places.slice(0, FOUND_MAX), leftOut: Math.max(0, places.length - FOUND_MAX) };
}

function targetsAt(
  places: readonly SrvRecord[],
  resolved: ReadonlyMap<string, Addresses>,
  service: string,
): { readonly found: FoundTarget[]; readonly cut: number } {
  const found: FoundTarget[] = [];
  // Each of many targets may have a name with thousands of addresses.
  const most = Math.ceil(SRV_TARGETS_MAX / places.length);
  let cut = 0;
  for (const { name: foundAs, port, weight: placeWeight } of places) {
    const addresses = resolved.get(foundAs)?.addresses ?? [];
    const weight = Math.max(1, Math.round((placeWeight * WEIGHT_SCALE) / Math.max(1, addresses.length)));
    const some = addresses.length > most ? [...addresses].sort().slice(0, most) : addresses;
    cut += addresses.length - some.length;
    for (const host of some) found.push({ host, port, weight, foundAs, service });
  }
  return { found, cut };
}

function lowestPriority<T extends { readonly priority: number }>(records: readonly T[]): T[] {
  const lowest = Math.min(...records.map(({ priority }) => priority));
  return records.filter(({ priority }) => priority === lowest);
}

const ERRORS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name does not exist',
  ENODATA: 'there are no such records',
  ESERVFAIL: 'the DNS server failed',
  EREFUSED: 'the DNS server refused',
  ETIMEOUT: 'no DNS server answered in time',
  ECONNREFUSED: 'no DNS server can be reached',
  ECANCELLED: 'the gateway is stopping',
};

function errorText(error: unknown): string {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  const text = ERRORS[code];
  return text === undefined ? code : `${text} (${code})`;
}
