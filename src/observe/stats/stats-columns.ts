/**
 * The numbers of one step of a time series, in one array: gauges, counts, two histograms of durations, and a count
 * for each error code. When steps are combined into a longer one, gauges take the maximum; everything else is
 * summed.
 */
import { BUCKETS } from './stats-buckets.ts';

export const CONNECTIONS = 0;
export const IN_FLIGHT = 1;
/** Columns before this one are gauges. */
const GAUGES = 2;
export const REQUESTS = 2;
export const STATUS_2XX = 3;
export const STATUS_3XX = 4;
export const STATUS_4XX = 5;
export const STATUS_5XX = 6;
/** Status 1xx, and requests without a status. */
export const STATUS_OTHER = 7;
/** Responses of backends with 5xx, and failures. */
export const ERRORS = 8;
/** Error responses that the gateway created because a backend or the gateway failed. */
export const FAILURES = 9;
/**
 * Requests that were refused because of the request itself: by a policy, for lack of a route, or for a malformed
 * head.
 */
export const DENIED = 10;
export const RETRIES = 11;
export const BYTES_IN = 12;
export const BYTES_OUT = 13;
export const LATENCY = 14;
export const UPSTREAM = LATENCY + BUCKETS;
export const REASONS = UPSTREAM + BUCKETS;

export type StepCounts = Float64Array;

/** The columns of a build; the same in all of its threads. */
export class StatsColumns {
  /** Error codes, in the order of their columns. */
  readonly codes: readonly string[];
  readonly length: number;
  readonly #columnOf: ReadonlyMap<string, number>;
  readonly #denials: ReadonlySet<number>;

  /** @param errors each error code, and whether it says that the request itself was refused */
  constructor(errors: Iterable<readonly [code: string, isDenial: boolean]>) {
    const all = [...errors];
    this.codes = all.map(([code]) => code);
    this.length = REASONS + all.length;
    this.#columnOf = new Map(this.codes.map((code, index) => [code, REASONS + index]));
    this.#denials = new Set(all.flatMap(([, isDenial], index) => (isDenial ? [REASONS + index] : [])));
  }

  empty(): StepCounts {
    return new Float64Array(this.length);
  }

  /** undefined when there is no such code. */
  columnOf(code: string): number | undefined {
    return this.#columnOf.get(code);
  }

  isDenial(column: number): boolean {
    return this.#denials.has(column);
  }
}

/** The column of a status class. */
export function statusColumn(status: number): number {
  if (status >= 200 && status < 600) return STATUS_2XX + Math.floor(status / 100) - 2;
  return STATUS_OTHER;
}

/** Adds a value to a step that covers it. */
export function addValue(sums: StepCounts, column: number, value: number): void {
  if (column >= GAUGES) sums[column]! += value;
  else if (value > sums[column]!) sums[column] = value;
}

/** Adds the same step of another gateway; gauges are summed as well. */
export function addNode(sums: StepCounts, counts: StepCounts): void {
  for (let column = 0; column < sums.length; column++) sums[column]! += counts[column] ?? 0;
}

/** Adds a step that lies within the longer one. */
export function addStep(sums: StepCounts, counts: StepCounts): void {
  for (let column = 0; column < sums.length; column++) {
    const value = counts[column] ?? 0;
    if (value !== 0) addValue(sums, column, value);
  }
}
