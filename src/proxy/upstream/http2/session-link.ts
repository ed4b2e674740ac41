/**
 * The socket of an HTTP/2 connection to a backend. All frames of a tick are sent together, also with TLS: as text,
 * and large content from the memory into which it was read. Owns the text that waits for the end of the tick (TLS
 * only; the TCP writer has its own), and reports the events of the socket to its session.
 */
import type { CompiledBackend } from '../../../config/types.ts';
import type { BodyBuffer } from '../../io/body-buffer-pool.ts';
import { readOnAfterWriteError } from '../../io/write-errors.ts';
import { UpstreamLink } from '../upstream-link.ts';
import type { ConnectionMeans } from '../upstream-socket.ts';

/** Text beyond this size is written before the end of the tick. */
const WAITING_CHARS_MAX = 16 * 1024;

/** Calls come from socket events. */
export interface LinkOwner {
  /** Whether more of a response will follow. */
  readonly expectsMore: boolean;
  onConnect(): void;
  /** `bytes[0, length)` is valid during the call only. Must not throw. */
  onBytes(bytes: Buffer, length: number): void;
  /** The backend reads again, after `isBlocked`. */
  onWritable(): void;
  onError(error: Error): void;
  /** A write has failed: everything that the backend sent before is still read. */
  onDeaf(error: Error): void;
  /** No more bytes come. May be called twice. */
  onEnd(): void;
  /** Called once, last. */
  onClose(): void;
}

export class SessionLink extends UpstreamLink {
  readonly #owner: LinkOwner;
  #text = '';

  constructor(
    backend: CompiledBackend,
    means: ConnectionMeans,
    protocols: readonly string[],
    owner: LinkOwner,
  ) {
    super(backend, means, protocols);
    this.#owner = owner;
    const { socket } = this;
    socket.once(this.isTls ? 'secureConnect' : 'connect', () => owner.onConnect());
    socket.on('end', () => owner.onEnd());
    const onDeaf = (error: Error): void => {
      this.stopWriting();
      process.nextTick(() => owner.onDeaf(error));
    };
    readOnAfterWriteError(socket, onDeaf, () => owner.onEnd());
    socket.on('error', (error: Error) => owner.onError(error));
    socket.on('close', () => {
      this.reader.close();
      owner.onClose();
    });
  }

  /** The protocol chosen by ALPN; undefined without TLS. */
  get protocol(): string | undefined {
    const { alpnProtocol } = this.socket as { alpnProtocol?: string | false | null };
    return this.isTls ? String(alpnProtocol) : undefined;
  }

  get bytesRead(): number {
    return this.socket.bytesRead;
  }

  /** Whether the backend reads too slowly; `onWritable` follows. */
  get isBlocked(): boolean {
    return this.writer?.needsDrain ?? this.socket.writableNeedDrain;
  }

  override writeText(text: string): boolean {
    if (this.writer !== undefined) return super.writeText(text);
    if (this.#text === '') setImmediate(this.#flush);
    this.#text += text;
    if (this.#text.length > WAITING_CHARS_MAX) this.#flush();
    return !this.isBlocked;
  }

  override writeWithBody(text: string, body: BodyBuffer): boolean {
    if (this.writer !== undefined) return super.writeWithBody(text, body);
    return this.writeText(text + body.text());
  }

  /** Writes text and bytes after it. Bytes as for `writeFrom`. */
  writeBoth(text: string, bytes: Buffer, from: number, to: number, release: () => void): void {
    this.cork();
    this.writeText(text);
    this.#flush();
    this.writeFrom(bytes, from, to, release);
    this.uncork();
  }

  override cork(): void {
    this.socket.cork();
  }

  override uncork(): void {
    this.socket.uncork();
  }

  /** Closes it when everything is written; the owner must limit the time. */
  endSoon(): void {
    this.#flush();
    this.writer?.flush();
    this.reader.pause();
    this.socket.destroySoon();
  }

  destroy(): void {
    this.#text = '';
    this.socket.destroy();
  }

  readonly #flush = (): void => {
    const text = this.#text;
    if (text === '') return;
    this.#text = '';
    if (!this.isDeaf && this.socket.writable) this.socket.write(text, 'latin1');
  };

  protected override get expectsMore(): boolean {
    return this.#owner.expectsMore;
  }

  protected override onRead(buffer: Buffer, length: number): void {
    this.#owner.onBytes(buffer, length);
  }

  protected override onDrain(): void {
    this.#owner.onWritable();
  }
}
