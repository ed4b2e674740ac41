/**
 * The worker's side of traces: decides at the end of an exchange whether it is kept, and writes the spans of those that
 * are. Owns the batch, which goes to the main thread a few times in a second.
 */
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import { ExchangeSpans } from './exchange-spans.ts';
import type { Slowest } from './slowest.ts';

/** A batch of this size does not wait. */
const BATCH_BYTES = 256 * 1024;
const SEND_MS = 200;

/** Which exchanges are kept beside those that were sampled when they began. */
export interface KeepRules {
  readonly errors: boolean;
  readonly denials: boolean;
  readonly retries: boolean;
  readonly slow: boolean;
}

/** Spans as fields of ScopeSpans. */
export interface SpanBatch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly spans: number;
}

export interface TraceTapOptions {
  readonly keep: KeepRules;
  readonly send: (batch: SpanBatch) => void;
  /** Unix milliseconds when the monotonic clock was 0, as of now. */
  readonly epochMs: () => number;
}

export class TraceTap {
  readonly #keep: KeepRules;
  readonly #send: (batch: SpanBatch) => void;
  readonly #spans: ExchangeSpans;
  readonly #batch = new ProtobufWriter();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ keep, send, epochMs }: TraceTapOptions) {
    this.#keep = keep;
    this.#send = send;
    this.#spans = new ExchangeSpans(epochMs);
  }

  /** For each exchange at its end. @param slowest of its route; undefined without a route */
  exchangeEnded(exchange: ExchangeView, slowest: Slowest | undefined): void {
    const isSlow = this.#keep.slow && slowest?.includes(exchange.durationMs) === true;
    if (!isSlow && exchange.trace?.isSampled !== true && !this.#isKept(exchange)) return;
    const trace = exchange.traced();
    if (trace === undefined) return;
    this.#count += this.#spans.write(this.#batch, exchange, trace);
    if (this.#batch.length >= BATCH_BYTES) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), SEND_MS).unref();
  }

  /** Sends what was collected. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#count === 0) return;
    const spans = this.#count;
    this.#count = 0;
    this.#send({ bytes: this.#batch.take(), spans });
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
