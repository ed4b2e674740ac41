/**
 * The worker's side of live traffic: asks each watcher's filter about every exchange that ends, and reports those that
 * pass, at a limited rate for each watcher, spread over time. Without a watcher an exchange costs one check of
 * `isWatched`. Stages are timed only of exchanges that begin while the rate allows another report. With much traffic
 * that is a small part of the exchanges, and the others are not reported; with little traffic they are.
 *
 * Owns the collected reports, which are sent a few times in a second, and what is kept of reported exchanges so that
 * they can be explained (kept-exchanges.ts).
 */
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import { passes } from './live-filter.ts';
import type { LiveCount, LiveMessage, LiveRecord, LiveWatch } from './live-messages.ts';
import { liveRecord } from './live-record.ts';
import { Pace } from './pace.ts';

/** Reports in a second that any watcher may use. As many again are divided equally among the watchers. */
const REPORTS_PER_SECOND_MAX = 400;
const SEND_MS = 100;

export interface LiveTapOptions {
  readonly workerNumber: number;
  readonly send: (message: LiveMessage) => void;
  /** Keeps an exchange so that it can be explained by its id. */
  readonly keep: (id: string, exchange: ExchangeView) => void;
}

interface Watching {
  readonly watch: LiveWatch;
  readonly pace: Pace;
  /** Its own share of the reports, which other watchers cannot use up. */
  readonly fair: Pace;
  seen: number;
  shown: number;
}

export class LiveTap {
  readonly #options: LiveTapOptions;
  readonly #pace = new Pace(REPORTS_PER_SECOND_MAX);
  #watching: readonly Watching[] = [];
  #records: LiveRecord[] = [];
  #nextRecord = 1;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LiveTapOptions) {
    this.#options = options;
  }

  get isWatched(): boolean {
    return this.#watching.length > 0;
  }

  /** Whether an exchange that begins now may be reported, so that its stages are timed. @param nowMs monotonic */
  mayReport(nowMs: number): boolean {
    for (const { pace, fair } of this.#watching) {
      if (pace.isOpen(nowMs) && (this.#pace.isOpen(nowMs) || fair.isOpen(nowMs))) return true;
    }
    return false;
  }

  /** Replaces the watches; those that stay keep their counts. */
  watch(watches: readonly LiveWatch[]): void {
    const known = new Map(this.#watching.map((each) => [each.watch.id, each]));
    this.#watching = watches.map((watch) => ({
      ...(known.get(watch.id) ?? { watch, pace: new Pace(watch.perSecond), seen: 0, shown: 0 }),
      fair: new Pace(REPORTS_PER_SECOND_MAX / watches.length),
    }));
    if (this.isWatched) this.#timer ??= setInterval(() => this.#report(), SEND_MS).unref();
    else this.stop();
  }

  /** For each exchange at its end, while `isWatched`. */
  exchangeEnded(exchange: ExchangeView): void {
    const endMs = exchange.startedMs + exchange.durationMs;
    let chosen: number[] | undefined;
    for (const watching of this.#watching) {
      if (!passes(watching.watch.filter, exchange)) continue;
      watching.seen += 1;
      if (!this.#isNext(watching, exchange, endMs)) continue;
      watching.shown += 1;
      (chosen ??= []).push(watching.watch.id);
    }
    if (chosen === undefined) return;
    this.#pace.admits(endMs);
    const id = `${this.#options.workerNumber}-${this.#nextRecord++}`;
    this.#records.push(liveRecord(exchange, id, chosen));
    this.#options.keep(id, exchange);
  }

  /** Sends what was collected, and stops. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#report();
  }

  /** An exchange without timed stages is shown only when there is little to show. */
  #isNext({ pace, fair }: Watching, { timeline }: ExchangeView, endMs: number): boolean {
    if (!pace.isOpen(endMs) || (timeline === undefined && !pace.isIdle(endMs))) return false;
    if (!this.#pace.isOpen(endMs) && !fair.admits(endMs)) return false;
    return pace.admits(endMs);
  }

  #report(): void {
    const counts: LiveCount[] = [];
    for (const each of this.#watching) {
      if (each.seen === 0) continue;
      counts.push({ watch: each.watch.id, seen: each.seen, dropped: each.seen - each.shown });
      each.seen = 0;
      each.shown = 0;
    }
    const records = this.#records;
    if (counts.length === 0 && records.length === 0) return;
    this.#records = [];
    this.#options.send({ type: 'live', worker: this.#options.workerNumber, records, counts });
  }
}
