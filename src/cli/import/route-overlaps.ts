/**
 * Decides which endpoints each route gets when several routes match the same requests. In other gateways the first
 * route in order takes them. Every set of requests that some routes share is a region, which belongs to the first of
 * these routes. A route has an active endpoint for each of its own regions, and a disabled endpoint for each region
 * that it matches and that belongs to another route. The most specific endpoint that matches a request therefore
 * decides which route serves it.
 */
import type { Entry, ImportedRoute, Requests } from './imported-route.ts';
import { intersection, isLiteral, pathOf, shapeOf } from './route-patterns.ts';

/** By method and path; an endpoint without an entry is disabled. */
export type Endpoints = readonly { readonly label: string; readonly entry: Entry | undefined }[];

interface Region extends Requests {
  readonly key: string;
  /** The first entry that matches the whole region. */
  readonly owner: Entry;
  /** Position of the owner in the order. */
  readonly rank: number;
  /** Routes that match the whole region. */
  readonly routes: Set<ImportedRoute>;
  /** An entry matches exactly these requests. */
  isEntry: boolean;
}

/** Limit of the regions of a mount; beyond it, overlaps are decided by specificity alone. */
const REGIONS_MAX = 20_000;

/** The endpoints of each route that has an active one. */
export function endpointsOf(entries: readonly Entry[]): Map<ImportedRoute, Endpoints> {
  const regions = new Regions();
  for (const [rank, entry] of [...entries].sort(byPriority).entries()) regions.add(entry, rank);
  const found = new Map<ImportedRoute, Region[]>();
  for (const region of regions.all) {
    for (const route of region.routes) {
      const known = found.get(route);
      if (known === undefined) found.set(route, [region]);
      else known.push(region);
    }
  }
  const endpoints = new Map<ImportedRoute, Endpoints>();
  for (const [route, own] of found) {
    if (own.some(({ owner }) => owner.route === route)) endpoints.set(route, endpointsIn(route, own));
  }
  return endpoints;
}

function endpointsIn(route: ImportedRoute, regions: readonly Region[]): Endpoints {
  const isAlone = regions.every(({ owner }) => owner.route === route);
  const drops = new Set(regions.map(({ owner }) => owner.pattern.drop));
  // When no other route overlaps, the patterns of the route are sufficient.
  const needed = isAlone && drops.size === 1 ? regions.filter(({ isEntry }) => isEntry) : regions;
  return needed.map(({ owner, method, segments }) => ({
    label: `${method} ${pathOf(segments)}`,
    entry: owner.route === route ? { ...owner, method, segments } : undefined,
  }));
}

/**
 * A set of regions that is closed under intersection. Most entries differ in their first segment and are not
 * compared.
 */
class Regions {
  readonly #byKey = new Map<string, Region>();
  readonly #byFirst = new Map<string, Region[]>();
  readonly #open: Region[] = [];

  get all(): Iterable<Region> {
    return this.#byKey.values();
  }

  add(entry: Entry, rank: number): void {
    const candidates = new Map<string, Region>();
    const offer = (requests: Requests, owner: Entry, ownerRank: number, isEntry: boolean): void => {
      const key = `${requests.method} ${shapeOf(requests.segments)}`;
      const known = this.#byKey.get(key);
      if (known !== undefined) {
        known.isEntry ||= isEntry;
        known.routes.add(entry.route);
        return;
      }
      const candidate = candidates.get(key);
      if (candidate !== undefined && candidate.rank <= ownerRank) return;
      candidates.set(key, {
        ...requests,
        key,
        owner,
        rank: ownerRank,
        routes: new Set(),
        isEntry: isEntry || candidate?.isEntry === true,
      });
    };
    for (const region of this.#near(entry)) {
      const both = shared(entry, region);
      if (both !== undefined) offer(both, region.owner, region.rank, isSame(both, entry));
    }
    offer(entry, entry, rank, true);
    for (const region of candidates.values()) this.#keep(region, entry);
  }

  #keep(region: Region, entry: Entry): void {
    if (this.#byKey.size >= REGIONS_MAX) return;
    for (const other of this.#near(region)) {
      const both = shared(region, other);
      if (both !== undefined && isSame(both, region))
        for (const route of other.routes) region.routes.add(route);
    }
    region.routes.add(entry.route);
    this.#byKey.set(region.key, region);
    const [first = ''] = region.segments;
    const same = this.#byFirst.get(first);
    if (!isLiteral(first)) this.#open.push(region);
    else if (same === undefined) this.#byFirst.set(first, [region]);
    else same.push(region);
  }

  /** Regions that may share requests with these. */
  #near({ segments: [first = ''] }: Requests): Iterable<Region> {
    if (!isLiteral(first)) return [...this.#byKey.values()];
    return [...(this.#byFirst.get(first) ?? []), ...this.#open];
  }
}

function shared(one: Requests, other: Requests): Requests | undefined {
  const isAny = one.method === '*' || other.method === '*';
  if (!isAny && one.method !== other.method) return undefined;
  const segments = intersection(one.segments, other.segments);
  return segments && { method: one.method === '*' ? other.method : one.method, segments };
}

function isSame(one: Requests, other: Requests): boolean {
  return one.method === other.method && shapeOf(one.segments) === shapeOf(other.segments);
}

export function byPriority(a: Pick<Entry, 'pattern'>, b: Pick<Entry, 'pattern'>): number {
  const [one, other] = [a.pattern.priority, b.pattern.priority];
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    const difference = (other[index] ?? 0) - (one[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
