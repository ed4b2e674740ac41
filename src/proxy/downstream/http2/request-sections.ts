/**
 * Reads the header sections of one client's requests. Clients send the same section again and again, most of it as
 * references to the table of the decoder. While that table does not change, the same bytes are the same request, so the
 * section is not decoded, checked and written a second time. Owns the decoder and the requests that were seen.
 */
import { HpackDecoder } from '../../../http/http2/hpack/decoder.ts';
import { latin1Text } from '../../../http/latin1.ts';
import type { ProxyOptions } from '../../options.ts';
import { http1Request, http1Trailers, type Http2Malformed, type Http2Request } from './http2-request.ts';
import { newWebsocketKey } from './websocket-key.ts';

/** Limits of the requests kept for each connection: their number, and the size of each, encoded and as text. */
const KEPT_MAX = 8;
const KEPT_BLOCK_BYTES_MAX = 512;
const KEPT_HEAD_BYTES_MAX = 2_048;
/** After this many requests without a repetition, only every few requests are kept, as a trial. */
const MISSES_MAX = 8;
const TRIED_EVERY = 16;

/** A request in the form that the HTTP/1.1 parser reads. */
export interface ReadRequest extends Http2Request {
  readonly head: Buffer;
}

/** `too_long`: the section exceeds the limits, and is not kept. */
export type Section<T> = T | Http2Malformed | 'too_long';

export type SectionOptions = Pick<ProxyOptions, 'maxHeadBytes' | 'maxHeaders' | 'http2Websockets'>;

/**
 * SETTINGS_MAX_HEADER_LIST_SIZE. Twice the limit of the gateway, so that a client with a longer head gets a 431 instead
 * of a reset.
 */
export const listBytesMax = ({ maxHeadBytes }: SectionOptions): number => 2 * maxHeadBytes;

export class RequestSections {
  readonly #decoder: HpackDecoder;
  readonly #newKey: (() => string) | undefined;
  readonly #kept = new Map<string, ReadRequest>();
  /** The generation of the decoder when they were kept. */
  #generation = 0;
  #misses = 0;

  constructor(options: SectionOptions) {
    // Clients may split cookies into several fields.
    const fieldsMax = 2 * options.maxHeaders + 100;
    this.#decoder = new HpackDecoder({ listBytesMax: listBytesMax(options), fieldsMax });
    this.#newKey = options.http2Websockets ? newWebsocketKey : undefined;
  }

  /** The request in `block[from, to)`; undefined if its encoding is broken, and with it the connection. */
  request(block: Buffer, from: number, to: number, endStream: boolean): Section<ReadRequest> | undefined {
    const isShort = to - from <= KEPT_BLOCK_BYTES_MAX;
    const kept = this.#kept;
    if (kept.size > 0 && isShort) {
      const known = kept.get(keyOf(block, from, to, endStream));
      if (known !== undefined) {
        this.#misses = 0;
        return known;
      }
    }
    const decoder = this.#decoder;
    const before = this.#generation;
    if (!this.#decode(block, from, to)) return undefined;
    if (decoder.isTooLong) {
      decoder.release();
      return 'too_long';
    }
    const request = http1Request(decoder.fields, endStream, this.#newKey);
    decoder.release();
    if ('malformed' in request) return request;
    const read = { ...request, head: Buffer.from(request.text, 'latin1') };
    this.#misses += 1;
    const isWorthIt = this.#misses <= MISSES_MAX || this.#misses % TRIED_EVERY === 0;
    // The same bytes would mean another request after a change of the table, and each WebSocket has its own key.
    const hasChanged = this.#generation !== before;
    if (hasChanged || !isShort || !isWorthIt || request.framing === 'tunnel') return read;
    if (read.head.length > KEPT_HEAD_BYTES_MAX) return read;
    if (kept.size >= KEPT_MAX) kept.clear();
    kept.set(keyOf(block, from, to, endStream), read);
    return read;
  }

  /** Trailers as lines of HTTP/1.1; undefined as for `request`. */
  trailers(block: Buffer, from: number, to: number): Section<string> | undefined {
    const decoder = this.#decoder;
    if (!this.#decode(block, from, to)) return undefined;
    const trailers = decoder.isTooLong ? 'too_long' : http1Trailers(decoder.fields);
    decoder.release();
    return trailers;
  }

  #decode(block: Buffer, from: number, to: number): boolean {
    const decoder = this.#decoder;
    if (!decoder.decode(block, from, to)) return false;
    if (decoder.generation === this.#generation) return true;
    this.#kept.clear();
    this.#generation = decoder.generation;
    return true;
  }

  /** Releases the kept requests. */
  rest(): void {
    this.#kept.clear();
  }
}

/** One more character at the end, so that no key is a longer section's key. */
function keyOf(block: Buffer, from: number, to: number, endStream: boolean): string {
  return latin1Text(block, from, to) + (endStream ? '.' : '+');
}
