/**
 * Writes one backend's response to the client: the head from downstream-head.ts, and the body with a framing that the
 * client can read. Owns the text that waits for the end of the current read, so that head and small body are sent as
 * one write. Nothing is sent before the first `flush`: until then a broken response can still be answered with a 502.
 */
import { chunkHeader, lastChunk } from '../../http/bodies/chunked-decoder.ts';
import { BodyFraming } from '../../http/bodies/framing.ts';
import { latin1Text } from '../../http/latin1.ts';
import type { BackendHead } from '../interfaces/head-templates.ts';
import { clientFraming, downstreamResponseHead, type ClientFraming } from '../downstream/downstream-head.ts';
import type { Exchange } from '../exchange.ts';
import { passedTrailers } from '../io/edited-fields.ts';
import { TEXT_BODY_BYTES_MAX } from '../options.ts';
import type { Upstream } from './upstream.ts';

const EVENT_STREAM = /^text\/event-stream\s*(?:;|$)/i;

export class ResponseRelay {
  /** Whether the response is an error for which the backend does not need the whole request. */
  readonly isRefusal: boolean;
  /** Whether the response is an error that ends with its connection. */
  readonly endsByReset: boolean;
  /** Whether the client's connection can serve another request afterwards. */
  readonly persist: boolean;
  /** Whether the response lasts for as long as the client wants (Server-Sent Events). */
  readonly isEventStream: boolean;
  readonly #exchange: Exchange;
  readonly #upstream: Upstream;
  readonly #framing: ClientFraming;
  /** Whether the content has unknown length and goes to HTTP/2, which needs no chunks. */
  readonly #isUnframed: boolean;
  #isComplete = false;
  /** The trailers of such content, at its end; undefined before. */
  #trailers: string | undefined;
  #text: string;

  /** @param isSent whether the system has accepted the whole request */
  constructor(exchange: Exchange, upstream: Upstream, head: BackendHead, isSent: boolean) {
    this.#exchange = exchange;
    this.#upstream = upstream;
    const isError = head.status >= 400;
    this.endsByReset = isError && head.framing === BodyFraming.untilClose;
    this.isRefusal = isError && (!isSent || (head.status === 413 && exchange.bytesIn > 0));
    this.#framing = clientFraming(exchange, head);
    this.#isUnframed = this.#framing === 'chunked' && exchange.connection.isHttp2;
    this.isEventStream =
      head.framing !== BodyFraming.contentLength && EVENT_STREAM.test(head.get('content-type') ?? '');
    this.persist = this.#framing !== 'until_close' && exchange.connection.canPersist();
    this.#text = downstreamResponseHead(exchange, head, this.#framing, this.persist);
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  data(buffer: Buffer, from: number, to: number): void {
    const length = to - from;
    this.#exchange.wroteBody(length);
    const isChunked = this.#framing === 'chunked' && !this.#isUnframed;
    if (isChunked) this.#text += chunkHeader(length);
    if (length + this.#text.length <= TEXT_BODY_BYTES_MAX) this.#text += latin1Text(buffer, from, to);
    else {
      const { connection } = this.#exchange;
      const release = this.#upstream.retain(buffer);
      connection.cork();
      this.flush();
      connection.writeFrom(buffer, from, to, release);
      connection.uncork();
    }
    if (isChunked) this.#text += '\r\n';
  }

  end(trailers: string): void {
    if (this.#framing === 'chunked') {
      const editor = this.#exchange.route?.policy.responseFields;
      const passed = passedTrailers(trailers, editor);
      if (this.#isUnframed) this.#trailers = passed;
      else this.#text += lastChunk(passed);
    }
    this.#isComplete = true;
  }

  flush(): void {
    const text = this.#text;
    const trailers = this.#trailers;
    if (text === '' && trailers === undefined) return;
    this.#text = '';
    const { connection } = this.#exchange;
    this.#exchange.startResponse();
    connection.endsByClosing = this.#framing === 'until_close';
    if (trailers === undefined) connection.writeText(text);
    else connection.writeEnd(text, trailers);
  }
}
