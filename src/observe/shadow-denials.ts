/**
 * What parts of policies in shadow mode would have denied, as one worker counts it between two messages to the main
 * thread: per route and part, and within these per caller. Owns the counts of the batch; shadow-report.ts adds
 * the batches of all workers up.
 *
 * Bounded: a batch has at most `ROWS_MAX` rows, later routes share one row per app and part; a row names at most
 * `CALLERS_MAX` callers, later ones are counted together. No count is lost by that.
 */

/** Where a request was going. */
export interface WouldDenyRoute {
  readonly appId: string;
  readonly app: string;
  readonly version: string;
  readonly revision: string;
  readonly revisionId: string;
  /** null: what a pass-through revision serves besides its endpoints. */
  readonly endpointId: string | null;
  readonly method: string;
  /** Template, as in the access log. */
  readonly route: string;
}

export type CallerKind = 'anonymous' | 'api_key' | 'jwt';

export interface WouldDenyCaller {
  readonly kind: CallerKind;
  /** Key id or subject; '' for anonymous callers. */
  readonly id: string;
  readonly name: string;
}

/** One request that one part would have denied. */
export interface WouldDenyFact {
  readonly part: string;
  /** Error code of the answer that there would have been. */
  readonly code: string;
  readonly detail: string;
  readonly requestId: string;
  /** Unix milliseconds. */
  readonly atMs: number;
}

export interface CallerCount extends WouldDenyCaller {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

export interface WouldDenyRow {
  /** undefined in the row that routes share beyond the bound; then only `appId` is known. */
  readonly route: WouldDenyRoute | undefined;
  readonly appId: string;
  readonly count: number;
  readonly firstMs: number;
  /** The last of the requests. */
  readonly last: WouldDenyFact;
  readonly callers: readonly CallerCount[];
  /** Requests of callers that are not named. */
  readonly otherCallers: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
interface OpenRow extends Omit<Mutable<WouldDenyRow>, 'callers'> {
  readonly callers: Map<string, Mutable<CallerCount>>;
}

const ROWS_MAX = 1_000;
const CALLERS_MAX = 50;
/** Subjects of tokens have no bound of their own. */
const CALLER_CHARS_MAX = 256;

export class WouldDenyTally {
  #rows = new Map<string, OpenRow>();

  /** Counts one; true when it is the first of its route and part in this batch. */
  add(route: WouldDenyRoute, fact: WouldDenyFact, caller: WouldDenyCaller): boolean {
    const key = rowKey(route, fact.part);
    let row = this.#rows.get(key);
    const isFirst = row === undefined;
    if (row === undefined) {
      const hasRoom = this.#rows.size < ROWS_MAX;
      const placeKey = hasRoom ? key : sharedRowKey(route.appId, fact.part);
      row = this.#rows.get(placeKey);
      if (row === undefined) {
        row = {
          route: hasRoom ? route : undefined,
          appId: route.appId,
          count: 0,
          firstMs: fact.atMs,
          last: fact,
          callers: new Map(),
          otherCallers: 0,
        };
        this.#rows.set(placeKey, row);
      }
    }
    row.count += 1;
    row.last = fact;
    countCaller(row, caller, fact.atMs);
    return isFirst;
  }

  /** What was counted since the last call; empty when nothing was. */
  take(): WouldDenyRow[] {
    if (this.#rows.size === 0) return [];
    const rows = [...this.#rows.values()];
    this.#rows = new Map();
    return rows.map((row) => ({ ...row, callers: [...row.callers.values()] }));
  }
}

/** Names a route and part among all apps. */
export function rowKey(route: WouldDenyRoute, part: string): string {
  return `${route.revisionId} ${route.endpointId ?? ''} ${part}`;
}

/** Names the row that an app's further routes share. */
export function sharedRowKey(appId: string, part: string): string {
  return `${appId} * ${part}`;
}

export function callerKey({ kind, id }: WouldDenyCaller): string {
  return `${kind} ${id}`;
}

function countCaller(row: OpenRow, caller: WouldDenyCaller, atMs: number): void {
  const id = clipped(caller.id);
  const key = callerKey({ ...caller, id });
  const known = row.callers.get(key);
  if (known !== undefined) {
    known.count += 1;
    known.lastMs = atMs;
  } else if (row.callers.size < CALLERS_MAX) {
    const { kind, name } = caller;
    row.callers.set(key, { kind, id, name: clipped(name), count: 1, firstMs: atMs, lastMs: atMs });
  } else row.otherCallers += 1;
}

function clipped(text: string): string {
  return text.length > CALLER_CHARS_MAX ? `${text.slice(0, CALLER_CHARS_MAX - 1)}…` : text;
}
