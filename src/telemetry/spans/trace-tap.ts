/**
 * A worker's part of traces: decides at the end of an exchange whether its trace is kept, and writes the spans of
 * kept traces, of many at once. Owns these and the batch, which goes into the memory that the exporting thread reads.
 */
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import type { BatchWriter } from '../ring/batch-ring.ts';
import { ExchangeSpans } from './exchange-spans.ts';
import { keptExchange, type KeptExchange } from './kept-exchange.ts';
import type { Slowest } from './slowest.ts';
import { TraceShares } from './trace-shares.ts';

/** A batch of this size is sent at once. */
const BATCH_BYTES = 32 * 1024;
const SEND_MS = 200;
/**
 * The spans of this many exchanges are written at once, so that the processor fetches the code and data for it once,
 * and not between the steps of requests. Writing takes about 0.1 ms, in which the worker serves no request.
 */
const WRITTEN_AT_ONCE = 64;

/** Which exchanges are kept in addition to those that were sampled at their start. */
export interface KeepRules {
  readonly errors: boolean;
  readonly denials: boolean;
  readonly retries: boolean;
  readonly slow: boolean;
}

export interface TraceTapOptions {
  readonly keep: KeepRules;
  /** Receives spans as fields of ScopeSpans; undefined when nothing is exported. */
  readonly ring: Pick<BatchWriter, 'push' | 'drop' | 'isNearlyFull'> | undefined;
  /** Unix milliseconds when the monotonic clock was 0, by the current wall clock. */
  readonly epochMs: () => number;
}

export class TraceTap {
  readonly #keep: KeepRules;
  readonly #ring: TraceTapOptions['ring'];
  readonly #shares: TraceShares;
  readonly #epochMs: () => number;
  readonly #spans = new ExchangeSpans();
  /** Exchanges whose spans are not written yet. */
  readonly #ended: KeptExchange[] = [];
  readonly #batch = new ProtobufWriter();
  /** The epoch for all spans of a batch. */
  #batchEpochMs = 0;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ keep, ring, epochMs }: TraceTapOptions) {
    this.#keep = keep;
    this.#ring = ring;
    this.#shares = new TraceShares(() => ring?.isNearlyFull === true);
    this.#epochMs = epochMs;
  }

  /** Call it at the end of each exchange. @param slowest of the exchange's route; undefined without a route */
  exchangeEnded(exchange: ExchangeView, slowest: Slowest | undefined): void {
    const isSlow = this.#keep.slow && slowest?.includes(exchange.latencyMs) === true;
    if (!isSlow && exchange.trace?.isSampled !== true && !this.#isKept(exchange)) return;
    const trace = exchange.traced();
    if (trace === undefined) return;
    const { version, startedMs, durationMs } = exchange;
    if (!this.#shares.mayKeep(version?.app.id ?? '', startedMs + durationMs))
      return this.#ring?.drop(1 + trace.attempts.length);
    this.#ended.push(keptExchange(exchange, trace));
    if (this.#ended.length >= WRITTEN_AT_ONCE) this.#write();
    // The timer stays when the batch was sent: at a high rate, a new timer for each batch would cost more than a
    // timer that finds little to do.
    this.#timer ??= setTimeout(() => this.flush(), SEND_MS).unref();
  }

  /** Sends the collected spans. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#write();
    this.#push();
  }

  #write(): void {
    for (const exchange of this.#ended) {
      if (this.#count === 0) this.#batchEpochMs = this.#epochMs();
      this.#count += this.#spans.write(this.#batch, exchange, this.#batchEpochMs);
      if (this.#batch.length >= BATCH_BYTES) this.#push();
    }
    this.#ended.length = 0;
  }

  #push(): void {
    if (this.#count === 0) return;
    this.#ring?.push(this.#batch.bytes, this.#count);
    this.#batch.clear();
    this.#count = 0;
  }

  #isKept(exchange: ExchangeView): boolean {
    const { errors, denials, retries } = this.#keep;
    const { status, errorCode, isAborted } = exchange;
    if (status >= 500 || isAborted) return errors;
    if (errorCode !== undefined) return denials;
    if (exchange.retries > 0) return retries;
    // The gateway answered the request itself, so that sampling was not decided at its start.
    return exchange.trace === undefined && exchange.traced()?.isSampled === true;
  }
}
