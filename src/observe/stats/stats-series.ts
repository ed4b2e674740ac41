/**
 * One series of steps: the seconds of the last quarter of an hour, the minutes of the last day, and the seconds that
 * are still open, for which workers may still report. A minute is built from its seconds once it is over.
 */
import { addValue, type StatsColumns, type StepCounts } from './stats-columns.ts';
import { cellBytesMax, writeCell } from './stats-cell.ts';
import { StepLog } from './step-log.ts';

export const SECONDS_KEPT = 900;
export const MINUTES_KEPT = 1_440;
export const MINUTE_SECS = 60;
/** Objects and names of a series beside its steps, estimated. */
const SERIES_BYTES = 1_024;

/** Pairs of a column and its value. */
export type StepValues = Float64Array;

export class StatsSeries {
  readonly #columns: StatsColumns;
  /** The first second that it covers. */
  readonly sinceSecond: number;
  readonly #seconds = new StepLog();
  readonly #minutes = new StepLog();
  readonly #open = new Map<number, StepValues[]>();
  /** Requests, halved every minute, as of `#scoreMinute`. */
  #score = 0;
  #scoreMinute: number;
  /** The minute of the latest closed second; its entry in `#minutes` is not written yet. */
  #minute = -1;

  constructor(columns: StatsColumns, sinceSecond: number) {
    this.#columns = columns;
    this.sinceSecond = sinceSecond;
    this.#scoreMinute = Math.floor(sinceSecond / MINUTE_SECS);
  }

  /** The memory that it takes, without open seconds. */
  get bytes(): number {
    return SERIES_BYTES + this.#seconds.bytes + this.#minutes.bytes;
  }

  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#seconds.isEmpty && this.#minutes.isEmpty;
  }

  /** A measure of its recent use. */
  score(minute: number): number {
    return this.#score * 0.5 ** Math.max(0, minute - this.#scoreMinute);
  }

  /** Adds values to a second that is not closed. */
  add(second: number, values: StepValues, requests: number): void {
    const open = this.#open.get(second);
    if (open === undefined) this.#open.set(second, [values]);
    else open.push(values);
    const minute = Math.floor(second / MINUTE_SECS);
    this.#score = this.score(minute) + requests;
    this.#scoreMinute = Math.max(minute, this.#scoreMinute);
  }

  /** Closes a second, in order. */
  close(second: number): void {
    const open = this.#open.get(second);
    if (open === undefined) return;
    this.#open.delete(second);
    const minute = Math.floor(second / MINUTE_SECS);
    if (minute !== this.#minute) {
      this.closeMinute(minute);
      this.#minute = minute;
    }
    const sums = scratchFor(this.#columns);
    for (const values of open) addValues(sums, values);
    this.#seconds.append(second, encoded(sums));
  }

  /** Writes the minute before this one, unless that is done, and drops values that are too old. */
  closeMinute(current: number): void {
    if (this.#minute >= 0 && this.#minute < current) {
      const sums = scratchFor(this.#columns);
      const from = this.#minute * MINUTE_SECS;
      this.#seconds.addTo(from, from + MINUTE_SECS - 1, () => sums);
      this.#minutes.append(this.#minute, encoded(sums));
      this.#minute = -1;
    }
    this.#seconds.dropBefore(current * MINUTE_SECS - SECONDS_KEPT);
    this.#minutes.dropBefore(current - MINUTES_KEPT);
  }

  /** Adds the closed seconds from `from` to `to`, both included, to the arrays of their steps. */
  addSeconds(from: number, to: number, sumsOf: (second: number) => StepCounts): void {
    this.#seconds.addTo(from, to, sumsOf);
  }

  /** Like `addSeconds`, by minutes; the current minute has its closed seconds. */
  addMinutes(from: number, to: number, sumsOf: (minute: number) => StepCounts): void {
    this.#minutes.addTo(from, to, sumsOf);
    const minute = this.#minute;
    if (minute < from || minute > to) return;
    const start = minute * MINUTE_SECS;
    this.#seconds.addTo(start, start + MINUTE_SECS - 1, () => sumsOf(minute));
  }
}

function addValues(sums: StepCounts, values: StepValues): void {
  for (let at = 0; at < values.length; at += 2) addValue(sums, values[at]!, values[at + 1]!);
}

let scratch: StepCounts = new Float64Array(0);
let cell = new Uint8Array(0);

function scratchFor({ length }: StatsColumns): StepCounts {
  if (scratch.length === length) scratch.fill(0);
  else {
    scratch = new Float64Array(length);
    cell = new Uint8Array(cellBytesMax(length));
  }
  return scratch;
}

/** The encoded step; valid until the next call. */
function encoded(sums: StepCounts): Uint8Array {
  return cell.subarray(0, writeCell(sums, cell, 0));
}
