/**
 * Drives the parsers over bytes that arrive in pieces, in the way of a connection: finds the head, parses it,
 * canonicalises the path, decodes the body. Owns the bytes not yet used. It is the harness of the corpus and of the
 * fuzzers, not a part of the gateway: it gathers the whole body in memory.
 */
import { canonicalPath, pathEnd } from '../../src/http/paths/canonical-path.ts';
import { ChunkedDecoder } from '../../src/http/bodies/chunked-decoder.ts';
import { BodyFraming } from '../../src/http/bodies/framing.ts';
import type { HeadError } from '../../src/http/heads/head-error.ts';
import {
  findHeadEnd,
  incompleteHeadError,
  incompleteResponseError,
  oversizeHeadError,
  skipEmptyLine,
} from '../../src/http/heads/head-end.ts';
import { latin1Text } from '../../src/http/latin1.ts';
import { RequestHead } from '../../src/http/heads/request-head.ts';
import { ResponseHead } from '../../src/http/heads/response-head.ts';

export const limits = Object.freeze({ maxHeadBytes: 32 * 1024, maxTargetBytes: 8 * 1024, maxHeaders: 100 });

export type Outcome =
  | {
      readonly kind: 'accept';
      readonly body: string;
      readonly trailers: string | undefined;
      readonly rest: string;
    }
  | { readonly kind: 'refuse'; readonly at: 'head' | 'path' | 'body'; readonly error: HeadError }
  | { readonly kind: 'incomplete' };

const INCOMPLETE: Outcome = Object.freeze({ kind: 'incomplete' });

abstract class MessageReader {
  protected bytes = Buffer.alloc(0);
  /** Bytes that were looked at for the end of the head. */
  protected scanned = 0;
  protected inBody = false;
  protected outcome: Outcome = INCOMPLETE;
  #body = '';
  readonly #decoder = new ChunkedDecoder();

  /** Takes the next piece; after an outcome other than `incomplete` only `rest` grows. */
  push(piece: Buffer): void {
    if (this.outcome.kind === 'accept') {
      this.outcome = { ...this.outcome, rest: this.outcome.rest + latin1Text(piece, 0, piece.length) };
      return;
    }
    if (this.outcome.kind === 'refuse') return;
    this.bytes = Buffer.concat([this.bytes, piece]);
    if (!this.inBody) this.outcome = this.readHead();
    if (this.inBody && this.outcome.kind === 'incomplete') this.outcome = this.readBody();
  }

  /** The outcome so far. */
  result(): Outcome {
    return this.outcome;
  }

  protected abstract readHead(): Outcome;
  protected abstract readBody(): Outcome;

  protected readFramed(framing: number, contentLength: number): Outcome {
    if (framing === BodyFraming.chunked) return this.#readChunked();
    const length = framing === BodyFraming.contentLength ? contentLength : 0;
    if (this.bytes.length < length) return INCOMPLETE;
    return this.accept(latin1Text(this.bytes, 0, length), undefined, length);
  }

  protected accept(body: string, trailers: string | undefined, used: number): Outcome {
    return { kind: 'accept', body, trailers, rest: latin1Text(this.bytes, used, this.bytes.length) };
  }

  #readChunked(): Outcome {
    const used = this.#decoder.write(this.bytes, 0, this.bytes.length, (buffer, from, to) => {
      this.#body += latin1Text(buffer, from, to);
    });
    if (this.#decoder.error !== undefined) return { kind: 'refuse', at: 'body', error: this.#decoder.error };
    if (this.#decoder.done) return this.accept(this.#body, this.#decoder.trailers, used);
    this.bytes = Buffer.alloc(0);
    return INCOMPLETE;
  }
}

export class RequestReader extends MessageReader {
  readonly head = new RequestHead();
  /** Canonical path of an accepted request; '*' for OPTIONS *. */
  path = '';

  protected readHead(): Outcome {
    const { bytes } = this;
    const start = skipEmptyLine(bytes, 0, bytes.length);
    const end = findHeadEnd(bytes, Math.max(start, this.scanned - 3), bytes.length);
    if ((end < 0 ? bytes.length : end) - start > limits.maxHeadBytes) {
      return refuse('head', oversizeHeadError(bytes, start, bytes.length, limits.maxHeadBytes));
    }
    if (end < 0) {
      const error = incompleteHeadError(bytes, start, this.scanned, bytes.length);
      this.scanned = bytes.length;
      return error === undefined ? INCOMPLETE : refuse('head', error);
    }
    const error = this.head.parseBytes(bytes, start, end - 2, limits);
    if (error !== undefined) return refuse('head', error);
    const path =
      this.head.target === '*' ? '*' : canonicalPath(this.head.target.slice(0, pathEnd(this.head.target)));
    if (typeof path === 'object') return refuse('path', path);
    this.path = path;
    this.bytes = bytes.subarray(end);
    this.inBody = true;
    return INCOMPLETE;
  }

  protected readBody(): Outcome {
    return this.readFramed(this.head.framing, this.head.contentLength);
  }
}

export class ResponseReader extends MessageReader {
  readonly head = new ResponseHead();
  /** Status of each interim response that came before the final one. */
  readonly interim: number[] = [];
  readonly #requestMethod: string;

  constructor(requestMethod: string) {
    super();
    this.#requestMethod = requestMethod;
  }

  /** The upstream has closed the connection. */
  end(): void {
    if (this.outcome.kind !== 'incomplete' || !this.inBody) return;
    if (this.head.framing !== BodyFraming.untilClose) return;
    this.outcome = this.accept(latin1Text(this.bytes, 0, this.bytes.length), undefined, this.bytes.length);
  }

  protected readHead(): Outcome {
    for (;;) {
      const { bytes } = this;
      const end = findHeadEnd(bytes, Math.max(0, this.scanned - 3), bytes.length);
      if (end < 0) {
        const error = incompleteResponseError(bytes, 0, this.scanned, bytes.length);
        this.scanned = bytes.length;
        return error === undefined ? INCOMPLETE : refuse('head', error);
      }
      this.scanned = 0;
      const error = this.head.parseBytes(bytes, 0, end - 2, this.#requestMethod, limits);
      if (error !== undefined) return refuse('head', error);
      this.bytes = bytes.subarray(end);
      if (this.head.status >= 200 || this.head.status === 101) break;
      this.interim.push(this.head.status);
    }
    this.inBody = true;
    return INCOMPLETE;
  }

  protected readBody(): Outcome {
    if (this.head.framing === BodyFraming.untilClose) return INCOMPLETE;
    return this.readFramed(this.head.framing, this.head.contentLength);
  }
}

function refuse(at: 'head' | 'path' | 'body', error: HeadError): Outcome {
  return { kind: 'refuse', at, error };
}
