/** How many requests there were, for the counts of a shadow report to be compared with. Pure. */
import type { ShadowRow, Stats, StatsTop } from '../../api/schema.ts';

export const WINDOWS = ['15m', '24h'] as const;
export type Window = (typeof WINDOWS)[number];

const WINDOW_MS: Readonly<Record<Window, number>> = { '15m': 900_000, '24h': 86_400_000 };
const MINUTE_MS = 60_000;

/** The start of the window, at a full minute, so that the same query has the same text for a while. */
export function windowStart(window: Window, nowMs: number): string {
  return new Date(Math.floor((nowMs - WINDOW_MS[window]) / MINUTE_MS) * MINUTE_MS).toISOString();
}

/** Requests since the report began to count; null where the gateway keeps no traffic over time. */
export function requestsSince(stats: Stats, from: string): number | null {
  if (!stats.enabled) return null;
  const fromSecs = Date.parse(from) / 1_000;
  const { time, requests } = stats.points;
  return time.reduce(
    (sum, at, index) => (at + stats.step_secs > fromSecs ? sum + (requests[index] ?? 0) : sum),
    0,
  );
}

/** Requests of the route of a row; null unless traffic and report have been counted since about the same time. */
export function requestsOfRoute(top: StatsTop, from: string, row: ShadowRow): number | null {
  const since = top.nodes.map((node) => Date.parse(node.since ?? top.from));
  const countedFromMs = Math.max(Date.parse(top.from), Math.min(...since));
  if (!top.enabled || row.route === null || Math.abs(countedFromMs - Date.parse(from)) > 2 * MINUTE_MS)
    return null;
  const found = top.rows.find(({ route, version }) => route === row.route && version === row.version);
  return found === undefined || found.requests < row.total ? null : found.requests;
}
