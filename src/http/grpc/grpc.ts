/**
 * gRPC over HTTP/2, where the gateway itself has to speak it: errors, which a client of gRPC reads from `grpc-status`
 * in a response with status 200, and `grpc-timeout`, the time that the client gives a call. Messages pass unread. Pure
 * functions. https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
import type { RequestHead } from '../heads/request-head.ts';

/** Codes of gRPC (doc/statuscodes.md) for statuses of errors of the gateway. */
const GRPC_STATUSES: Readonly<Record<number, number>> = {
  400: 13, // INTERNAL
  401: 16, // UNAUTHENTICATED
  403: 7, //  PERMISSION_DENIED
  404: 12, // UNIMPLEMENTED
  405: 12,
  408: 4, //  DEADLINE_EXCEEDED
  410: 12,
  413: 8, //  RESOURCE_EXHAUSTED
  429: 8,
  500: 13,
  501: 12,
  502: 14, // UNAVAILABLE
  503: 14,
  504: 4,
};
const UNKNOWN = 2;

const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 0.001,
  n: 0.000_001,
};

interface GrpcRequest {
  readonly connection: { readonly isHttp2: boolean; readonly head: RequestHead };
}

/** Whether the client expects answers of gRPC. Not gRPC-Web, whose clients read HTTP. */
export function isGrpc({ connection }: GrpcRequest): boolean {
  if (!connection.isHttp2) return false;
  const type = connection.head.get('content-type')?.toLowerCase();
  return type !== undefined && /^application\/grpc(?:$|[+;])/.test(type);
}

/**
 * The fields of a gateway error, each line ending in CRLF.
 * @param contentType of gRPC, or gRPC-Web
 * @param status status of the error over HTTP
 * @param message for people
 */
export function grpcErrorLines(contentType: string, status: number, message: string): string {
  const code = GRPC_STATUSES[status] ?? UNKNOWN;
  return `Content-Type: ${contentType}\r\ngrpc-status: ${code}\r\ngrpc-message: ${percentEncoded(message)}\r\n`;
}

/** Encodes the UTF-8 bytes of everything except printable ASCII, and `%`. */
function percentEncoded(text: string): string {
  let encoded = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}

/** Milliseconds that the client gives the call; Infinity if it gives none, or in a form that gRPC does not have. */
export function grpcTimeoutMs(request: GrpcRequest): number {
  return isGrpc(request) ? timeoutMsOf(request.connection.head.get('grpc-timeout')) : Infinity;
}

/** The value of `grpc-timeout`. */
export function timeoutMsOf(value: string | undefined): number {
  const [, digits, unit] = /^([0-9]{1,8})([HMSmun])$/.exec(value ?? '') ?? [];
  return digits === undefined || unit === undefined ? Infinity : Number(digits) * (UNIT_MS[unit] as number);
}
