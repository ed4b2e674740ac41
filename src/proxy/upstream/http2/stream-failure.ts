/** Translates the end of an HTTP/2 stream or session (RFC 9113 section 7) into a failure of the backend. */
import type { UpstreamFailure } from '../upstream-failure.ts';

/** Names by code (RFC 9113 section 7). */
const ERROR_NAMES = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
] as const;

/** Codes of streams whose message is malformed or exceeds a limit. */
const MALFORMED: ReadonlySet<string> = new Set([
  'PROTOCOL_ERROR',
  'FLOW_CONTROL_ERROR',
  'FRAME_SIZE_ERROR',
  'STREAM_CLOSED',
  'ENHANCE_YOUR_CALM',
]);

export function errorName(code: number): string {
  return ERROR_NAMES[code] ?? `error ${code}`;
}

/** A stream has ended before its response was complete. */
export function failureOfCode(code: number): UpstreamFailure {
  const systemCode = errorName(code);
  if (systemCode === 'NO_ERROR') return { cause: 'reset', fault: 'closed_early' };
  if (MALFORMED.has(systemCode)) return { cause: 'bad_response', fault: 'bad_stream', systemCode };
  return { cause: 'reset', fault: 'stream_reset', systemCode };
}

/** The gateway has found the response malformed. */
export function malformed(text: string): UpstreamFailure {
  return { cause: 'bad_response', fault: 'malformed', text };
}
