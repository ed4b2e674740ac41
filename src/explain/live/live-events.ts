/**
 * Events of a stream of live traffic as text (WHATWG HTML, server-sent events). Data is JSON in ASCII without control
 * characters: whatever a client sends, it can neither end a line nor begin another field.
 */
import { timestamp, toMicroseconds } from '../../lib/clock.ts';
import type { LiveRecord } from './live-messages.ts';
import type { LiveExchange, LiveStatus } from './live-schema.ts';

/** A comment, which readers ignore. */
export const HEARTBEAT = ': heartbeat\n\n';
/** How long a reader waits before it connects again, in milliseconds. */
export const PREAMBLE = 'retry: 2000\n\n';

/** @param id to resume after; no line break. @param node id of the gateway */
export function exchangeEvent(id: string, record: LiveRecord, node: string): string {
  return `id: ${id}\nevent: exchange\ndata: ${asciiJson(shown(record, node))}\n\n`;
}

export function statusEvent(status: LiveStatus): string {
  return `event: status\ndata: ${asciiJson(status)}\n\n`;
}

function shown(record: LiveRecord, node: string): LiveExchange {
  return {
    id: record.id,
    request_id: record.requestId,
    trace_id: record.traceId,
    time: timestamp(record.startedMs),
    node,
    worker: Number(record.id.split('-', 1)[0]),
    protocol: record.protocol,
    method: record.method,
    host: record.host,
    path: record.path,
    status: record.status === 0 ? null : record.status,
    code: record.code,
    app: record.app,
    version: record.version,
    revision: record.revision,
    endpoint: record.endpoint,
    caller: record.caller,
    client_ip: record.clientIp,
    user_agent: record.userAgent,
    aborted: record.isAborted,
    duration_ms: toMicroseconds(record.durationMs),
    upstream_ms: record.upstreamMs < 0 ? null : toMicroseconds(record.upstreamMs),
    attempts: record.attempts,
    bytes_in: record.bytesIn,
    bytes_out: record.bytesOut,
    explained: true,
  };
}

/** JSON.stringify escapes control characters below U+0020 itself. */
export function asciiJson(value: object): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
