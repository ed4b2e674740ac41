/**
 * The counts of one worker per route and per revision: arrays that are updated in place, one look-up away from the
 * request. Owned by the worker's thread. Label values are names from the configuration or the program, never client
 * data; methods are from a fixed set. Backends choose statuses, and so do clients if the backend answers as they ask:
 * the number of statuses of each route, and of all together, is bounded.
 */
import type { RouteLabels } from '../access-log.ts';
import {
  addCounts,
  HISTOGRAM_LENGTH,
  observedCount,
  observeDuration,
  type HistogramCounts,
} from './histogram.ts';

/** Methods with counts of their own. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'] as const;
const OTHER_METHOD = METHODS.length - 1;
const STATUSES = 1_000;
/** Keys with a status below this stand for a class of statuses, such as 5 for 5xx. */
const CLASSES_END = 10;
/** Limit of the methods and statuses of one route that have counts of their own. */
export const SERIES_PER_ROUTE_MAX = 64;
/** The same for all routes of a worker. A page of metrics has some 3 KB for each. */
export const SERIES_MAX = 30_000;

const BYTES_IN = HISTOGRAM_LENGTH;
const BYTES_OUT = HISTOGRAM_LENGTH + 1;
const SERIES_LENGTH = HISTOGRAM_LENGTH + 2;

/** A histogram of durations, then bytes of request and response bodies. */
export type SeriesCounts = Float64Array;
/** The counts of one method and status, which are the key. */
export type Series = readonly (readonly [key: number, counts: SeriesCounts])[];

export interface RouteSample {
  readonly labels: RouteLabels;
  readonly series: Series;
}

export interface RevisionLabels {
  readonly app: string;
  readonly version: string;
  readonly revision: string;
}

export interface RevisionSample {
  readonly labels: RevisionLabels;
  /** Time until the response head arrived. */
  readonly upstream: HistogramCounts;
  readonly errors: readonly (readonly [cause: string, count: number])[];
}

export function methodIndex(method: string): number {
  switch (method) {
    case 'GET':
      return 0;
    case 'HEAD':
      return 1;
    case 'POST':
      return 2;
    case 'PUT':
      return 3;
    case 'PATCH':
      return 4;
    case 'DELETE':
      return 5;
    case 'OPTIONS':
      return 6;
    default:
      return OTHER_METHOD;
  }
}

export function seriesKey(method: number, status: number): number {
  return method * STATUSES + status;
}

export function methodOf(key: number): string {
  return METHODS[Math.floor(key / STATUSES)] ?? 'other';
}

/** The status of a key; a class such as `5xx` for what was counted beyond the bounds. */
export function statusOf(key: number): number | string {
  const status = key % STATUSES;
  return status > 0 && status < CLASSES_END ? `${status}xx` : status;
}

/** The key for a class of statuses, for all methods. */
function classKey(key: number): number {
  return seriesKey(OTHER_METHOD, Math.floor((key % STATUSES) / 100));
}

export function bytesIn(counts: SeriesCounts): number {
  return counts[BYTES_IN] ?? 0;
}

export function bytesOut(counts: SeriesCounts): number {
  return counts[BYTES_OUT] ?? 0;
}

function emptySeries(): SeriesCounts {
  return new Float64Array(SERIES_LENGTH);
}

/** Equal labels give the same key. */
export function routeKey({ app, version, revision, route }: RouteLabels): string {
  return JSON.stringify([app, version, revision, route]);
}

export function revisionKey({ app, version, revision }: RevisionLabels): string {
  return JSON.stringify([app, version, revision]);
}

/** Series in a block: with an array for each, a request would wait for the memory of that array as well. */
const BLOCK_SERIES = 128;

/** Where the counts of a series are. */
interface Place {
  readonly block: Float64Array;
  /** Index of its first count. */
  readonly at: number;
}

const NO_PLACE: Place = { block: new Float64Array(0), at: 0 };
/** Places that are free; their counts are 0. */
const freePlaces: Place[] = [];

function takePlace(): Place {
  if (freePlaces.length === 0) {
    const block = new Float64Array(BLOCK_SERIES * SERIES_LENGTH);
    for (let index = BLOCK_SERIES - 1; index >= 0; index--)
      freePlaces.push({ block, at: index * SERIES_LENGTH });
  }
  return freePlaces.pop() as Place;
}

function releasePlace(place: Place): void {
  place.block.fill(0, place.at, place.at + SERIES_LENGTH);
  freePlaces.push(place);
}

function countsAt({ block, at }: Place, length: number): Float64Array {
  return block.slice(at, at + length);
}

/** The number of series that the routes of a worker use. */
export interface SeriesUse {
  count: number;
}

/** The counts of one route, created when a method and status first occur. */
export class RouteRecord {
  readonly labels: RouteLabels;
  readonly #use: SeriesUse;
  #series = new Map<number, Place>();
  #lastKey = -1;
  #lastBlock = NO_PLACE.block;
  #lastAt = 0;

  constructor(labels: RouteLabels, use: SeriesUse) {
    this.labels = labels;
    this.#use = use;
  }

  /**
   * Counts one exchange that took `seconds`; NaN and negative times count as 0.
   * @param method index in METHODS
   */
  observe(status: number, seconds: number, method = 0, bodyBytesIn = 0, bodyBytesOut = 0): void {
    const key = seriesKey(method, status);
    if (key !== this.#lastKey) this.#find(key);
    const block = this.#lastBlock;
    const at = this.#lastAt;
    observeDuration(block, seconds, at);
    block[at + BYTES_IN]! += bodyBytesIn;
    block[at + BYTES_OUT]! += bodyBytesOut;
  }

  /** Drops the counts, and counts in another record from now on. */
  continueIn(other: RouteRecord): void {
    for (const place of this.#series.values()) releasePlace(place);
    this.#use.count -= this.#series.size;
    this.#series = other.#series;
    this.#lastKey = -1;
  }

  sample(): RouteSample {
    const series = [...this.#series].map(([key, place]) => [key, countsAt(place, SERIES_LENGTH)] as const);
    return { labels: this.labels, series };
  }

  #find(key: number): void {
    const place = this.#series.get(key) ?? this.#place(key);
    this.#lastKey = key;
    this.#lastBlock = place.block;
    this.#lastAt = place.at;
  }

  #place(key: number): Place {
    const isRoom = this.#series.size < SERIES_PER_ROUTE_MAX && this.#use.count < SERIES_MAX;
    const own = isRoom ? key : classKey(key);
    let place = this.#series.get(own);
    if (place !== undefined) return place;
    place = takePlace();
    this.#series.set(own, place);
    this.#use.count += 1;
    return place;
  }
}

/** The counts of one revision's backend. */
export class RevisionRecord {
  readonly labels: RevisionLabels;
  #upstream = takePlace();
  #errors = new Map<string, number>();

  constructor(labels: RevisionLabels) {
    this.labels = labels;
  }

  /** Counts a response of the backend whose head arrived after `seconds`. */
  observeUpstream(seconds: number): void {
    observeDuration(this.#upstream.block, seconds, this.#upstream.at);
  }

  /** @param cause from a fixed set */
  upstreamError(cause: string): void {
    this.#errors.set(cause, (this.#errors.get(cause) ?? 0) + 1);
  }

  continueIn(other: RevisionRecord): void {
    releasePlace(this.#upstream);
    this.#upstream = other.#upstream;
    this.#errors = other.#errors;
  }

  sample(): RevisionSample {
    return {
      labels: this.labels,
      upstream: countsAt(this.#upstream, HISTOGRAM_LENGTH),
      errors: [...this.#errors],
    };
  }
}

interface MetricRecord<L, R> {
  readonly labels: L;
  continueIn(other: R): void;
}

/** An app gets no more records once it has this many times the number of free ones, so that other apps find some. */
const APP_SHARE = 9;

/**
 * Records by their labels. Bounded, as a whole and for each app: later ones share a record labelled `other`.
 */
export class RecordTable<L extends { readonly app: string }, R extends MetricRecord<L, R>> {
  readonly #byKey = new Map<string, R>();
  /** The number of records of each app. */
  readonly #byApp = new Map<string, number>();
  readonly #keyOf: (labels: L) => string;
  readonly #make: (labels: L) => R;
  readonly #max: number;
  readonly other: R;

  constructor(max: number, otherLabels: L, keyOf: (labels: L) => string, make: (labels: L) => R) {
    this.#max = max;
    this.#keyOf = keyOf;
    this.#make = make;
    this.other = make(otherLabels);
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Returns the same record for equal labels. Look it up once and keep it, not per request. */
  of(labels: L): R {
    const key = this.#keyOf(labels);
    let record = this.#byKey.get(key);
    if (record === undefined) {
      const own = this.#byApp.get(labels.app) ?? 0;
      const free = this.#max - this.#byKey.size;
      if (free <= 0 || own >= APP_SHARE * free) return this.other;
      this.#byKey.set(key, (record = this.#make(labels)));
      this.#byApp.set(labels.app, own + 1);
    }
    return record;
  }

  /** Drops all records that are not in use, with their counts; exchanges that still end there count as `other`. */
  keep(isInUse: (labels: L, key: string) => boolean, onGone?: (record: R) => void): void {
    for (const [key, record] of this.#byKey) {
      if (isInUse(record.labels, key)) continue;
      onGone?.(record);
      record.continueIn(this.other);
      this.#byKey.delete(key);
      const left = (this.#byApp.get(record.labels.app) ?? 0) - 1;
      if (left > 0) this.#byApp.set(record.labels.app, left);
      else this.#byApp.delete(record.labels.app);
    }
  }

  all(): R[] {
    return [...this.#byKey.values(), this.other];
  }
}

export function* requestsByStatus(
  series: Iterable<Series[number]>,
): IterableIterator<[number | string, number]> {
  for (const [key, counts] of series) yield [statusOf(key), observedCount(counts)];
}

/** Sums several workers' arrays under one key. */
export function addSeries(sums: Map<number, SeriesCounts>, series: Series): void {
  for (const [key, counts] of series) {
    let sum = sums.get(key);
    if (sum === undefined) sums.set(key, (sum = emptySeries()));
    addCounts(sum, counts);
  }
}
