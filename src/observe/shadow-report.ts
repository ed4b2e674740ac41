/**
 * The shadow report: what parts in shadow mode would have denied, over all workers, per app, route, part and caller,
 * for the last seven days since the start. Counts are kept in segments of time: a minute each for the last hour, an
 * hour each before that. A report can thus begin where a policy was changed. Owns the segments; nothing is stored.
 *
 * Bounded per segment (shadow-tally.ts) and in total: beyond the total the app that has the most loses its oldest
 * segment, which its `sinceMs` shows, so that no app shortens the reports of others. The total of a row is always
 * exact.
 */
import { ShadowTally, type ShadowRow, type ShadowUsage } from './shadow-tally.ts';

export interface ShadowReportFilter {
  /** Unix milliseconds; undefined: from the beginning. */
  readonly fromMs?: number | undefined;
  readonly part?: string | undefined;
  /** null: only requests that matched no endpoint. */
  readonly endpointId?: string | null | undefined;
}

export interface ShadowReport {
  /** Since when requests of this app are counted. */
  readonly sinceMs: number;
  /** Where the counts begin: `fromMs` rounded down to the start of its segment, not before `sinceMs`. */
  readonly fromMs: number;
  readonly total: number;
  readonly byPart: Readonly<Record<string, number>>;
  /** Highest counts first; the callers of a row too. */
  readonly rows: readonly ShadowRow[];
}

export interface ShadowReportBounds {
  readonly segmentRows: number;
  readonly segmentCallers: number;
  readonly rows: number;
  readonly callers: number;
  /** Limit of the named callers of one row. */
  readonly rowCallers: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const RETENTION_MS = 7 * 24 * HOUR_MS;
const BOUNDS: ShadowReportBounds = {
  segmentRows: 10_000,
  segmentCallers: 40_000,
  rows: 20_000,
  callers: 50_000,
  rowCallers: 50,
};

interface Segment {
  readonly startMs: number;
  endMs: number;
  readonly tally: ShadowTally;
}

export class ShadowHistory {
  readonly #bounds: ShadowReportBounds;
  /** Since when requests of an app are counted, where that is later than for all. */
  readonly #appSinceMs = new Map<string, number>();
  #segments: Segment[] = [];
  #sinceMs: number;

  /** @param nowMs Unix milliseconds; counting begins here */
  constructor(nowMs: number, bounds: ShadowReportBounds = BOUNDS) {
    this.#sinceMs = nowMs;
    this.#bounds = bounds;
  }

  add(rows: readonly ShadowRow[], nowMs: number): void {
    if (rows.length === 0) return;
    const { tally } = this.#segmentAt(nowMs);
    for (const row of rows) tally.add(row);
    this.#enforceBounds();
  }

  read(appId: string, filter: ShadowReportFilter, nowMs: number): ShadowReport {
    this.#forgetOld(nowMs);
    const { rowCallers } = this.#bounds;
    const sinceMs = Math.max(this.#sinceMs, this.#appSinceMs.get(appId) ?? 0);
    const wantedMs = Math.max(sinceMs, filter.fromMs ?? 0);
    let fromMs = wantedMs;
    const sum = new ShadowTally({ rows: Infinity, callers: Infinity, rowCallers });
    for (const { startMs, endMs, tally } of this.#segments) {
      if (endMs <= wantedMs) continue;
      // A segment that contains `wantedMs` counts as a whole.
      fromMs = Math.min(fromMs, Math.max(startMs, sinceMs));
      for (const row of tally.rows()) if (row.appId === appId && isWanted(row, filter)) sum.add(row);
    }
    const byPart: Record<string, number> = {};
    let total = 0;
    const rows: ShadowRow[] = [];
    for (const row of sum.rows()) {
      byPart[row.last.part] = (byPart[row.last.part] ?? 0) + row.count;
      total += row.count;
      rows.push(withTopCallers(row, rowCallers));
    }
    return { sinceMs, fromMs, total, byPart, rows: rows.sort((a, b) => b.count - a.count) };
  }

  /** Resets the counts of an app. */
  reset(appId: string, nowMs: number): void {
    this.forget(appId);
    this.#appSinceMs.set(appId, nowMs);
  }

  /** Removes an app that was deleted. */
  forget(appId: string): void {
    for (const { tally } of this.#segments) tally.forget(appId);
    this.#appSinceMs.delete(appId);
  }

  /** The current segment. If the clock was set back, the last one. */
  #segmentAt(nowMs: number): Segment {
    const startMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
    const last = this.#segments.at(-1);
    if (last !== undefined && last.startMs >= startMs) return last;
    const { segmentRows: rows, segmentCallers: callers, rowCallers } = this.#bounds;
    const tally = new ShadowTally({ rows, callers, rowCallers });
    const segment: Segment = { startMs, endMs: startMs + MINUTE_MS, tally };
    this.#mergeHours(nowMs);
    this.#forgetOld(nowMs);
    this.#segments.push(segment);
    return segment;
  }

  /** Merges minutes that ended more than an hour ago into their hour. */
  #mergeHours(nowMs: number): void {
    const merged: Segment[] = [];
    for (const segment of this.#segments) {
      const hour = merged.at(-1);
      const isOld = segment.endMs <= nowMs - HOUR_MS;
      if (isOld && hour !== undefined && hourOf(hour.startMs) === hourOf(segment.startMs)) {
        for (const row of segment.tally.rows()) hour.tally.add(row);
        hour.endMs = segment.endMs;
      } else merged.push(segment);
    }
    this.#segments = merged;
  }

  #forgetOld(nowMs: number): void {
    while ((this.#segments[0]?.endMs ?? Infinity) <= nowMs - RETENTION_MS) this.#dropOldest();
  }

  /** Beyond the bounds, the app that has the most loses its oldest segment; the current one has its own bounds. */
  #enforceBounds(): void {
    let rows = 0;
    let callers = 0;
    for (const { tally } of this.#segments) {
      rows += tally.rowCount;
      callers += tally.callerCount;
    }
    if (rows <= this.#bounds.rows && callers <= this.#bounds.callers) return;
    const earlier = this.#segments
      .slice(0, -1)
      .map(({ tally, endMs }) => ({ tally, endMs, uses: tally.usage() }));
    const totals = sumOf(earlier.map(({ uses }) => uses));
    while (rows > this.#bounds.rows || callers > this.#bounds.callers) {
      const appId = appWithMost(totals, rows > this.#bounds.rows ? 'rows' : 'callers');
      const oldest = earlier.find(({ uses }) => appId !== undefined && uses.has(appId));
      if (appId === undefined || oldest === undefined) return;
      const freed = oldest.uses.get(appId) ?? NOTHING;
      oldest.tally.forget(appId);
      oldest.uses.delete(appId);
      totals.set(appId, difference(totals.get(appId) ?? NOTHING, freed));
      this.#appSinceMs.set(appId, Math.max(this.#appSinceMs.get(appId) ?? 0, oldest.endMs));
      rows -= freed.rows;
      callers -= freed.callers;
    }
  }

  #dropOldest(): void {
    const oldest = this.#segments.shift();
    if (oldest !== undefined) this.#sinceMs = Math.max(this.#sinceMs, oldest.endMs);
  }
}

const NOTHING: ShadowUsage = { rows: 0, callers: 0 };

const difference = (a: ShadowUsage, b: ShadowUsage): ShadowUsage => ({
  rows: a.rows - b.rows,
  callers: a.callers - b.callers,
});

/** By app. */
function sumOf(usages: readonly ReadonlyMap<string, ShadowUsage>[]): Map<string, ShadowUsage> {
  const sums = new Map<string, ShadowUsage>();
  for (const usage of usages)
    for (const [appId, { rows, callers }] of usage) {
      const sum = sums.get(appId) ?? NOTHING;
      sums.set(appId, { rows: sum.rows + rows, callers: sum.callers + callers });
    }
  return sums;
}

/** undefined: no app has any. */
function appWithMost(usage: ReadonlyMap<string, ShadowUsage>, what: keyof ShadowUsage): string | undefined {
  let most: string | undefined;
  let count = 0;
  for (const [appId, use] of usage) if (use[what] > count) [most, count] = [appId, use[what]];
  return most;
}

const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS);

function isWanted({ route, last }: ShadowRow, { part, endpointId }: ShadowReportFilter): boolean {
  if (part !== undefined && last.part !== part) return false;
  return endpointId === undefined || (route !== undefined && route.endpointId === endpointId);
}

function withTopCallers(row: ShadowRow, callersMax: number): ShadowRow {
  const sorted = row.callers.toSorted((a, b) => b.count - a.count);
  const others = sorted.slice(callersMax).reduce((sum, { count }) => sum + count, row.otherCallers);
  return { ...row, callers: sorted.slice(0, callersMax), otherCallers: others };
}
