/**
 * Reads the HTTP/1.1 response that the engine writes for an HTTP/2 stream and passes it on in parts. Owns the position
 * in the message. The gateway wrote the text itself, but strict parsers read it: what they refuse is a defect, which
 * ends the stream. Connection fields are removed (RFC 9113 section 8.2.2), and names are in lower case.
 */
import { CONNECTION_FIELDS } from '../../../http/fields/field-lists.ts';
import { ChunkedDecoder } from '../../../http/bodies/chunked-decoder.ts';
import { BodyFraming } from '../../../http/bodies/framing.ts';
import { findHeadEnd } from '../../../http/heads/head-end.ts';
import { ResponseHead } from '../../../http/heads/response-head.ts';

export interface Http2ResponseSink {
  /** Fields as names and values alternating. */
  onInterim(status: number, fields: string[]): void;
  onHead(status: number, fields: string[]): void;
  /** The backend has switched to a WebSocket; what follows is its bytes. False if its answer is not sound. */
  onSwitch(fields: string[]): boolean;
  /** The range is valid only during the call. */
  onBody(buffer: Buffer, from: number, to: number): void;
  /** @param trailers names and values alternating */
  onComplete(trailers: string[]): void;
}

/** More than any head that the engine writes. */
const LIMITS = { maxHeaders: 1_000 };
const EMPTY = Buffer.alloc(0);

export class Http2ResponseReader {
  readonly #method: string;
  readonly #sink: Http2ResponseSink;
  readonly #head = new ResponseHead();
  #decoder: ChunkedDecoder | undefined;
  #state: 'head' | 'body' | 'tunnel' | 'complete' | 'broken' = 'head';
  #partial: Buffer = EMPTY;
  #remaining = 0;
  readonly #onChunk = (buffer: Buffer, from: number, to: number): void => this.#sink.onBody(buffer, from, to);

  readonly #isWebSocket: boolean;

  /**
   * @param method of the request, which determines how the response is read
   * @param isWebSocket the request asks for one
   */
  constructor(method: string, sink: Http2ResponseSink, isWebSocket = false) {
    this.#method = method;
    this.#isWebSocket = isWebSocket;
    this.#sink = sink;
  }

  get isComplete(): boolean {
    return this.#state === 'complete';
  }

  get isTunnel(): boolean {
    return this.#state === 'tunnel';
  }

  /** False if this is not exactly one response. */
  write(bytes: Buffer): boolean {
    let buffer = bytes;
    if (this.#partial.length > 0) {
      buffer = Buffer.concat([this.#partial, bytes]);
      this.#partial = EMPTY;
    }
    let from = 0;
    while (from < buffer.length && this.#state === 'head') from = this.#readHead(buffer, from);
    if (from < buffer.length && this.#state === 'body') from = this.#readBody(buffer, from);
    if (from < buffer.length && this.#state === 'tunnel') {
      this.#sink.onBody(buffer, from, buffer.length);
      from = buffer.length;
    }
    if (from < buffer.length) this.#state = 'broken';
    return this.#state !== 'broken';
  }

  #readHead(buffer: Buffer, from: number): number {
    const end = findHeadEnd(buffer, from, buffer.length);
    if (end < 0) {
      this.#partial = Buffer.from(buffer.subarray(from));
      return buffer.length;
    }
    const head = this.#head;
    const error = head.parseBytes(buffer, from, end - 2, this.#method, LIMITS);
    if (error !== undefined || head.framing === BodyFraming.untilClose) {
      this.#state = 'broken';
      return end;
    }
    const fields = fieldsOf(head);
    if (this.#isWebSocket && head.status === 101) {
      this.#state = this.#sink.onSwitch(fields) ? 'tunnel' : 'broken';
      return end;
    }
    if (this.#isWebSocket && head.status >= 200 && head.status < 300) {
      // The client would take it for the beginning of the WebSocket (RFC 8441 section 5).
      this.#state = 'broken';
      return end;
    }
    if (head.status < 200) {
      this.#sink.onInterim(head.status, fields);
      return end;
    }
    this.#state = 'body';
    this.#sink.onHead(head.status, fields);
    this.#remaining = head.framing === BodyFraming.contentLength ? head.contentLength : 0;
    if (head.framing === BodyFraming.chunked) this.#decoder = new ChunkedDecoder();
    else if (this.#remaining === 0) this.#complete('');
    return end;
  }

  #readBody(buffer: Buffer, from: number): number {
    const decoder = this.#decoder;
    if (decoder === undefined) {
      const end = Math.min(buffer.length, from + this.#remaining);
      this.#remaining -= end - from;
      this.#sink.onBody(buffer, from, end);
      if (this.#remaining === 0) this.#complete('');
      return end;
    }
    const end = decoder.write(buffer, from, buffer.length, this.#onChunk);
    if (decoder.error !== undefined) this.#state = 'broken';
    else if (decoder.done) this.#complete(decoder.trailers ?? '');
    return end;
  }

  #complete(trailers: string): void {
    this.#state = 'complete';
    const fields: string[] = [];
    for (const line of trailers.split('\r\n')) {
      const colon = line.indexOf(':');
      if (colon > 0) fields.push(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    this.#sink.onComplete(fields);
  }
}

function fieldsOf(head: ResponseHead): string[] {
  const fields: string[] = [];
  for (let index = 0; index < head.count; index++) {
    const name = head.name(index).toLowerCase();
    if (!CONNECTION_FIELDS.has(name)) fields.push(name, head.value(index));
  }
  return fields;
}
