/**
 * The two messages of the health service of gRPC (grpc.health.v1) in the wire format of Protocol Buffers. Pure
 * functions. Fields that are not known are passed over; the last of several counts.
 * https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 * https://protobuf.dev/programming-guides/encoding/
 */

/** HealthCheckResponse.ServingStatus. */
export type ServingStatus = 'UNKNOWN' | 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';
const SERVING_STATUSES: readonly ServingStatus[] = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** `string service = 1`, length-delimited. */
const SERVICE_TAG = 0x0a;
/** `ServingStatus status = 1`. */
const STATUS_FIELD = 1;
const VARINT_BYTES_MAX = 10;
const WireType = { varint: 0, fixed64: 1, delimited: 2, fixed32: 5 } as const;

/** HealthCheckRequest. @param service '' for the server as a whole */
export function healthRequest(service: string): Buffer {
  if (service === '') return Buffer.alloc(0);
  const name = Buffer.from(service, 'utf8');
  const length: number[] = [];
  let rest = name.length;
  for (; rest > 0x7f; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([SERVICE_TAG, ...length, rest]), name]);
}

/** Reads a HealthCheckResponse. @returns undefined if it is malformed, or its status is none of those */
export function servingStatus(message: Uint8Array): ServingStatus | undefined {
  let status = 0;
  let at = 0;
  while (at < message.length) {
    const tag = varintAt(message, at);
    if (tag === undefined || tag.value < 8 || tag.value > 0xffffffff) return undefined;
    const value = valueAt(message, tag.end, tag.value % 8);
    if (value === undefined) return undefined;
    if (Math.floor(tag.value / 8) === STATUS_FIELD && tag.value % 8 === WireType.varint) status = value.value;
    at = value.end;
  }
  return SERVING_STATUSES[status];
}

interface Read {
  /** Exact up to 2^53; only small ones matter. */
  readonly value: number;
  /** Index behind it. */
  readonly end: number;
}

/** The end of a field and its value, if it is a number. Groups are not supported. */
function valueAt(message: Uint8Array, at: number, wireType: number): Read | undefined {
  if (wireType === WireType.varint) return varintAt(message, at);
  let end = at;
  if (wireType === WireType.fixed64) end += 8;
  else if (wireType === WireType.fixed32) end += 4;
  else if (wireType === WireType.delimited) {
    const length = varintAt(message, at);
    if (length === undefined) return undefined;
    end = length.end + length.value;
  } else return undefined;
  return end <= message.length ? { value: 0, end } : undefined;
}

function varintAt(message: Uint8Array, at: number): Read | undefined {
  let value = 0;
  let factor = 1;
  for (let index = at; index < message.length && index < at + VARINT_BYTES_MAX; index++) {
    const byte = message[index] as number;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return { value, end: index + 1 };
    factor *= 0x80;
  }
  return undefined;
}
