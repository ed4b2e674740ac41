/**
 * Writes the log lines of a thread: a bounded queue in front of a file descriptor. Every thread has its own output,
 * shared by its logger and its access log; all of them may write to the same descriptor.
 *
 * A pipe or socket with a slow reader may accept only part of a large write, and another thread's line would end up in
 * the gap. A write of at most PIPE_BUF bytes is accepted whole or not at all (POSIX write(2), pipe(7)). So lines are
 * written in pieces of whole lines up to that size, and in large pieces only to regular files. A pipe is opened once
 * more, non-blocking, for this thread alone: a small piece is then written synchronously, at a tenth of the cost of the
 * thread pool.
 *
 * A stalled reader never stalls the gateway: beyond `queueBytesMax`, lines are dropped and counted, and a line reports
 * their number once the reader continues. Owns the queue and one timer; does not format lines.
 */
import { closeSync, constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import { systemCode } from '../lib/error-message.ts';
import { systemClock } from '../lib/clock.ts';
import { LineQueue, countLines } from './line-queue.ts';

const PIPE_BUF = 4096;
/** Each write of a file wakes two threads; at full load there are some sixty in a second. */
const FILE_PIECE_BYTES = 262_144;
const RETRY_MS = 10;
/** A pipe usually holds 64 KiB; a pause longer than its reader needs for that much would slow the log down. */
const PIPE_RETRY_MS = 1;
/** How long `flushSync` waits for a stalled reader. */
const FLUSH_PATIENCE_MS = 1_000;
/**
 * Appended lines leave for a pipe half of what it holds at a time: the first piece wakes the reader; later ones find it
 * awake.
 */
const PIPE_BATCH_BYTES = 32_768;
/** Pieces written to a pipe in one event loop tick: as much as a pipe holds. */
const PIPE_PIECES_MAX = 16;

export interface LogOutput {
  /** Accepts whole lines, each with its `\n`. Never throws and never blocks. */
  write(lines: string): void;
  /** Like `write`, for lines as bytes. They are copied, and wait until they fill a write, or until `push`. */
  append(lines: Uint8Array): void;
  /** Writes waiting lines. */
  push(): void;
  /** Writes queued lines, then these lines, before it returns. Gives up if the reader accepts nothing for a second. */
  flushSync(lines?: Uint8Array): void;
  /** Number of dropped lines since the start. */
  readonly droppedLines: number;
}

export interface FileOutputOptions {
  readonly queueBytesMax?: number;
  /** Formats the line that reports a gap; receives the number of missing lines. */
  readonly gapLine?: (lines: number) => string;
}

/** An output for an open file descriptor, which the caller still owns. */
export class FileOutput implements LogOutput {
  readonly #fd: number;
  /** The same pipe, non-blocking; undefined for other kinds of files. */
  #pipe: number | undefined;
  readonly #pieceBytesMax: number;
  readonly #queueBytesMax: number;
  readonly #gapLine: ((lines: number) => string) | undefined;
  readonly #queue = new LineQueue();
  /** The piece that is being written, or is written next. */
  #piece: Buffer | undefined;
  #isWriting = false;
  /** The part of the queued bytes that must not wait until they fill a write. */
  #dueBytes = 0;
  #retry: NodeJS.Timeout | undefined;
  #droppedLines = 0;
  #reportedLines = 0;

  constructor(fd: number, options: FileOutputOptions = {}) {
    this.#fd = fd;
    this.#pipe = openPipe(fd);
    this.#pieceBytesMax = isRegularFile(fd) ? FILE_PIECE_BYTES : PIPE_BUF;
    this.#queueBytesMax = options.queueBytesMax ?? 8 * 1024 * 1024;
    this.#gapLine = options.gapLine;
  }

  get droppedLines(): number {
    return this.#droppedLines;
  }

  get queuedBytes(): number {
    return this.#queue.bytes + (this.#piece?.length ?? 0);
  }

  write(lines: string): void {
    if (this.#hasRoom(Buffer.byteLength(lines))) this.#queue.addText(lines);
    else this.#droppedLines += countLines(Buffer.from(lines, 'latin1'));
    this.push();
  }

  append(lines: Uint8Array): void {
    this.#add(lines);
    if (this.#pieceBytesMax !== PIPE_BUF) this.#continue();
    else if (this.#queue.bytes >= PIPE_BATCH_BYTES) this.push();
  }

  push(): void {
    this.#dueBytes = this.#queue.bytes;
    this.#continue();
  }

  /**
   * Resolves when the thread pool has no write, or after a second. Await it before a thread ends itself, which would
   * cancel a write that waits for the thread pool.
   */
  async settled(): Promise<void> {
    const deadlineMs = systemClock.monotonicMs() + FLUSH_PATIENCE_MS;
    while (this.#isWriting && systemClock.monotonicMs() < deadlineMs) {
      await new Promise((done) => setTimeout(done, 1));
    }
  }

  flushSync(lines?: Uint8Array): void {
    if (lines !== undefined && lines.length > 0) this.#add(lines);
    clearTimeout(this.#retry);
    this.#retry = undefined;
    // The thread pool completes a write under way; see `settled`.
    let piece = this.#isWriting ? this.#nextPiece() : (this.#piece ?? this.#nextPiece());
    let deadlineMs = systemClock.monotonicMs() + FLUSH_PATIENCE_MS;
    while (piece !== undefined && systemClock.monotonicMs() < deadlineMs) {
      try {
        const written = writeSync(this.#pipe ?? this.#fd, piece);
        piece = written < piece.length ? piece.subarray(written) : this.#nextPiece();
        deadlineMs = systemClock.monotonicMs() + FLUSH_PATIENCE_MS;
      } catch (error) {
        if (!isBusy(error)) return this.#dropAll();
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
    if (!this.#isWriting) this.#piece = piece;
  }

  /** Closes what the output has opened itself; later lines use the thread pool. */
  close(): void {
    if (this.#pipe !== undefined) closeSync(this.#pipe);
    this.#pipe = undefined;
  }

  /** Whether bytes are queued that must not wait for more: each write costs as much as formatting several lines. */
  get #hasWork(): boolean {
    return this.#piece !== undefined || this.#dueBytes > 0 || this.#queue.bytes >= this.#pieceBytesMax;
  }

  #continue(): void {
    if (this.#isWriting || this.#retry !== undefined || !this.#hasWork) return;
    if (this.#pipe === undefined) this.#startWrite();
    else this.#writePipe(this.#pipe);
  }

  #nextPiece(): Buffer | undefined {
    const piece = this.#queue.take(this.#pieceBytesMax);
    if (piece !== undefined) this.#dueBytes = Math.max(0, this.#dueBytes - piece.length);
    return piece;
  }

  #add(lines: Uint8Array): void {
    if (this.#hasRoom(lines.length)) this.#queue.addBytes(lines);
    else this.#droppedLines += countLines(lines);
  }

  #hasRoom(bytes: number): boolean {
    return this.queuedBytes + bytes <= this.#queueBytesMax;
  }

  #startWrite(): void {
    this.#piece ??= this.#nextPiece();
    if (this.#piece === undefined) return;
    this.#isWriting = true;
    write(this.#fd, this.#piece, (error, written) => this.#ended(error, written));
  }

  #ended(error: Error | null, written: number): void {
    this.#isWriting = false;
    if (error === null) {
      this.#took(written);
      this.#continue();
    } else if (isBusy(error)) this.#continueLater(RETRY_MS);
    else this.#dropAll();
  }

  #writePipe(pipe: number): void {
    try {
      for (let pieces = 0; pieces < PIPE_PIECES_MAX; pieces++) {
        if (!this.#hasWork) return;
        this.#piece ??= this.#nextPiece();
        if (this.#piece === undefined) return;
        this.#took(writeSync(pipe, this.#piece));
      }
      this.#continueLater(0);
    } catch (error) {
      if (isBusy(error)) this.#continueLater(PIPE_RETRY_MS);
      else this.#dropAll();
    }
  }

  /** The system has accepted this much of the piece. */
  #took(written: number): void {
    const piece = this.#piece;
    if (piece === undefined) return;
    if (written < piece.length) this.#piece = piece.subarray(written);
    else {
      this.#piece = undefined;
      this.#queue.release();
    }
    this.#reportGap();
  }

  #continueLater(ms: number): void {
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#continue();
    }, ms);
  }

  #reportGap(): void {
    const missing = this.#droppedLines - this.#reportedLines;
    if (missing === 0 || this.queuedBytes > this.#queueBytesMax / 2 || this.#gapLine === undefined) return;
    this.#reportedLines = this.#droppedLines;
    this.#queue.addText(this.#gapLine(missing));
    this.#dueBytes = this.#queue.bytes;
  }

  /** The reader is gone (EPIPE and the like): queued lines only count as dropped. */
  #dropAll(): void {
    if (this.#piece !== undefined) this.#droppedLines += countLines(this.#piece);
    this.#piece = undefined;
    this.#droppedLines += this.#queue.clear();
    this.#queue.release();
    this.#dueBytes = 0;
  }
}

/** The output of a thread to standard output, flushed when the thread or the process exits. */
export function standardOutput(options: FileOutputOptions = {}): FileOutput {
  const output = new FileOutput(1, options);
  process.once('exit', () => {
    output.flushSync();
    output.close();
  });
  return output;
}

/**
 * Opens the pipe again for this thread, non-blocking, without changing it for others that share the descriptor
 * (proc(5), `/proc/self/fd`). undefined for other kinds of files, or if the system refuses.
 */
function openPipe(fd: number): number | undefined {
  try {
    if (!fstatSync(fd).isFIFO()) return undefined;
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
}

function isRegularFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false;
  }
}

/** The descriptor is non-blocking and its buffer is full. */
function isBusy(error: unknown): boolean {
  return ['EAGAIN', 'EBUSY', 'EINTR'].includes(systemCode(error));
}
