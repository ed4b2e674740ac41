/**
 * Where log lines leave a thread: a bounded queue in front of a file descriptor. Every thread has its own,
 * shared by its logger and its access log, and all of them may write to the same descriptor.
 *
 * A pipe or socket whose reader is slow takes part of a large write, and another thread's line would land in
 * the gap; a write of at most PIPE_BUF bytes is taken whole or not at all (POSIX write(2), pipe(7)). So lines
 * go out in pieces of whole lines up to that size, and in large pieces only to regular files.
 *
 * A reader that stalls never stalls the gateway: beyond `queueBytesMax` lines are dropped and counted, and
 * once the reader is back one line tells how many. Owns the queue and one timer; does not format anything.
 */
import { fstatSync, write, writeSync } from 'node:fs';
import { systemClock } from '../kernel/clock.ts';

const PIPE_BUF = 4096;
const FILE_PIECE_BYTES = 65_536;
const NEWLINE = 0x0a;
const RETRY_MS = 10;
/** How long `flushSync` waits for a reader that takes nothing. */
const FLUSH_PATIENCE_MS = 1_000;

export interface LogOutput {
  /** Takes whole lines, each with its `\n`. Never throws and never blocks. */
  write(lines: string): void;
  /** Writes what is queued before it returns; gives up when the reader takes nothing for a second. */
  flushSync(): void;
  /** Lines that were dropped since the start. */
  readonly droppedLines: number;
}

export interface FileOutputOptions {
  readonly queueBytesMax?: number;
  /** Makes the line that reports a gap; gets the number of lines that are missing. */
  readonly gapLine?: (lines: number) => string;
}

/** An output for an open file descriptor, which stays the caller's. */
export class FileOutput implements LogOutput {
  readonly #fd: number;
  readonly #pieceBytesMax: number;
  readonly #queueBytesMax: number;
  readonly #gapLine: ((lines: number) => string) | undefined;
  #queue: Buffer[] = [];
  /** All that is not written yet, `#piece` included. */
  #queuedBytes = 0;
  /** Taken from the queue and to be written next, or being written. */
  #piece: Buffer | undefined;
  #writing = false;
  #retry: NodeJS.Timeout | undefined;
  #droppedLines = 0;
  #reportedLines = 0;

  constructor(fd: number, options: FileOutputOptions = {}) {
    this.#fd = fd;
    this.#pieceBytesMax = isRegularFile(fd) ? FILE_PIECE_BYTES : PIPE_BUF;
    this.#queueBytesMax = options.queueBytesMax ?? 8 * 1024 * 1024;
    this.#gapLine = options.gapLine;
  }

  get droppedLines(): number {
    return this.#droppedLines;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  write(lines: string): void {
    const chunk = Buffer.from(lines, 'utf8');
    if (this.#queuedBytes + chunk.length > this.#queueBytesMax) {
      this.#droppedLines += countLines(chunk);
      return;
    }
    this.#push(chunk);
    this.#pump();
  }

  flushSync(): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    // A write under way is the thread pool's to end, which it does before the process exits.
    let piece = this.#writing ? this.#nextPiece() : (this.#piece ?? this.#nextPiece());
    let deadlineMs = systemClock.monotonicMs() + FLUSH_PATIENCE_MS;
    while (piece !== undefined && systemClock.monotonicMs() < deadlineMs) {
      try {
        const written = writeSync(this.#fd, piece);
        this.#queuedBytes -= written;
        piece = written < piece.length ? piece.subarray(written) : this.#nextPiece();
        deadlineMs = systemClock.monotonicMs() + FLUSH_PATIENCE_MS;
      } catch (error) {
        if (!isBusy(error)) return this.#dropAll();
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
    if (!this.#writing) this.#piece = piece;
    else if (piece !== undefined) this.#queue.unshift(piece);
  }

  #push(chunk: Buffer): void {
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
  }

  #pump(): void {
    if (this.#writing || this.#retry !== undefined) return;
    this.#piece ??= this.#nextPiece();
    if (this.#piece === undefined) return;
    this.#writing = true;
    write(this.#fd, this.#piece, (error, written) => this.#written(error, written));
  }

  #written(error: Error | null, written: number): void {
    this.#writing = false;
    if (error === null) {
      this.#queuedBytes -= written;
      this.#piece = written < this.#piece!.length ? this.#piece!.subarray(written) : undefined;
      this.#reportGap();
    } else if (isBusy(error)) {
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        this.#pump();
      }, RETRY_MS);
    } else {
      this.#dropAll();
    }
    this.#pump();
  }

  /** Takes whole lines from the head of the queue, as many as fit a piece; a longer line goes as one. */
  #nextPiece(): Buffer | undefined {
    const first = this.#queue.shift();
    if (first === undefined) return undefined;
    if (first.length > this.#pieceBytesMax) return this.#split(first);
    const small = [first];
    let bytes = first.length;
    while (this.#queue.length > 0 && bytes + this.#queue[0]!.length <= this.#pieceBytesMax) {
      const next = this.#queue.shift()!;
      small.push(next);
      bytes += next.length;
    }
    return small.length === 1 ? first : Buffer.concat(small, bytes);
  }

  #split(chunk: Buffer): Buffer {
    const lastEnd = chunk.lastIndexOf(NEWLINE, this.#pieceBytesMax - 1);
    const end = lastEnd >= 0 ? lastEnd : chunk.indexOf(NEWLINE);
    if (end < 0 || end + 1 === chunk.length) return chunk;
    this.#queue.unshift(chunk.subarray(end + 1));
    return chunk.subarray(0, end + 1);
  }

  #reportGap(): void {
    const missing = this.#droppedLines - this.#reportedLines;
    if (missing === 0 || this.#queuedBytes > this.#queueBytesMax / 2 || this.#gapLine === undefined) return;
    this.#reportedLines = this.#droppedLines;
    this.#push(Buffer.from(this.#gapLine(missing), 'utf8'));
  }

  /** The reader is gone (EPIPE and the like); nobody can be told, so what was queued only counts. */
  #dropAll(): void {
    const lost = this.#piece === undefined ? this.#queue : [this.#piece, ...this.#queue];
    for (const chunk of lost) this.#droppedLines += countLines(chunk);
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#piece = undefined;
  }
}

/** The output of a thread on standard output, flushed when the thread or the process exits. */
export function standardOutput(options: FileOutputOptions = {}): FileOutput {
  const output = new FileOutput(1, options);
  process.once('exit', () => output.flushSync());
  return output;
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
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'EAGAIN' || code === 'EBUSY' || code === 'EINTR';
}

function countLines(chunk: Buffer): number {
  let lines = 0;
  for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) lines++;
  return lines;
}
