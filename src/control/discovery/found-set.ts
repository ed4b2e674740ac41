/**
 * Decides which set of targets is used, from the set found and the set in use. When a set shrinks by more than half,
 * its source may be failing rather than the targets: it is used once the next look-up finds the same. Pure.
 */
import { shownPlace } from '../../config/backend.ts';
import type { FoundTarget } from '../../model/resources.ts';

/** Limit of the targets of one source, as for a written list. */
export const FOUND_MAX = 256;

export type NextSet =
  | { readonly kind: 'same' }
  /** The found set is used from now on. */
  | { readonly kind: 'taken'; readonly targets: readonly FoundTarget[] }
  /** The set in use stays until a second look-up finds this one again. */
  | { readonly kind: 'doubted'; readonly targets: readonly FoundTarget[] };

/**
 * @param inUse empty before the first look-up
 * @param doubted the set that the previous look-up found, if it was doubted
 * @param found not empty
 */
export function nextSet(
  inUse: readonly FoundTarget[],
  doubted: readonly FoundTarget[] | undefined,
  found: readonly FoundTarget[],
): NextSet {
  if (isEqual(inUse, found)) return { kind: 'same' };
  const hasShrunk = found.length * 2 < inUse.length;
  const isSeenTwice = doubted !== undefined && isEqual(doubted, found);
  return { kind: hasShrunk && !isSeenTwice ? 'doubted' : 'taken', targets: found };
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

/** Each target once, in an order that does not depend on the answer, up to the limit. */
export function boundedSet(found: readonly FoundTarget[]): {
  readonly targets: readonly FoundTarget[];
  readonly leftOut: number;
} {
  const byPlace = new Map<string, FoundTarget>();
  for (const target of found) {
    const place = placeOf(target);
    if (!byPlace.has(place)) byPlace.set(place, target);
  }
  const ordered = [...byPlace.entries()]
    .sort(([a], [b]) => (a < b ? -1 : Number(a > b)))
    .map(([, target]) => target);
  return { targets: ordered.slice(0, FOUND_MAX), leftOut: Math.max(0, ordered.length - FOUND_MAX) };
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
