/**
 * A gRPC-Web call as a gRPC call over HTTP/2: stands between an exchange and its stream, and translates both
 * directions while bytes pass. Nothing is collected: a piece of a body is forwarded as it arrives, and back-pressure
 * is that of the stream. Owns the state of the request's Base64.
 *
 * A response that is not gRPC passes unchanged.
 */
import type { Socket } from 'node:net';
import { fieldsOfLines } from '../../../http/fields/field-lists.ts';
import { Base64Decoder, base64Piece } from '../../../http/grpc/base64-stream.ts';
import { grpcTypeOf, trailerMessage, webTypeOf, type GrpcWebForm } from '../../../http/grpc/grpc-web.ts';
import { ResponseHead } from '../../../http/heads/response-head.ts';
import type { BackendHead } from '../../interfaces/head-templates.ts';
import type { BodyBuffer } from '../../io/body-buffer-pool.ts';
import { RESPONSE_HEADERS_MAX } from '../../options.ts';
import type { BodyMemory, RequestSource, Upstream, UpstreamClient } from '../upstream.ts';

const RELEASE_NOTHING = (): void => undefined;
/** Every piece that is created here has its own memory. */
const OWN_MEMORY: BodyMemory = { retain: () => RELEASE_NOTHING };
/** These are replaced in the request; its length differs in Base64. */
const REPLACED: ReadonlySet<string> = new Set(['content-type', 'te']);
const REPLACED_IN_TEXT: ReadonlySet<string> = new Set([...REPLACED, 'content-length']);
const REPLACED_IN_RESPONSE: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'transfer-encoding',
  'trailer',
]);
const RESPONSE_LIMITS = { maxHeaders: RESPONSE_HEADERS_MAX + 2 };

export interface GrpcWebOwner {
  readonly form: GrpcWebForm;
  /**
   * The request is not valid Base64 although it claims to be. Called once, in a later microtask; nothing more is
   * sent.
   */
  onBadBody(): void;
  /** The trailers that the client may get. @param trailers lines, each ending in CRLF */
  passedTrailers(trailers: string): string;
}

export class GrpcWebUpstream implements Upstream {
  readonly #inner: Upstream;
  readonly #owner: GrpcWebOwner;
  /** undefined for a request that is not in Base64. */
  readonly #decoder: Base64Decoder | undefined;
  #isBad = false;

  constructor(inner: Upstream, owner: GrpcWebOwner) {
    this.#inner = inner;
    this.#owner = owner;
    this.#decoder = owner.form.isText ? new Base64Decoder() : undefined;
  }

  get connected(): boolean {
    return this.#inner.connected;
  }

  get tcpSocket(): Socket | undefined {
    return this.#inner.tcpSocket;
  }

  get isUnsent(): boolean {
    return this.#inner.isUnsent;
  }

  get wasReused(): boolean {
    return this.#inner.wasReused;
  }

  get awaitsRoom(): boolean {
    return this.#inner.awaitsRoom === true;
  }

  get responseBegun(): boolean {
    return this.#inner.responseBegun;
  }

  get isFlushed(): boolean {
    return this.#inner.isFlushed;
  }

  acquire(client: UpstreamClient, requestMethod: string, upgrade: string | undefined): void {
    this.#inner.acquire(new GrpcWebClient(client, this.#owner, requestMethod), requestMethod, upgrade);
  }

  takesHead(source: RequestSource): boolean {
    return this.#inner.takesHead?.(new CallSource(source, this.#owner.form)) !== false;
  }

  sendRequest(source: RequestSource, body: string | BodyBuffer | undefined): void {
    const call = new CallSource(source, this.#owner.form);
    if (this.#decoder === undefined || body === undefined) return this.#inner.sendRequest(call, body);
    const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body.bytes();
    const decoded = this.#decode(bytes, 0, bytes.length);
    if (decoded === undefined || !this.#isEndSound()) return;
    this.#inner.sendRequest(call, decoded.toString('latin1'));
  }

  writeBody(bytes: Buffer, from: number, to: number, isChunked: boolean, memory: BodyMemory): boolean {
    if (this.#decoder === undefined) return this.#inner.writeBody(bytes, from, to, isChunked, memory);
    const decoded = this.#decode(bytes, from, to);
    if (decoded === undefined || decoded.length === 0) return true;
    return this.#inner.writeBody(decoded, 0, decoded.length, true, OWN_MEMORY);
  }

  endBody(isChunked: boolean, trailers: string): void {
    if (this.#decoder === undefined) this.#inner.endBody(isChunked, trailers);
    else if (this.#isEndSound()) this.#inner.endBody(true, trailers);
  }

  suspect(): void {
    this.#inner.suspect?.();
  }

  pauseReading(): void {
    this.#inner.pauseReading();
  }

  resumeReading(): void {
    this.#inner.resumeReading();
  }

  /** A piece that was created here has its own memory; other bytes belong to the stream. */
  retain(bytes: Buffer): (() => void) | undefined {
    return this.#inner.retain(bytes);
  }

  destroy(): void {
    this.#inner.destroy();
  }

  #decode(bytes: Buffer, from: number, to: number): Buffer | undefined {
    if (this.#isBad) return undefined;
    const decoded = this.#decoder?.write(bytes, from, to);
    if (decoded === undefined) this.#refuse();
    return decoded;
  }

  /** Whether the request may end here. */
  #isEndSound(): boolean {
    if (this.#isBad) return false;
    if (this.#decoder?.isWhole !== false) return true;
    this.#refuse();
    return false;
  }

  /** Not while the body is being read, because the answer ends the exchange. */
  #refuse(): void {
    this.#isBad = true;
    queueMicrotask(() => this.#owner.onBadBody());
  }
}

/** The request as a gRPC request. */
class CallSource implements RequestSource {
  readonly #source: RequestSource;
  readonly #form: GrpcWebForm;

  constructor(source: RequestSource, form: GrpcWebForm) {
    this.#source = source;
    this.#form = form;
  }

  get isChunked(): boolean {
    return this.#form.isText || this.#source.isChunked;
  }

  /** Never called: only HTTP/2 can carry the request. */
  headText(): string {
    throw new Error('A call of gRPC cannot be sent over HTTP/1.1');
  }

  headFields(): string[] {
    const fields = this.#source.headFields();
    const replaced = this.#form.isText ? REPLACED_IN_TEXT : REPLACED;
    const kept: string[] = [];
    for (let index = 0; index < fields.length; index += 2) {
      const name = fields[index] as string;
      if (!replaced.has(name)) kept.push(name, fields[index + 1] as string);
    }
    kept.push('content-type', grpcTypeOf(this.#form), 'te', 'trailers');
    return kept;
  }
}

/** The response as a gRPC-Web response. */
class GrpcWebClient implements UpstreamClient {
  readonly #client: UpstreamClient;
  readonly #owner: GrpcWebOwner;
  readonly #method: string;
  #isTranslated = false;

  constructor(client: UpstreamClient, owner: GrpcWebOwner, method: string) {
    this.#client = client;
    this.#owner = owner;
    this.#method = method;
  }

  onResponseHead(head: BackendHead): void {
    const type = head.status === 200 ? head.get('content-type') : undefined;
    const webType = type === undefined ? undefined : webTypeOf(this.#owner.form, type);
    if (webType === undefined) return this.#client.onResponseHead(head);
    // A response that consists only of a head has its status there, where the client looks first.
    const isWhole = head.contentLength === 0 && head.get('grpc-status') !== undefined;
    // Nothing may follow the head of a response to HEAD: a client would read it as its next response.
    this.#isTranslated = !isWhole && this.#method !== 'HEAD';
    let text = `HTTP/1.1 ${head.status} ${head.reason}\r\n`;
    for (let index = 0; index < head.count; index++)
      if (!REPLACED_IN_RESPONSE.has(head.name(index).toLowerCase())) text += head.line(index);
    text += `content-type: ${webType}\r\n${isWhole ? 'content-length: 0' : 'transfer-encoding: chunked'}\r\n`;
    const translated: BackendHead = new ResponseHead();
    const error = translated.parse(text, this.#method, RESPONSE_LIMITS);
    if (error !== undefined) throw new Error(`A translated head cannot be read: ${error.detail}`);
    this.#client.onResponseHead(translated);
  }

  onResponseData(buffer: Buffer, from: number, to: number): void {
    if (!this.#isTranslated || !this.#owner.form.wantsText)
      return this.#client.onResponseData(buffer, from, to);
    this.#pass(buffer.subarray(from, to));
  }

  onResponseEnd(trailers: string): void {
    if (!this.#isTranslated) return this.#client.onResponseEnd(trailers);
    const lines = this.#owner.passedTrailers(trailers);
    // Without any trailers, the client must see that the call was cut.
    if (fieldsOfLines(lines).length > 0) this.#pass(trailerMessage(lines));
    this.#client.onResponseEnd('');
  }

  /** Forwards gRPC bytes, which may need encoding. */
  #pass(bytes: Buffer): void {
    const piece = this.#owner.form.wantsText ? base64Piece(bytes) : bytes;
    this.#client.onResponseData(piece, 0, piece.length);
  }

  onUpstreamConnected(): void {
    this.#client.onUpstreamConnected();
  }

  onOtherProtocol(): void {
    this.#client.onOtherProtocol();
  }

  onInterim(head: BackendHead): void {
    this.#client.onInterim(head);
  }

  onSwitch(...args: Parameters<UpstreamClient['onSwitch']>): void {
    this.#client.onSwitch(...args);
  }

  onReadEnd(): void {
    this.#client.onReadEnd();
  }

  onUpstreamWritable(): void {
    this.#client.onUpstreamWritable();
  }

  onUpstreamFailure(...args: Parameters<UpstreamClient['onUpstreamFailure']>): void {
    this.#client.onUpstreamFailure(...args);
  }

  onDefect(error: unknown): void {
    this.#client.onDefect(error);
  }
}
