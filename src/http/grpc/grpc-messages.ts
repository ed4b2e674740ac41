/**
 * Messages of gRPC in the bytes of a body (Length-Prefixed-Message: a flag, four bytes of length, the message), and
 * codes by their names. Pure, but for the reader's part of a message. Messages are not decompressed.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */

/** Flag and length. */
const MESSAGE_HEAD_BYTES = 5;

/** Names by code; doc/statuscodes.md. */
const CODE_NAMES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

/** The name of a `grpc-status`; undefined if gRPC has no such code. */
export function grpcCodeName(status: string): string | undefined {
  return /^(?:[0-9]|1[0-6])$/.test(status) ? CODE_NAMES[Number(status)] : undefined;
}

/** A message with its header. @param flag 0: unchanged; 1: compressed; 0x80: trailers of gRPC-Web */
export function grpcMessage(message: Uint8Array, flag = 0): Buffer {
  const bytes = Buffer.allocUnsafe(MESSAGE_HEAD_BYTES + message.length);
  bytes.writeUInt8(flag, 0);
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, MESSAGE_HEAD_BYTES);
  return bytes;
}

/** Collects the one message of a short answer, however it is cut. */
export class OneMessage {
  readonly #bytesMax: number;
  #bytes: Buffer = Buffer.alloc(0);

  /** @param bytesMax limit of the message */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** @returns what is wrong, for people; undefined: nothing so far */
  add(bytes: Uint8Array): string | undefined {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    const length = this.#length;
    if (this.#bytes.length > 0 && this.#bytes[0] !== 0) return 'its message is compressed';
    if (length === undefined) return undefined;
    if (length > this.#bytesMax) return `its message has ${length} bytes, which is more than expected`;
    return this.#bytes.length > MESSAGE_HEAD_BYTES + length ? 'it has more than one message' : undefined;
  }

  /** undefined if there is no message, or only a part. */
  get whole(): Buffer | undefined {
    const length = this.#length;
    if (length === undefined || this.#bytes.length !== MESSAGE_HEAD_BYTES + length) return undefined;
    return this.#bytes.subarray(MESSAGE_HEAD_BYTES);
  }

  get #length(): number | undefined {
    return this.#bytes.length < MESSAGE_HEAD_BYTES ? undefined : this.#bytes.readUInt32BE(1);
  }
}
