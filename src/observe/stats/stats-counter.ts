/**
 * Counts the traffic of one worker for the gateway's own time series: for each route, and for each API key, what has
 * happened since the last report. Once a second the counts are sent and the arrays are used again, so a request neither
 * allocates nor waits.
 *
 * Bounded: in one second, a limited number of routes, versions, apps and keys have counts of their own. Further routes
 * count for their version alone, further versions for their app, and further apps for the gateway, so no total is ever
 * wrong.
 */
import { bucketOf } from './stats-buckets.ts';
import {
  BYTES_IN,
  BYTES_OUT,
  DENIED,
  ERRORS,
  FAILURES,
  LATENCY,
  REQUESTS,
  RETRIES,
  statusColumn,
  UPSTREAM,
  type StatsColumns,
  type StepCounts,
} from './stats-columns.ts';
import type { StatsPlace, StatsReport } from './stats-report.ts';

/** Places with counts of their own in one second of one worker. */
export const COUNTED_MAX = { route: 1_024, version: 512, app: 1_024, key: 512, gateway: 1 } as const;
const KEYS_KEPT_MAX = 4_096;
/** Once half of the places of a kind are taken, an app with more than this share of them gets no more. */
const APP_SHARE = 1 / 8;

/** The facts about an ended exchange that the counts need. */
export interface CountedExchange {
  readonly status: number;
  readonly errorCode: string | undefined;
  readonly latencyMs: number;
  /** -1 when no backend responded. */
  readonly upstreamMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly retries: number;
}

/** Where an exchange is counted. Create it once per place and keep it. */
export interface StatsTarget {
  readonly place: StatsPlace;
  /** Counts the exchange when this place has no room. */
  readonly parent: StatsTarget | undefined;
  counts: StepCounts;
  /** The number of the report in which `counts` belongs to this place. */
  report: number;
}

/** Kinds of places that belong to an app. */
type OwnedKind = 'route' | 'version' | 'key';

const NO_COUNTS: StepCounts = new Float64Array(0);

export function statsTarget(place: StatsPlace, parent: StatsTarget | undefined): StatsTarget {
  return { place, parent, counts: NO_COUNTS, report: -1 };
}

export class StatsCounter {
  readonly #columns: StatsColumns;
  readonly #gateway = statsTarget({ kind: 'gateway' }, undefined);
  readonly #keys = new Map<string, StatsTarget>();
  readonly #free: StepCounts[] = [];
  #used: { readonly place: StatsPlace; readonly counts: StepCounts }[] = [];
  #room: Record<StatsPlace['kind'], number> = { ...COUNTED_MAX };
  /** The number of places of each app, by kind. */
  readonly #taken: Readonly<Record<OwnedKind, Map<string, number>>> = {
    route: new Map(),
    version: new Map(),
    key: new Map(),
  };
  #report = 0;
  #connections = 0;
  #inFlight = 0;

  constructor(columns: StatsColumns) {
    this.#columns = columns;
  }

  /** The target for exchanges without an app, and the last parent of all targets. */
  get gateway(): StatsTarget {
    return this.#gateway;
  }

  count(target: StatsTarget, exchange: CountedExchange): void {
    this.#add(target.report === this.#report ? target.counts : this.#countsOf(target), exchange);
  }

  /** Also counts the exchange for its API key, unless too many keys are in use. */
  countKey(id: string, name: string, appId: string, exchange: CountedExchange): void {
    let target = this.#keys.get(id);
    if (target === undefined) {
      // With many keys, making a target for each would cost more than all else that is counted.
      if (!this.#hasRoom('key', appId)) return;
      if (this.#keys.size >= KEYS_KEPT_MAX) this.#keys.clear();
      this.#keys.set(id, (target = statsTarget({ kind: 'key', id, name, appId }, undefined)));
    }
    const counts = target.report === this.#report ? target.counts : this.#countsOf(target);
    if (counts !== NO_COUNTS) this.#add(counts, exchange);
  }

  /**
   * The counts since the last report; undefined when nothing has changed.
   * @param unixSecs the second that has ended
   */
  report(unixSecs: number, connections: number, inFlight: number): StatsReport | undefined {
    const isSame = connections === this.#connections && inFlight === this.#inFlight;
    if (this.#used.length === 0 && isSame) return undefined;
    this.#connections = connections;
    this.#inFlight = inFlight;
    const used = this.#used;
    this.#used = [];
    this.#report += 1;
    this.#room = { ...COUNTED_MAX };
    for (const taken of Object.values(this.#taken)) taken.clear();
    const values: number[] = [];
    for (const { counts } of used) {
      takeValues(counts, values);
      this.#free.push(counts);
    }
    const places = used.map(({ place }) => place);
    return { unixSecs, connections, inFlight, places, values: Float64Array.from(values) };
  }

  #add(counts: StepCounts, exchange: CountedExchange): void {
    const { status, errorCode, upstreamMs, retries } = exchange;
    counts[REQUESTS]! += 1;
    counts[statusColumn(status)]! += 1;
    counts[LATENCY + bucketOf(exchange.latencyMs)]! += 1;
    if (upstreamMs >= 0) counts[UPSTREAM + bucketOf(upstreamMs)]! += 1;
    counts[BYTES_IN]! += exchange.bytesIn;
    counts[BYTES_OUT]! += exchange.bytesOut;
    if (retries > 0) counts[RETRIES]! += retries;
    if (errorCode !== undefined) this.#addReason(counts, errorCode);
    else if (status >= 500) counts[ERRORS]! += 1;
  }

  #addReason(counts: StepCounts, code: string): void {
    const column = this.#columns.columnOf(code);
    if (column !== undefined) counts[column]! += 1;
    if (column !== undefined && this.#columns.isDenial(column)) counts[DENIED]! += 1;
    else {
      counts[ERRORS]! += 1;
      counts[FAILURES]! += 1;
    }
  }

  /**
   * Whether one more place of the app may have counts of its own. No app can take all places: half of them are reserved
   * for apps that have few.
   */
  #hasRoom(kind: OwnedKind, appId: string): boolean {
    const max = COUNTED_MAX[kind];
    const room = this.#room[kind];
    if (room > max / 2) return true;
    return room > 0 && (this.#taken[kind].get(appId) ?? 0) < max * APP_SHARE;
  }

  #takeRoom(place: StatsPlace): boolean {
    const { kind } = place;
    if (kind !== 'app' && kind !== 'gateway') {
      if (!this.#hasRoom(kind, place.appId)) return false;
      const taken = this.#taken[kind];
      taken.set(place.appId, (taken.get(place.appId) ?? 0) + 1);
    } else if (this.#room[kind] === 0) return false;
    this.#room[kind] -= 1;
    return true;
  }

  /** The counts of the target itself, or of the nearest parent with room. */
  #countsOf(target: StatsTarget): StepCounts {
    if (target.report === this.#report) return target.counts;
    if (this.#takeRoom(target.place)) {
      target.counts = this.#free.pop() ?? this.#columns.empty();
      this.#used.push({ place: target.place, counts: target.counts });
    } else target.counts = target.parent === undefined ? NO_COUNTS : this.#countsOf(target.parent);
    target.report = this.#report;
    return target.counts;
  }
}

/** Appends the number of columns that are not 0, then each of them with its value, and resets them to 0. */
function takeValues(counts: StepCounts, values: number[]): void {
  const start = values.push(0) - 1;
  for (let column = 0; column < counts.length; column++) {
    const value = counts[column]!;
    if (value === 0) continue;
    values.push(column, value);
    counts[column] = 0;
  }
  values[start] = (values.length - start - 1) / 2;
}
