/**
 * The format of the snapshot file: a line of JSON that names the format, then frames. A frame is a part of the
 * configuration or ends a group of parts. The first group is the whole configuration, each later group a set of
 * changes. A group counts only if its end is present.
 *
 *   length of the payload, 4 bytes | kind, 4 | CRC-32 of these eight, 4 | checksum, 32 | payload
 *
 * The checksum is the SHA-256 of the checksum before it (for the first frame: of the line), the twelve bytes and the
 * payload, so that no frame can be changed, removed or moved. A file that ends within a group was being appended to
 * when the process or the machine stopped: it is read up to its last whole group. Any other mismatch is damage, and the
 * whole file is refused. Numbers are little-endian. It does not interpret the content of the parts.
 */
import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

const FORMAT = 'headgate snapshot 2';

/** JSON of records, packed API keys, and the end of a group. */
export type FrameKind = 'JSON' | 'KEYS' | 'DONE';
const KINDS: ReadonlySet<string> = new Set<FrameKind>(['JSON', 'KEYS', 'DONE']);

export interface Frame {
  readonly kind: FrameKind;
  readonly payload: Buffer;
}

const KIND = 4;
const HEADER_CHECK = 8;
const CHECKSUM = 12;
const HEADER_BYTES = 44;
/** Larger than any part: a part is about 256 KiB, or a single version. */
const PAYLOAD_BYTES_MAX = 512 * 1_048_576;
const HEAD_LINE = Buffer.from(`${JSON.stringify({ format: FORMAT })}\n`);
const HEAD_LINE_BYTES_MAX = 1_024;
const NEW_LINE = 0x0a;

/** Appends to an empty file. The caller opens and closes it, and awaits each append. */
export class SnapshotLogWriter {
  readonly #file: FileHandle;
  #checksum: Buffer = sha256(HEAD_LINE);
  #bytes = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  get bytes(): number {
    return this.#bytes;
  }

  async append(kind: FrameKind, payload: Buffer): Promise<void> {
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32LE(payload.length);
    header.write(kind, KIND, 'latin1');
    header.writeUInt32LE(crc32(header.subarray(0, HEADER_CHECK)), HEADER_CHECK);
    this.#checksum = sha256(this.#checksum, header.subarray(0, CHECKSUM), payload);
    this.#checksum.copy(header, CHECKSUM);
    if (this.#bytes === 0) await this.#write(HEAD_LINE);
    await this.#write(header);
    await this.#write(payload);
  }

  async #write(bytes: Buffer): Promise<void> {
    this.#bytes += bytes.length;
    for (let written = 0; written < bytes.length;) {
      written += (await this.#file.write(bytes, written)).bytesWritten;
    }
  }
}

/** The file cannot be used; the message continues "Cannot use the snapshot file …: ". */
export class SnapshotRefused extends Error {}

/**
 * Reads the frames of a file in order and checks them. Stops at the end of the file, even within a frame.
 * Throws SnapshotRefused.
 * @param descriptor positioned at the beginning of the file
 */
export function* framesOf(descriptor: number): Generator<Frame> {
  let checksum = sha256(readHeadLine(descriptor));
  for (;;) {
    const header = readUpTo(descriptor, HEADER_BYTES);
    if (header.length < HEADER_BYTES) return;
    const length = header.readUInt32LE();
    const kind = header.toString('latin1', KIND, HEADER_CHECK);
    if (crc32(header.subarray(0, HEADER_CHECK)) !== header.readUInt32LE(HEADER_CHECK)) throw damaged();
    if (!KINDS.has(kind) || length > PAYLOAD_BYTES_MAX) throw damaged();
    const payload = readUpTo(descriptor, length);
    if (payload.length < length) return;
    checksum = sha256(checksum, header.subarray(0, CHECKSUM), payload);
    if (!checksum.equals(header.subarray(CHECKSUM))) throw damaged();
    yield { kind: kind as FrameKind, payload };
  }
}

/** Reads the first line, with its line end, and checks the format. */
function readHeadLine(descriptor: number): Buffer {
  const bytes: number[] = [];
  // Byte by byte, so that the descriptor is left at the first frame.
  while (bytes.at(-1) !== NEW_LINE) {
    const next = readUpTo(descriptor, 1)[0];
    if (next === undefined)
      throw new SnapshotRefused('it ends too early, as after a crash or on a full disk');
    if (bytes.push(next) > HEAD_LINE_BYTES_MAX) throw new SnapshotRefused('it is not a snapshot file');
  }
  const line = Buffer.from(bytes);
  if (line.equals(HEAD_LINE)) return line;
  throw new SnapshotRefused(`it has the format ${formatOf(line)}; expected "${FORMAT}"`);
}

function formatOf(line: Buffer): string {
  try {
    return (
      JSON.stringify((JSON.parse(line.toString('utf8')) as { format?: unknown }).format) ?? 'without a name'
    );
  } catch {
    return 'of another program';
  }
}

/** Returns fewer bytes only at the end of the file. */
function readUpTo(descriptor: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(Math.min(length, PAYLOAD_BYTES_MAX));
  let read = 0;
  while (read < length) {
    const count = readSync(descriptor, bytes, read, length - read, null);
    if (count === 0) break;
    read += count;
  }
  return bytes.subarray(0, read);
}

function damaged(): SnapshotRefused {
  return new SnapshotRefused('its checksum is wrong: it was damaged or changed');
}

function sha256(...parts: readonly Buffer[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}
