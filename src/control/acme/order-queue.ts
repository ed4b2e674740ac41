/**
 * Decides in which order names get their certificates. Apps take turns, so an app with a thousand hosts, or with hosts
 * whose orders hang, does not delay other apps: one app alone can use up neither the places for orders under way nor
 * the orders of an hour. Pure.
 */
import type { DueReason } from './renewal.ts';

/** Limit of orders that run at once. */
export const ORDERS_AT_ONCE = 5;
/** Limit of orders at once for the names of one app. */
const OF_ONE_APP = ORDERS_AT_ONCE - 1;

export interface DueName {
  readonly name: string;
  /** Id of its app. */
  readonly app: string;
  readonly reason: DueReason;
  /** Expiry of the certificate that the name has; Unix milliseconds. */
  readonly expiresAtMs: number;
  /** Whether the certificate of the name expires soon. */
  readonly isUrgent: boolean;
}

/**
 * The order within an app: first orders that the authority already has, then expiring certificates, then new
 * names.
 */
function rankOf({ reason, isUrgent }: DueName): number {
  if (reason === 'under_way') return 0;
  if (isUrgent) return 1;
  return reason === 'missing' ? 2 : 3;
}

/**
 * The names whose orders should begin now, in order; there may be fewer places.
 * @param running apps of the running orders
 */
export function nextOrders(due: readonly DueName[], running: Iterable<string>): readonly DueName[] {
  const places = new Map<string, number>();
  const takePlace = (app: string): number => {
    const place = places.get(app) ?? 0;
    places.set(app, place + 1);
    return place;
  };
  for (const app of running) takePlace(app);
  const byRank = due.toSorted((a, b) => rankOf(a) - rankOf(b) || a.expiresAtMs - b.expiresAtMs);
  return byRank
    .map((each) => ({ each, place: takePlace(each.app) }))
    .filter(({ place }) => place < OF_ONE_APP)
    .sort((a, b) => a.place - b.place)
    .map(({ each }) => each);
}

/** How long all names wait after an authority has refused an order because of its limits, unless it asks for less. */
const REFUSED_MS = 60_000;

/**
 * How long other names wait after a refusal because of limits. Some limits apply to one name or domain, and
 * answers do not say which. So the refused name waits as long as the answer says; the others wait for a minute,
 * doubling with each further refusal.
 * @param refusals in a row, including this one
 * @param toldMs how long the authority asks to wait
 */
export function pauseMs(refusals: number, toldMs: number): number {
  return Math.min(toldMs, REFUSED_MS * 2 ** Math.min(refusals - 1, 20));
}
