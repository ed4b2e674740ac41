/**
 * The worker's side of traces: decides at the end of an exchange whether its trace is kept, and writes the spans of the
 * kept ones. Owns the batch, which goes into the memory that the exporting thread reads.
 */
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import { ExchangeSpans } from './exchange-spans.ts';
import type { Slowest } from './slowest.ts';

/** A batch of this size is sent at once. */
const BATCH_BYTES = 32 * 1024;
const SEND_MS = 200;

/** Which exchanges are kept beside those that were sampled when they began. */
export interface KeepRules {
  readonly errors: boolean;
  readonly denials: boolean;
  readonly retries: boolean;
  readonly slow: boolean;
}

export interface TraceTapOptions {
  readonly keep: KeepRules;
  /** Gets spans as fields of ScopeSpans; the bytes are valid during the call. */
  readonly send: (batch: Uint8Array, spans: number) => void;
  /** Unix milliseconds when the monotonic clock was 0, as of now. */
  readonly epochMs: () => number;
}

export class TraceTap {
  readonly #keep: KeepRules;
  readonly #send: TraceTapOptions['send'];
  readonly #epochMs: () => number;
  readonly #spans = new ExchangeSpans();
  readonly #batch = new ProtobufWriter();
  /** For all spans of a batch. */
  #batchEpochMs = 0;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ keep, send, epochMs }: TraceTapOptions) {
    this.#keep = keep;
    this.#send = send;
    this.#epochMs = epochMs;
  }

  /** For each exchange at its end. @param slowest of its route; undefined without a route */
  exchangeEnded(exchange: ExchangeView, slowest: Slowest | undefined): void {
    const isSlow = this.#keep.slow && slowest?.includes(exchange.durationMs) === true;
    if (!isSlow && exchange.trace?.isSampled !== true && !this.#isKept(exchange)) return;
    const trace = exchange.traced();
    if (trace === undefined) return;
    if (this.#count === 0) this.#batchEpochMs = this.#epochMs();
    this.#count += this.#spans.write(this.#batch, exchange, trace, this.#batchEpochMs);
    if (this.#batch.length >= BATCH_BYTES) this.#push();
    // The timer stays: at a high rate a new one for each batch would cost more than the one that finds little.
    this.#timer ??= setTimeout(() => this.flush(), SEND_MS).unref();
  }

  /** Sends what was collected. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#push();
  }

  #push(): void {
    if (this.#count === 0) return;
    this.#send(this.#batch.bytes, this.#count);
    this.#batch.clear();
    this.#count = 0;
  }

  #isKept(exchange: ExchangeView): boolean {
    const { errors, denials, retries } = this.#keep;
    const { status, errorCode, isAborted } = exchange;
    if (status >= 500 || isAborted) return errors;
    if (errorCode !== undefined) return denials;
    if (exchange.retries > 0) return retries;
    // Answered by the gateway itself, so that nothing was asked when it began.
    return exchange.trace === undefined && exchange.traced()?.isSampled === true;
  }
}
