/**
 * Reads the answer of a collector to an export, in protocol buffers
 * (https://protobuf.dev/programming-guides/encoding/), or in JSON, which some collectors always use:
 * ExportTraceServiceResponse, 1.x, where it accepted the export, and google.rpc.Status where it did not (OTLP 1.x,
 * "OTLP/HTTP Response"); the answers for metrics and logs have the same fields, except that JSON names what was
 * rejected. Unknown fields are skipped; of repeated fields the last one applies. Pure.
 */
import { isObject } from '../../lib/is-object.ts';

const PARTIAL_SUCCESS = 1;
const STATUS_MESSAGE = 2;
const FIELD = { rejected: 1, message: 2 } as const;
const VARINT_BYTES_MAX = 10;
const WireType = { varint: 0, fixed64: 1, delimited: 2, fixed32: 5 } as const;
/** From this number on, an int64 is negative. */
const NEGATIVE = 2 ** 63;

export interface PartialSuccess {
  /** Items that were not accepted. */
  readonly rejected: number;
  readonly message: string;
}

const JSON_TYPE = /^application\/json\b/i;
/** The count of rejected items in JSON: an int64, which JSON has as text or as a number. */
const REJECTED_NAMES = ['rejectedSpans', 'rejectedDataPoints', 'rejectedLogRecords'] as const;

/** A malformed answer gives no information. @param type the Content-Type field of the answer */
export function partialSuccess(answer: Uint8Array, type = ''): PartialSuccess {
  if (JSON_TYPE.test(type)) return partialSuccessOf(jsonOf(answer)?.['partialSuccess']);
  const part = fieldsOf(answer)?.get(PARTIAL_SUCCESS);
  const fields = part instanceof Uint8Array ? fieldsOf(part) : undefined;
  const [rejected, message] = [fields?.get(FIELD.rejected), fields?.get(FIELD.message)];
  return {
    rejected: typeof rejected === 'number' && rejected < NEGATIVE ? rejected : 0,
    message: textOf(message),
  };
}

function partialSuccessOf(part: unknown): PartialSuccess {
  const fields = isObject(part) ? part : {};
  const [rejected] = REJECTED_NAMES.map((name) => Number(fields[name])).filter((count) => count > 0);
  const message = fields['errorMessage'];
  return {
    rejected: rejected !== undefined && Number.isSafeInteger(rejected) ? rejected : 0,
    message: typeof message === 'string' ? message : '',
  };
}

/** `message` of a google.rpc.Status; '' for anything else. @param type the Content-Type field of the answer */
export function statusMessage(answer: Uint8Array, type = ''): string {
  if (JSON_TYPE.test(type)) {
    const status = jsonOf(answer);
    // Without a code it is the answer of another program, which may have anything in it.
    const message = typeof status?.['code'] === 'number' ? status['message'] : undefined;
    return typeof message === 'string' ? message : '';
  }
  return textOf(fieldsOf(answer)?.get(STATUS_MESSAGE));
}

function jsonOf(answer: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(answer).toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function textOf(value: number | Uint8Array | undefined): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : '';
}

interface Reader {
  readonly bytes: Uint8Array;
  at: number;
}

/** Numbers of fields with their values; undefined when the message is malformed. */
function fieldsOf(bytes: Uint8Array): Map<number, number | Uint8Array> | undefined {
  const fields = new Map<number, number | Uint8Array>();
  const reader = { bytes, at: 0 };
  while (reader.at < bytes.length) {
    const tag = readVarint(reader);
    const value = tag === undefined ? undefined : readValue(reader, tag % 8);
    if (tag === undefined || value === undefined) return undefined;
    fields.set(Math.floor(tag / 8), value);
  }
  return fields;
}

function readValue(reader: Reader, wireType: number): number | Uint8Array | undefined {
  switch (wireType) {
    case WireType.varint:
      return readVarint(reader);
    case WireType.delimited:
      return readBytes(reader, readVarint(reader));
    case WireType.fixed64:
      return readBytes(reader, 8);
    case WireType.fixed32:
      return readBytes(reader, 4);
    default:
      return undefined;
  }
}

function readBytes(reader: Reader, length: number | undefined): Uint8Array | undefined {
  if (length === undefined || reader.at + length > reader.bytes.length) return undefined;
  const start = reader.at;
  reader.at += length;
  return reader.bytes.subarray(start, reader.at);
}

/** A varint; exact up to 2^53. */
function readVarint(reader: Reader): number | undefined {
  let value = 0;
  for (let count = 0; count < VARINT_BYTES_MAX; count++) {
    const byte = reader.bytes[reader.at++];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 2 ** (7 * count);
    if (byte < 0x80) return value;
  }
  return undefined;
}
