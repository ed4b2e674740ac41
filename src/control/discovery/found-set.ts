/**
 * Decides which set of targets is used, from the set found and the set in use. When a set shrinks by more than half,
 * its source may be failing rather than the targets: it is used once the next look-up finds the same, or when look-ups
 * have found too few for a while. Pure.
 */
import { shownPlace } from '../../config/backend.ts';
import type { FoundTarget } from '../../model/resources.ts';

/** Limit of the targets of one source, as for a written list. */
export const FOUND_MAX = 256;

/**
 * After this time and so many look-ups, a smaller set is used although each look-up finds another one: the targets in
 * use may be gone, and a server that answers with some of many targets, or with other weights each time, does not give
 * the same answer twice.
 */
export const DOUBT_MS_MAX = 30_000;
export const DOUBTED_LOOKS_MAX = 5;

export interface Doubt {
  readonly targets: readonly FoundTarget[];
  /** How many look-ups in a row have found less than half of the targets in use, and for how long. */
  readonly looks: number;
  readonly forMs: number;
}

export type NextSet =
  | { readonly kind: 'same' }
  /** The found set is used from now on. */
  | { readonly kind: 'taken'; readonly targets: readonly FoundTarget[] }
  /** The set in use stays for now. */
  | { readonly kind: 'doubted'; readonly targets: readonly FoundTarget[] };

/**
 * @param inUse empty before the first look-up
 * @param doubt about the set that the previous look-up found, if it was doubted
 * @param found not empty
 */
export function nextSet(
  inUse: readonly FoundTarget[],
  doubt: Doubt | undefined,
  found: readonly FoundTarget[],
): NextSet {
  if (isEqual(inUse, found)) return { kind: 'same' };
  const hasShrunk = found.length * 2 < inUse.length;
  return { kind: hasShrunk && !isBelieved(doubt, found) ? 'doubted' : 'taken', targets: found };
}

function isBelieved(doubt: Doubt | undefined, found: readonly FoundTarget[]): boolean {
  if (doubt === undefined) return false;
  return (doubt.forMs >= DOUBT_MS_MAX && doubt.looks >= DOUBTED_LOOKS_MAX) || isEqual(doubt.targets, found);
}

function isEqual(some: readonly FoundTarget[], others: readonly FoundTarget[]): boolean {
  return (
    some.length === others.length &&
    some.every((target, index) => {
      const other = others[index] as FoundTarget;
      return target === other || textOf(target) === textOf(other);
    })
  );
}

function textOf({ host, port, weight, zone, foundAs, service }: FoundTarget): string {
  return JSON.stringify([host, port, weight, zone, foundAs, service]);
}

/**
 * Each target once, in an order that does not depend on the answer, up to the limit. Names of one SRV answer may lead
 * to the same place: it then has the weight of all of them, and the first name.
 */
export function boundedSet(found: readonly FoundTarget[]): {
  readonly targets: readonly FoundTarget[];
  readonly leftOut: number;
} {
  const byPlace = new Map<string, FoundTarget>();
  for (const target of found) {
    const place = placeOf(target);
    const other = byPlace.get(place);
    byPlace.set(place, other === undefined ? target : joined(other, target));
  }
  const ordered = [...byPlace.entries()]
    .sort(([a], [b]) => (a < b ? -1 : Number(a > b)))
    .map(([, target]) => target);
  return { targets: ordered.slice(0, FOUND_MAX), leftOut: Math.max(0, ordered.length - FOUND_MAX) };
}

/** Of two targets in one place. An answer may also have the same address of a name twice. */
function joined(some: FoundTarget, other: FoundTarget): FoundTarget {
  const [a = '', b = ''] = [some.foundAs, other.foundAs];
  if (a === b) return some;
  return { ...(a < b ? some : other), weight: some.weight + other.weight };
}

const placeOf = ({ host, port }: FoundTarget): string => shownPlace(host, port);

/** Targets that only one of the sets has. */
export function changedPlaces(
  before: readonly FoundTarget[],
  after: readonly FoundTarget[],
): { readonly added: string[]; readonly removed: string[] } {
  const [old, now] = [new Set(before.map(placeOf)), new Set(after.map(placeOf))];
  return {
    added: [...now].filter((place) => !old.has(place)),
    removed: [...old].filter((place) => !now.has(place)),
  };
}
