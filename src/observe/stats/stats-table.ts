/**
 * The series of the most used places of one kind. Bounded: when there is no room, only the requests of further places
 * are counted, and once a minute the more used ones replace the less used ones. A place without a series still counts
 * in every sum above it.
 */
import type { StatsColumns } from './stats-columns.ts';
import { MINUTE_SECS, StatsSeries } from './stats-series.ts';

/** Places without room whose requests are counted within a minute. */
const WATCHED_MAX = 4_096;
/** A place needs this many times the requests of another to replace it. */
const MARGIN = 2;

export interface TableEntry<L> {
  readonly key: string;
  labels: L;
  readonly series: StatsSeries;
  /** undefined when the place does not belong to an app. */
  readonly owner: string | undefined;
}

export interface TableBounds {
  readonly max: number;
  /** Limit of series of one owner, such as the routes of an app. */
  readonly ownerMax: number;
}

interface Watched<L> {
  requests: number;
  readonly labels: L;
  readonly owner: string | undefined;
}

export class StatsTable<L> {
  readonly #columns: StatsColumns;
  readonly #bounds: TableBounds;
  readonly #startSecond: number;
  readonly #entries = new Map<string, TableEntry<L>>();
  readonly #owned = new Map<string, number>();
  readonly #watched = new Map<string, Watched<L>>();
  /** Whether a place was ever left out: a new series may then lack some of its requests. */
  #hasLeftOut = false;

  constructor(columns: StatsColumns, bounds: TableBounds, startSecond: number) {
    this.#columns = columns;
    this.#bounds = bounds;
    this.#startSecond = startSecond;
  }

  get size(): number {
    return this.#entries.size;
  }

  get hasLeftOut(): boolean {
    return this.#hasLeftOut;
  }

  get(key: string): TableEntry<L> | undefined {
    return this.#entries.get(key);
  }

  entries(): Iterable<TableEntry<L>> {
    return this.#entries.values();
  }

  /** The entry of a place. Undefined when there is no room; its requests are then watched. */
  of(
    key: string,
    labels: L,
    owner: string | undefined,
    second: number,
    requests: number,
  ): TableEntry<L> | undefined {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.labels = labels;
      return known;
    }
    if (this.#hasRoom(owner)) return this.#make(key, labels, owner, second);
    this.#hasLeftOut = true;
    const watched = this.#watched.get(key);
    if (watched !== undefined) watched.requests += requests;
    else if (this.#watched.size < WATCHED_MAX) this.#watched.set(key, { requests, labels, owner });
    return undefined;
  }

  /** Once a minute: drops series without steps, and replaces little used places with more used ones. */
  turn(minute: number): void {
    for (const entry of this.#entries.values()) {
      entry.series.closeMinute(minute);
      if (entry.series.isEmpty) this.#drop(entry);
    }
    if (this.#watched.size === 0) return;
    const waiting = [...this.#watched].sort(([, a], [, b]) => b.requests - a.requests);
    const leaving = this.#byScore(minute);
    for (const [key, { requests, labels, owner }] of waiting) {
      if (!this.#hasRoom(owner)) {
        const isOwn = (entry: TableEntry<L>): boolean => entry.owner === owner;
        const at = this.#isOwnerFull(owner) ? leaving.findIndex(isOwn) : 0;
        const least = leaving[at];
        if (least === undefined || least.series.score(minute) * MARGIN > requests) continue;
        leaving.splice(at, 1);
        this.#drop(least);
      }
      this.#make(key, labels, owner, minute * MINUTE_SECS);
    }
    this.#watched.clear();
  }

  /** Drops the least used series until `bytes` are free; returns the number of freed bytes. */
  release(bytes: number, minute: number): number {
    let freed = 0;
    for (const entry of this.#byScore(minute)) {
      if (freed >= bytes) break;
      freed += entry.series.bytes;
      this.#drop(entry);
      this.#hasLeftOut = true;
    }
    return freed;
  }

  /** The entries, least used first. */
  #byScore(minute: number): TableEntry<L>[] {
    const scored = [...this.#entries.values()].map((entry) => ({ entry, score: entry.series.score(minute) }));
    return scored.sort((a, b) => a.score - b.score).map(({ entry }) => entry);
  }

  #hasRoom(owner: string | undefined): boolean {
    return this.#entries.size < this.#bounds.max && !this.#isOwnerFull(owner);
  }

  #isOwnerFull(owner: string | undefined): boolean {
    return owner !== undefined && (this.#owned.get(owner) ?? 0) >= this.#bounds.ownerMax;
  }

  #make(key: string, labels: L, owner: string | undefined, second: number): TableEntry<L> {
    const since = this.#hasLeftOut ? second : this.#startSecond;
    const entry = { key, labels, owner, series: new StatsSeries(this.#columns, since) };
    this.#entries.set(key, entry);
    if (owner !== undefined) this.#owned.set(owner, (this.#owned.get(owner) ?? 0) + 1);
    return entry;
  }

  #drop({ key, owner }: TableEntry<L>): void {
    this.#entries.delete(key);
    if (owner === undefined) return;
    const left = (this.#owned.get(owner) ?? 1) - 1;
    if (left > 0) this.#owned.set(owner, left);
    else this.#owned.delete(owner);
  }
}
