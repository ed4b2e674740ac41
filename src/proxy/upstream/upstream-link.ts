/**
 * The socket of a backend connection as exchanges see it: writing, pausing and resuming. Opens the socket; owns its
 * reader, its writer, and whether the backend still accepts writes.
 */
import type * as net from 'node:net';
import type { CompiledBackend } from '../../config/types.ts';
import { chunkHeader } from '../../http/bodies/chunked-decoder.ts';
import { latin1Text } from '../../http/latin1.ts';
import type { BodyBuffer } from '../io/body-buffer-pool.ts';
import { SocketReader } from '../io/read-buffers.ts';
import { SocketWriter } from '../io/socket-writer.ts';
import { retainedCopy } from '../io/write-backlog.ts';
import { TEXT_BODY_BYTES_MAX } from '../options.ts';
import type { BodyMemory } from './upstream.ts';
import { connect, type ConnectionMeans } from './upstream-socket.ts';

export abstract class UpstreamLink {
  readonly isTls: boolean;
  protected readonly socket: net.Socket;
  protected readonly reader: SocketReader;
  /** undefined with TLS. */
  protected readonly writer: SocketWriter | undefined;
  /** Number of flushed writes when the exchange began. */
  #departuresBefore = -1;
  #isDeaf = false;

  /** @param protocols offered by ALPN; undefined: HTTP/1.1 */
  constructor(backend: CompiledBackend, means: ConnectionMeans, protocols?: readonly string[]) {
    this.isTls = backend.scheme === 'https';
    this.reader = new SocketReader(
      (buffer, length) => this.onRead(buffer, length),
      () => this.expectsMore,
    );
    this.socket = connect(backend, this.reader.onread, means, protocols);
    this.reader.attach(this.socket);
    this.socket.setNoDelay(true);
    const onDrain = (): void => this.onDrain();
    if (this.isTls) this.socket.on('drain', onDrain);
    else this.writer = new SocketWriter(this.socket, onDrain);
  }

  /** Whether more of a body or a tunnel will follow. */
  protected abstract get expectsMore(): boolean;
  /** A read has filled `buffer[0, length)`, which is valid during the call only. Must not throw. */
  protected abstract onRead(buffer: Buffer, length: number): void;
  protected abstract onDrain(): void;

  /** Whether the backend accepts no more writes, which are then dropped; its response is read to the end. */
  protected get isDeaf(): boolean {
    return this.#isDeaf;
  }

  protected stopWriting(): void {
    this.#isDeaf = true;
  }

  /** An exchange begins: nothing of it has been sent. */
  protected noteUnsent(): void {
    this.#departuresBefore = this.writer?.departures ?? -1;
  }

  /**
   * Whether the kernel has received nothing of the current exchange: the peer then has not received anything
   * either. Never true with TLS, which passes on everything at once.
   */
  get isUnsent(): boolean {
    return this.writer?.departures === this.#departuresBefore;
  }

  /** See `Upstream.tcpSocket`. */
  get tcpSocket(): net.Socket {
    return this.socket;
  }

  /** Whether everything written has been passed to the kernel. */
  get isFlushed(): boolean {
    return this.writer?.isFlushed ?? this.socket.writableLength === 0;
  }

  /** Text is latin1. False when the socket's buffer is full; `onUpstreamWritable` follows. */
  writeText(text: string): boolean {
    if (this.isDeaf) return true;
    return this.writer?.writeText(text) ?? this.socket.write(text, 'latin1');
  }

  /** `writeText` for text followed by a body, which is retained until it is written. */
  writeWithBody(text: string, body: BodyBuffer): boolean {
    if (this.isDeaf) return true;
    return this.writer?.writeWithBody(text, body) ?? this.socket.write(text + body.text(), 'latin1');
  }

  /**
   * Writes `bytes[from, to)`, which the caller may reuse afterwards.
   * @param release for retained bytes: called once when they are written or dropped, never from within this call.
   *   Without it the bytes are copied
   */
  writeFrom(bytes: Buffer, from: number, to: number, release: (() => void) | undefined): boolean {
    const writer = this.writer;
    if (this.isDeaf) {
      if (release !== undefined) process.nextTick(release);
      return true;
    }
    if (release === undefined) {
      if (writer !== undefined) return writer.writeCopy(bytes, from, to);
      const held = retainedCopy(bytes, from, to);
      return this.socket.write(held.copy, held.release);
    }
    const part = bytes.subarray(from, to);
    return writer?.writeBytes(part, release) ?? this.socket.write(part, release);
  }

  /**
   * Writes one piece of a request body, as a chunk if the length of the body is unknown. A small piece is written as
   * text, together with other waiting text; a large one from the memory into which it was read.
   */
  writeBody(buffer: Buffer, from: number, to: number, isChunked: boolean, memory: BodyMemory): boolean {
    if (to - from <= TEXT_BODY_BYTES_MAX) {
      const text = latin1Text(buffer, from, to);
      return this.writeText(isChunked ? `${chunkHeader(to - from)}${text}\r\n` : text);
    }
    const release = memory.retain(buffer);
    this.cork();
    if (isChunked) this.writeText(chunkHeader(to - from));
    let isWritable = this.writeFrom(buffer, from, to, release);
    if (isChunked) isWritable = this.writeText('\r\n');
    this.uncork();
    return isWritable;
  }

  /**
   * Within `onResponseData`: keeps these bytes until the returned function is called; undefined if that is impossible.
   */
  retain(bytes: Buffer): (() => void) | undefined {
    return this.reader.retain(bytes);
  }

  /** Sends FIN. */
  endWriting(): void {
    this.writer?.flush();
    this.socket.end();
  }

  /** Collects writes until `uncork`, so that they are sent together. Without TLS they always are. */
  cork(): void {
    if (this.writer === undefined) this.socket.cork();
  }

  uncork(): void {
    if (this.writer === undefined) this.socket.uncork();
  }

  pauseReading(): void {
    this.reader.pause();
  }

  resumeReading(): void {
    this.reader.resume();
  }
}
