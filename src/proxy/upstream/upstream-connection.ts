/**
 * One connection to a backend: reads responses (RFC 9112) and passes them to its exchange in pieces, without keeping
 * them. Owns the parse state and whether the connection can be reused. Sockets read into shared memory
 * (read-buffers.ts): the receiver of a range must use, copy or retain it before it returns. Retries, headers and
 * clients are handled elsewhere.
 */
import * as net from 'node:net';
import { ChunkedDecoder, lastChunk } from '../../http/bodies/chunked-decoder.ts';
import { BodyFraming } from '../../http/bodies/framing.ts';
import { findHeadEnd, incompleteResponseError } from '../../http/heads/head-end.ts';
import type { HeadError } from '../../http/heads/head-error.ts';
import { compacted, joined } from '../../http/joined-bytes.ts';
import { ResponseHead } from '../../http/heads/response-head.ts';
import type { BackendHead } from '../interfaces/head-templates.ts';
import type { CompiledBackend } from '../../config/types.ts';
import type { Deadlines, Expiring } from '../resilience/deadlines.ts';
import { INTERIM_RESPONSES_MAX, RESPONSE_HEAD_BYTES_MAX, RESPONSE_HEADERS_MAX } from '../options.ts';
import { isProtocolAskedFor } from '../../http/fields/switch-protocol.ts';
import type { BodyBuffer } from '../io/body-buffer-pool.ts';
import type { RequestSource, Upstream, UpstreamClient } from './upstream.ts';
import { isStray } from './pool/strays.ts';
import type { UpstreamCause, UpstreamFailure } from './upstream-failure.ts';
import { UpstreamLink } from './upstream-link.ts';
import {
  certificateRefused,
  connectFailure,
  isCertificateRefusal,
  outdating,
  type ConnectionMeans,
} from './upstream-socket.ts';
import { readOnAfterWriteError } from '../io/write-errors.ts';

const RESPONSE_LIMITS = { maxHeaders: RESPONSE_HEADERS_MAX };
const EMPTY = Buffer.alloc(0);
type ReadState = 'unused' | 'head' | 'body' | 'tunnel' | 'ended' | 'closed';

export class UpstreamConnection extends UpstreamLink implements Upstream, Expiring {
  readonly poolKey: string;
  /** Set while the connection is idle in the pool. */
  deadlineMs = Infinity;
  /** Coarse monotonic time of the last release to the pool. */
  idleSinceMs = 0;
  /** The pool's tick count at that time. */
  idleSinceTick = -1;
  /** Coarse monotonic time when its latest exchange began. */
  takenAtMs = 0;
  /** From this time on it serves no further exchange: its backend may have another address. */
  readonly renewAtMs: number;
  /** Number in the order in which its pool has opened connections. */
  number = 0;
  /** Whether other requests to the backend use HTTP/2. */
  readonly isSingleUse: boolean;
  /** Exchanges completed on it. */
  uses = 0;

  /** Whether the client certificate that it was opened with has been replaced or removed. */
  readonly isOutdated: () => boolean;

  readonly #head: BackendHead = new ResponseHead();
  readonly #decoder = new ChunkedDecoder();
  readonly #deadlines: Deadlines;
  readonly #onStray: () => void;
  #client: UpstreamClient | undefined;
  #state: ReadState = 'unused';
  #connected = false;
  #requestMethod = '';
  #upgrade: string | undefined;
  #partial: Buffer = EMPTY;
  /** Number of bytes already searched for the end of a head. */
  #scanned = 0;
  #interimCount = 0;
  #bodyRemaining = 0;
  #reusable = false;
  #responseBegun = false;
  #onIdleLost: ((connection: UpstreamConnection) => void) | undefined;
  readonly #onChunk: (buffer: Buffer, from: number, to: number) => void;

  /** @param onStray called when the backend has sent bytes that answer no request */
  constructor(backend: CompiledBackend, deadlines: Deadlines, means: ConnectionMeans, onStray: () => void) {
    super(backend, means);
    this.poolKey = backend.poolKey;
    this.isSingleUse = backend.protocol === 'h2';
    this.renewAtMs = net.isIP(backend.host) === 0 ? deadlines.nowMs + means.ageMsMax : Infinity;
    this.isOutdated = outdating(backend, means);
    this.#deadlines = deadlines;
    this.#onStray = onStray;
    deadlines.add(this);
    this.#onChunk = (buffer, from, to) => this.#client?.onResponseData(buffer, from, to);
    const { socket } = this;
    socket.once(this.isTls ? 'secureConnect' : 'connect', () => this.#guard(() => this.#onConnect()));
    const onEnd = (): void => this.#guard(() => this.#onEnd());
    socket.on('end', onEnd);
    readOnAfterWriteError(socket, (error) => this.#becomeDeaf(error), onEnd);
    socket.on('error', (error: Error) => this.#guard(() => this.#onError(error)));
    socket.on('close', () => {
      this.reader.close();
      this.#deadlines.delete(this);
      this.#guard(() => this.#fail({ cause: 'reset', fault: 'closed' }));
    });
  }

  get connected(): boolean {
    return this.#connected;
  }

  get wasReused(): boolean {
    return this.uses > 0;
  }

  get responseBegun(): boolean {
    return this.#responseBegun;
  }

  /** True once the response is complete and the connection can serve another request. */
  get reusable(): boolean {
    return this.#reusable && this.#state === 'ended' && !this.isDeaf && !this.socket.destroyed;
  }

  acquire(client: UpstreamClient, requestMethod: string, upgrade: string | undefined): void {
    this.#client = client;
    this.#requestMethod = requestMethod;
    this.#upgrade = upgrade;
    this.noteUnsent();
    this.#state = 'head';
    this.#interimCount = 0;
    this.#partial = EMPTY;
    this.#scanned = 0;
    this.#reusable = false;
    this.#responseBegun = false;
    this.#onIdleLost = undefined;
    this.deadlineMs = Infinity;
    this.takenAtMs = this.#deadlines.nowMs;
  }

  sendRequest(source: RequestSource, body: string | BodyBuffer | undefined): void {
    const head = source.headText();
    if (typeof body === 'object') this.writeWithBody(head, body);
    else this.writeText(body === undefined || body === '' ? head : head + body);
  }

  endBody(isChunked: boolean, trailers: string): void {
    if (isChunked) this.writeText(lastChunk(trailers));
  }

  /** Makes it idle; calls `onLost` when it closes or the backend sends anything meanwhile. */
  release(onLost: (connection: UpstreamConnection) => void): void {
    this.#client = undefined;
    this.#state = 'unused';
    this.#head.rest();
    this.uses += 1;
    this.idleSinceMs = this.#deadlines.nowMs;
    this.#onIdleLost = onLost;
    // A pause for back-pressure must not outlive its exchange.
    if (this.reader.isPaused) this.resumeReading();
  }

  onDeadline(): void {
    this.#lose();
  }

  /** Closes it when everything is written, or after `timeoutMs`. The user is not notified. */
  destroySoon(timeoutMs: number): void {
    this.#client = undefined;
    this.#state = 'closed';
    this.deadlineMs = this.#deadlines.nowMs + timeoutMs;
    this.reader.pause();
    this.writer?.flush();
    this.socket.destroySoon();
  }

  /** Closes it at once. The user is not notified. */
  destroy(): void {
    this.#client = undefined;
    this.#state = 'closed';
    this.#deadlines.delete(this);
    this.socket.destroy();
  }

  #onConnect(): void {
    this.#connected = true;
    this.#client?.onUpstreamConnected();
  }

  protected override get expectsMore(): boolean {
    return this.#state === 'body' || this.#state === 'tunnel';
  }

  protected override onDrain(): void {
    this.#guard(() => this.#client?.onUpstreamWritable());
  }

  protected override onRead(shared: Buffer, length: number): void {
    const client = this.#client;
    try {
      this.#read(shared, length);
    } catch (error) {
      this.destroy();
      client?.onDefect(error);
    }
  }

  #read(shared: Buffer, length: number): void {
    if (this.#state === 'closed') return this.#lose();
    if (this.#state === 'unused') {
      this.#noteStray(shared, 0, length);
      return this.#lose();
    }
    // Bytes that arrive on an idle connection before the request was sent are not a response to it.
    if (this.uses > 0 && this.isUnsent) {
      this.#noteStray(shared, 0, length);
      return this.#fail({ cause: 'reset', fault: 'spoke_first' });
    }
    const client = this.#client;
    this.#responseBegun = true;
    let buffer = shared;
    let to = length;
    if (this.#partial.length > 0) {
      buffer = joined(this.#partial, shared.subarray(0, length));
      to = buffer.length;
      this.#partial = EMPTY;
    }
    let from = 0;
    while (from < to && this.#state === 'head') from = this.#readHead(buffer, from, to);
    if (this.#partial.length > 0) this.#keepPartial(shared);
    if (from < to && this.#state === 'body') from = this.#readBody(buffer, from, to);
    if (from < to && this.#state === 'tunnel') {
      this.#client?.onResponseData(buffer, from, to);
      from = to;
    }
    // Bytes after the response belong to no request: the connection can no longer be trusted. After a full read, more
    // bytes may be waiting.
    if (this.#state === 'ended' && (from < to || this.reader.wasFull)) {
      this.#reusable = false;
      this.#noteStray(buffer, from, to);
    }
    // A user that retries this response already has another connection.
    if (this.#client === client) client?.onReadEnd();
  }

  /** The next read of any connection overwrites the shared buffer. */
  #keepPartial(shared: Buffer): void {
    // Reading a buffer's `buffer` property is a call into the runtime.
    if (this.#partial.buffer === shared.buffer) this.#partial = Buffer.from(this.#partial);
    else this.#partial = compacted(this.#partial);
  }

  #noteStray(bytes: Buffer, from: number, to: number): void {
    if (isStray(bytes, from, to)) this.#onStray();
  }

  /** Returns where to continue; `to` if more bytes are needed. */
  #readHead(buffer: Buffer, from: number, to: number): number {
    const end = findHeadEnd(buffer, Math.max(from, from + this.#scanned - 3), to);
    if (end < 0 || end - from > RESPONSE_HEAD_BYTES_MAX) {
      const isTooLarge = to - from > RESPONSE_HEAD_BYTES_MAX;
      const hopeless = incompleteResponseError(buffer, from, from + this.#scanned, to);
      if (isTooLarge) this.#fail({ cause: 'bad_response', fault: 'head_too_large' });
      else if (hopeless !== undefined) this.#fail(malformed(hopeless));
      else this.#partial = buffer.subarray(from, to);
      this.#scanned = to - from;
      return to;
    }
    this.#scanned = 0;
    const head = this.#head;
    const error = head.parseBytes(buffer, from, end - 2, this.#requestMethod, RESPONSE_LIMITS);
    if (error !== undefined) {
      this.#fail(malformed(error));
      return to;
    }
    if (head.status < 200) return this.#readInterim(head, end, to);
    this.#state = 'body';
    // A backend that was asked for another protocol may take the body of that request for the next request.
    const isPlain = this.#upgrade === undefined;
    this.#reusable = isPlain && head.persistent && head.framing !== BodyFraming.untilClose;
    this.#bodyRemaining = head.contentLength;
    if (head.framing === BodyFraming.chunked) this.#decoder.reset();
    this.#client?.onResponseHead(head);
    const isEmpty =
      head.framing === BodyFraming.none ||
      (head.framing === BodyFraming.contentLength && head.contentLength === 0);
    if (isEmpty && this.#state === 'body') this.#end('');
    return end;
  }

  #readInterim(head: BackendHead, end: number, to: number): number {
    if (head.status === 101 && isProtocolAskedFor(this.#upgrade, head.upgrade)) {
      this.#state = 'tunnel';
      this.#client?.onSwitch(head, this);
      return end;
    }
    this.#interimCount += 1;
    if (head.status === 101) this.#fail({ cause: 'bad_response', fault: 'unasked_switch' });
    else if (this.#interimCount > INTERIM_RESPONSES_MAX) {
      this.#fail({ cause: 'bad_response', fault: 'too_many_interims' });
    } else {
      this.#client?.onInterim(head);
      return end;
    }
    return to;
  }

  #readBody(buffer: Buffer, from: number, to: number): number {
    if (this.#head.framing === BodyFraming.chunked) return this.#readChunked(buffer, from, to);
    if (this.#head.framing === BodyFraming.untilClose) {
      this.#client?.onResponseData(buffer, from, to);
      return to;
    }
    const end = Math.min(to, from + this.#bodyRemaining);
    this.#bodyRemaining -= end - from;
    this.#client?.onResponseData(buffer, from, end);
    if (this.#bodyRemaining === 0 && this.#state === 'body') this.#end('');
    return end;
  }

  #readChunked(buffer: Buffer, from: number, to: number): number {
    const decoder = this.#decoder;
    const end = decoder.write(buffer, from, to, this.#onChunk);
    if (decoder.error !== undefined) {
      this.#fail(malformed(decoder.error));
      return to;
    }
    if (decoder.done && this.#state === 'body') this.#end(decoder.trailers ?? '');
    return end;
  }

  #end(trailers: string): void {
    this.#state = 'ended';
    // The backend may never read the rest of the request.
    if (!this.isFlushed) this.#reusable = false;
    this.#client?.onResponseEnd(trailers);
  }

  #onEnd(): void {
    // After a failed write this is a reset.
    const isOrderly = this.#head.framing === BodyFraming.untilClose && !this.isDeaf;
    const endsByClosing = this.#state === 'body' && isOrderly;
    if (endsByClosing || this.#state === 'tunnel') {
      const client = this.#client;
      this.#end('');
      client?.onReadEnd();
    } else if (this.#state === 'unused') this.#lose();
    else if (this.#state === 'ended') this.#reusable = false;
    else this.#fail({ cause: 'reset', fault: 'closed_early' });
  }

  /** In a later tick: users are not called from within their writes. */
  #becomeDeaf(error: Error): void {
    this.stopWriting();
    process.nextTick(() => this.#guard(() => this.#onDeaf(error)));
  }

  #onDeaf(error: Error): void {
    // A request that was never sent gets no response.
    if (this.#state === 'unused' || (this.uses > 0 && this.isUnsent)) return this.#onError(error);
    // The rest of the body is read and dropped: a client may read the response only after it has sent everything.
    if (this.#state !== 'closed') this.#client?.onUpstreamWritable();
  }

  #onError(error: Error): void {
    if (!this.#connected) return this.#fail(connectFailure(error));
    if (isCertificateRefusal(error) && this.uses === 0 && !this.#responseBegun)
      return this.#fail(certificateRefused(error));
    const systemCode = (error as NodeJS.ErrnoException).code || error.message;
    this.#fail({ cause: 'reset', fault: 'connection_failed', systemCode });
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#state === 'closed') return;
    if (this.#state === 'unused') return this.#lose();
    const client = this.#client;
    const wasEnded = this.#state === 'ended';
    this.destroy();
    this.#reusable = false;
    if (wasEnded || client === undefined) return;
    client.onUpstreamFailure(this.#connected ? failure : { ...failure, cause: connectCause(failure.cause) });
  }

  /** A defect of the gateway ends only the exchange in which it occurs. */
  #guard(step: () => void): void {
    const client = this.#client;
    try {
      step();
    } catch (error) {
      this.destroy();
      client?.onDefect(error);
    }
  }

  #lose(): void {
    const onLost = this.#onIdleLost;
    this.#onIdleLost = undefined;
    this.destroy();
    onLost?.(this);
  }
}

function malformed({ detail }: HeadError): UpstreamFailure {
  return { cause: 'bad_response', fault: 'malformed', text: detail };
}

/** Every failure before the connection is made is a failure to connect. */
function connectCause(cause: UpstreamCause): UpstreamCause {
  return cause === 'reset' ? 'connect' : cause;
}
