/**
 * The shadow report: what parts in shadow mode would have denied, over all workers, per app, route, part and caller,
 * for the last seven days since the start. Counts lie in segments of time, of a minute each within the last hour and
 * of an hour before, so that a report can begin where a policy was changed. Owns the segments; nothing is stored.
 *
 * Bounded: rows and named callers per segment and over all segments. Beyond the bound of a segment routes share a
 * row per app and callers are counted together; beyond that of all, the oldest segments go and `sinceMs` says so. A
 * row names the callers with the highest counts. One that was squeezed out before may show less than it had; what
 * it lacks is in `otherCallers`, and the total of a row is always exact.
 */
import {
  callerKey,
  rowKey,
  sharedRowKey,
  type CallerCount,
  type WouldDenyFact,
  type WouldDenyRoute,
  type WouldDenyRow,
} from './shadow-denials.ts';

export interface ShadowReportFilter {
  /** Unix milliseconds; undefined: from the beginning. */
  readonly fromMs?: number | undefined;
  readonly part?: string | undefined;
  /** null: only what no endpoint matched. */
  readonly endpointId?: string | null | undefined;
}

export interface ShadowReport {
  /** Since when requests of this app are counted. */
  readonly sinceMs: number;
  /** Where the counts really begin: `fromMs` put back to the start of its segment, not before `sinceMs`. */
  readonly fromMs: number;
  readonly total: number;
  readonly byPart: Readonly<Record<string, number>>;
  /** Highest counts first. */
  readonly rows: readonly WouldDenyRow[];
}

export interface ShadowReportBounds {
  readonly segmentRows: number;
  readonly segmentCallers: number;
  readonly rows: number;
  readonly callers: number;
  /** Named in a row; twice as many are kept while counting. */
  readonly rowCallers: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const RETENTION_MS = 7 * 24 * HOUR_MS;
const BOUNDS: ShadowReportBounds = {
  segmentRows: 5_000,
  segmentCallers: 20_000,
  rows: 20_000,
  callers: 50_000,
  rowCallers: 50,
};

interface Row {
  route: WouldDenyRoute | undefined;
  readonly appId: string;
  count: number;
  firstMs: number;
  last: WouldDenyFact;
  callers: Map<string, CallerCount>;
  otherCallers: number;
}

interface Segment {
  readonly startMs: number;
  endMs: number;
  readonly rows: Map<string, Row>;
  callers: number;
}

export class WouldDenyReport {
  readonly #bounds: ShadowReportBounds;
  readonly #resetMs = new Map<string, number>();
  #segments: Segment[] = [];
  #sinceMs: number;

  /** @param nowMs Unix milliseconds; counting begins here */
  constructor(nowMs: number, bounds: ShadowReportBounds = BOUNDS) {
    this.#sinceMs = nowMs;
    this.#bounds = bounds;
  }

  add(rows: readonly WouldDenyRow[], nowMs: number): void {
    if (rows.length === 0) return;
    const segment = this.#segmentAt(nowMs);
    for (const row of rows) addRow(segment, row, this.#bounds);
    this.#enforceBounds();
  }

  read(appId: string, filter: ShadowReportFilter, nowMs: number): ShadowReport {
    this.#forgetOld(nowMs);
    const sinceMs = Math.max(this.#sinceMs, this.#resetMs.get(appId) ?? 0);
    const wantedMs = Math.max(sinceMs, filter.fromMs ?? 0);
    let fromMs = wantedMs;
    const sum: Segment = { startMs: 0, endMs: 0, rows: new Map(), callers: 0 };
    const unbounded = { ...this.#bounds, segmentRows: Infinity, segmentCallers: Infinity };
    for (const segment of this.#segments) {
      if (segment.endMs <= wantedMs) continue;
      // A segment that was begun before counts whole.
      fromMs = Math.min(fromMs, Math.max(segment.startMs, sinceMs));
      for (const row of segment.rows.values()) {
        if (row.appId === appId && isWanted(row, filter)) addRow(sum, asRow(row), unbounded);
      }
    }
    const rows = [...sum.rows.values()].map((row) => asRow(trimmed(row, this.#bounds.rowCallers)));
    const byPart: Record<string, number> = {};
    let total = 0;
    for (const { last, count } of rows) {
      byPart[last.part] = (byPart[last.part] ?? 0) + count;
      total += count;
    }
    return { sinceMs, fromMs, total, byPart, rows: rows.sort((a, b) => b.count - a.count) };
  }

  /** Counts of the app begin anew. */
  reset(appId: string, nowMs: number): void {
    this.#drop(appId);
    this.#resetMs.set(appId, nowMs);
  }

  /** The app is gone. */
  forget(appId: string): void {
    this.#drop(appId);
    this.#resetMs.delete(appId);
  }

  #drop(appId: string): void {
    for (const segment of this.#segments) {
      for (const [key, row] of segment.rows) {
        if (row.appId !== appId) continue;
        segment.callers -= row.callers.size;
        segment.rows.delete(key);
      }
    }
  }

  /** The segment that takes what comes now; a clock that was put back goes on with the last one. */
  #segmentAt(nowMs: number): Segment {
    const startMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
    const last = this.#segments.at(-1);
    if (last !== undefined && last.startMs >= startMs) return last;
    const segment: Segment = { startMs, endMs: startMs + MINUTE_MS, rows: new Map(), callers: 0 };
    this.#mergeHours(nowMs);
    this.#forgetOld(nowMs);
    this.#segments.push(segment);
    return segment;
  }

  /** Minutes that are more than an hour ago become part of their hour. */
  #mergeHours(nowMs: number): void {
    const merged: Segment[] = [];
    for (const segment of this.#segments) {
      const hour = merged.at(-1);
      const isOld = segment.endMs <= nowMs - HOUR_MS;
      if (isOld && hour !== undefined && hourOf(hour.startMs) === hourOf(segment.startMs)) {
        for (const row of segment.rows.values()) addRow(hour, asRow(row), this.#bounds);
        hour.endMs = segment.endMs;
      } else merged.push(segment);
    }
    this.#segments = merged;
  }

  #forgetOld(nowMs: number): void {
    while ((this.#segments[0]?.endMs ?? Infinity) <= nowMs - RETENTION_MS) this.#dropOldest();
  }

  #enforceBounds(): void {
    let rows = 0;
    let callers = 0;
    for (const segment of this.#segments) {
      rows += segment.rows.size;
      callers += segment.callers;
    }
    while (this.#segments.length > 1 && (rows > this.#bounds.rows || callers > this.#bounds.callers)) {
      const oldest = this.#dropOldest();
      rows -= oldest?.rows.size ?? 0;
      callers -= oldest?.callers ?? 0;
    }
  }

  #dropOldest(): Segment | undefined {
    const oldest = this.#segments.shift();
    if (oldest !== undefined) this.#sinceMs = Math.max(this.#sinceMs, oldest.endMs);
    return oldest;
  }
}

const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS);

function isWanted({ route, last }: Row, { part, endpointId }: ShadowReportFilter): boolean {
  if (part !== undefined && last.part !== part) return false;
  return endpointId === undefined || (route !== undefined && route.endpointId === endpointId);
}

function asRow(row: Row): WouldDenyRow {
  return { ...row, callers: [...row.callers.values()] };
}

function addRow(segment: Segment, added: WouldDenyRow, bounds: ShadowReportBounds): void {
  const row = rowFor(segment, added, bounds.segmentRows);
  row.count += added.count;
  row.firstMs = Math.min(row.firstMs, added.firstMs);
  if (added.last.atMs >= row.last.atMs) {
    row.last = added.last;
    // An endpoint may have got another path meanwhile.
    if (row.route !== undefined) row.route = added.route ?? row.route;
  }
  row.otherCallers += added.otherCallers;
  const before = row.callers.size;
  for (const caller of added.callers) {
    const key = callerKey(caller);
    const known = row.callers.get(key);
    const hasRoom = segment.callers + row.callers.size - before < bounds.segmentCallers;
    if (known !== undefined) row.callers.set(key, sumOf(known, caller));
    else if (hasRoom) row.callers.set(key, caller);
    else row.otherCallers += caller.count;
  }
  if (row.callers.size > 2 * bounds.rowCallers) trim(row, bounds.rowCallers);
  segment.callers += row.callers.size - before;
}

function rowFor(segment: Segment, added: WouldDenyRow, rowsMax: number): Row {
  const { part } = added.last;
  const ownKey = added.route === undefined ? undefined : rowKey(added.route, part);
  const own = ownKey === undefined ? undefined : segment.rows.get(ownKey);
  if (own !== undefined) return own;
  const hasOwn = ownKey !== undefined && segment.rows.size < rowsMax;
  const key = hasOwn ? ownKey : sharedRowKey(added.appId, part);
  let row = segment.rows.get(key);
  if (row === undefined) {
    row = {
      route: hasOwn ? added.route : undefined,
      appId: added.appId,
      count: 0,
      firstMs: added.firstMs,
      last: added.last,
      callers: new Map(),
      otherCallers: 0,
    };
    segment.rows.set(key, row);
  }
  return row;
}

function sumOf(a: CallerCount, b: CallerCount): CallerCount {
  const newest = a.lastMs > b.lastMs ? a : b;
  return {
    ...newest,
    count: a.count + b.count,
    firstMs: Math.min(a.firstMs, b.firstMs),
  };
}

/** Keeps the callers with the highest counts, highest first. */
function trim(row: Row, callersMax: number): void {
  const sorted = [...row.callers].sort(([, a], [, b]) => b.count - a.count);
  for (const [, caller] of sorted.slice(callersMax)) row.otherCallers += caller.count;
  row.callers = new Map(sorted.slice(0, callersMax));
}

function trimmed(row: Row, callersMax: number): Row {
  const copy = { ...row };
  trim(copy, callersMax);
  return copy;
}
