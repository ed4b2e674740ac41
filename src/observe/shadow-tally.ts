/**
 * Counts what policies in shadow mode would have denied: a row per route and part, with counts per caller. A tally
 * covers one second in a worker, and a minute or an hour in the shadow report.
 *
 * Bounded, without losing a count: beyond `rows`, further routes share one row per app and part. Beyond `callers`, new
 * callers are counted together. No app can take all of either: the second half is for apps that have few. A row with
 * more than twice `rowCallers` callers keeps those with the highest counts, so a caller that returns may show less than
 * its real count; the difference is in `otherCallers`.
 */
import type { CallerKind } from '../model/auth/caller-kinds.ts';

/** The route of a request. */
export interface ShadowRoute {
  readonly appId: string;
  readonly app: string;
  readonly version: string;
  readonly revision: string;
  readonly revisionId: string;
  /** null: served by a pass-through revision without an endpoint. */
  readonly endpointId: string | null;
  readonly method: string;
  /** Template, as in the access log. */
  readonly route: string;
}

export interface ShadowCaller {
  readonly kind: CallerKind;
  /** Key id or subject; '' for anonymous callers. */
  readonly id: string;
  readonly name: string;
}

/** One request that one part would have denied. */
export interface ShadowSample {
  readonly part: string;
  /** Error code of the response that the client would have received. */
  readonly code: string;
  readonly detail: string;
  readonly requestId: string;
  /** Unix milliseconds. */
  readonly atMs: number;
}

export interface CallerCount extends ShadowCaller {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

export interface ShadowRow {
  /** undefined in the row that routes beyond the bound share, where only `appId` is known. */
  readonly route: ShadowRoute | undefined;
  readonly appId: string;
  readonly count: number;
  readonly firstMs: number;
  /** Time of the last request. */
  readonly last: ShadowSample;
  readonly callers: readonly CallerCount[];
  /** Requests of callers that are not in `callers`. */
  readonly otherCallers: number;
}

export interface ShadowTallyBounds {
  readonly rows: number;
  /** Named callers of all rows together. */
  readonly callers: number;
  /** Named callers of one row. */
  readonly rowCallers: number;
}

/** What an app has of what is bounded. */
export interface ShadowUsage {
  readonly rows: number;
  readonly callers: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
interface OpenRow extends Omit<Mutable<ShadowRow>, 'callers'> {
  callers: Map<string, CallerCount>;
}

/** Subjects of tokens have no length limit of their own. */
const CALLER_CHARS_MAX = 256;
/** Once half of the rows or callers are taken, an app with more than this share of them gets no more. */
const APP_SHARE = 1 / 8;
const NOTHING: ShadowUsage = { rows: 0, callers: 0 };

export class ShadowTally {
  readonly #bounds: ShadowTallyBounds;
  readonly #rows = new Map<string, OpenRow>();
  readonly #byApp = new Map<string, Mutable<ShadowUsage>>();
  #callers = 0;

  constructor(bounds: ShadowTallyBounds) {
    this.#bounds = bounds;
  }

  get rowCount(): number {
    return this.#rows.size;
  }

  get callerCount(): number {
    return this.#callers;
  }

  /** By app. */
  usage(): Map<string, ShadowUsage> {
    return new Map([...this.#byApp].map(([appId, use]) => [appId, { ...use }]));
  }

  add(added: ShadowRow): void {
    const row = this.#rowFor(added);
    row.count += added.count;
    row.firstMs = Math.min(row.firstMs, added.firstMs);
    row.otherCallers += added.otherCallers;
    if (added.last.atMs >= row.last.atMs) {
      row.last = added.last;
      // The path of an endpoint may have changed.
      if (row.route !== undefined) row.route = added.route ?? row.route;
    }
    for (const caller of added.callers) this.#addCaller(row, caller);
    if (row.callers.size > 2 * this.#bounds.rowCallers) this.#trim(row);
  }

  /** In no particular order; at most twice `rowCallers` callers each. */
  *rows(): Generator<ShadowRow> {
    for (const row of this.#rows.values()) yield { ...row, callers: [...row.callers.values()] };
  }

  forget(appId: string): void {
    for (const [key, row] of this.#rows) {
      if (row.appId !== appId) continue;
      this.#callers -= row.callers.size;
      this.#rows.delete(key);
    }
    this.#byApp.delete(appId);
  }

  #rowFor({ route, appId, firstMs, last }: ShadowRow): OpenRow {
    const ownKey = route && rowKey({ route, appId, last });
    const own = ownKey === undefined ? undefined : this.#rows.get(ownKey);
    if (own !== undefined) return own;
    const hasRoom = ownKey !== undefined && this.#hasRoom('rows', appId);
    const key = hasRoom ? ownKey : rowKey({ route: undefined, appId, last });
    let row = this.#rows.get(key);
    if (row === undefined) {
      row = {
        route: hasRoom ? route : undefined,
        appId,
        count: 0,
        firstMs,
        last,
        callers: new Map(),
        otherCallers: 0,
      };
      this.#rows.set(key, row);
      this.#useOf(appId).rows += 1;
    }
    return row;
  }

  #addCaller(row: OpenRow, caller: CallerCount): void {
    const key = `${caller.kind} ${caller.id}`;
    const known = row.callers.get(key);
    if (known !== undefined) row.callers.set(key, sumOf(known, caller));
    else if (this.#hasRoom('callers', row.appId)) {
      row.callers.set(key, caller);
      this.#callers += 1;
      this.#useOf(row.appId).callers += 1;
    } else row.otherCallers += caller.count;
  }

  #trim(row: OpenRow): void {
    const sorted = [...row.callers].sort(([, a], [, b]) => b.count - a.count);
    const dropped = sorted.splice(this.#bounds.rowCallers);
    for (const [, { count }] of dropped) row.otherCallers += count;
    row.callers = new Map(sorted);
    this.#callers -= dropped.length;
    this.#useOf(row.appId).callers -= dropped.length;
  }

  #hasRoom(what: keyof ShadowUsage, appId: string): boolean {
    const max = this.#bounds[what];
    const taken = what === 'rows' ? this.#rows.size : this.#callers;
    if (taken < max / 2) return true;
    return taken < max && (this.#byApp.get(appId) ?? NOTHING)[what] < max * APP_SHARE;
  }

  #useOf(appId: string): Mutable<ShadowUsage> {
    let use = this.#byApp.get(appId);
    if (use === undefined) this.#byApp.set(appId, (use = { ...NOTHING }));
    return use;
  }
}

/** The row of one request. */
export function shadowRow(route: ShadowRoute, sample: ShadowSample, caller: ShadowCaller): ShadowRow {
  const [id, name] = [clipped(caller.id), clipped(caller.name)];
  const times = { count: 1, firstMs: sample.atMs };
  const callers = [{ ...times, kind: caller.kind, id, name, lastMs: sample.atMs }];
  return { ...times, route, appId: route.appId, last: sample, callers, otherCallers: 0 };
}

/** Identifies a route and part among all apps; without a route, the row that the routes of an app share. */
export function rowKey({ route, appId, last }: Pick<ShadowRow, 'route' | 'appId' | 'last'>): string {
  const place = route === undefined ? `${appId} *` : `${route.revisionId} ${route.endpointId ?? ''}`;
  return `${place} ${last.part}`;
}

function sumOf(a: CallerCount, b: CallerCount): CallerCount {
  const newest = a.lastMs > b.lastMs ? a : b;
  return { ...newest, count: a.count + b.count, firstMs: Math.min(a.firstMs, b.firstMs) };
}

function clipped(text: string): string {
  return text.length > CALLER_CHARS_MAX ? `${text.slice(0, CALLER_CHARS_MAX - 1)}…` : text;
}
