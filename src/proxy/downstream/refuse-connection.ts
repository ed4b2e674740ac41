/**
 * Answers a connection that is one too many, without TLS: 503 at once, to whatever it was going to ask, and the end.
 * What the client sends is read and dropped for a moment, since closing with unread bytes would destroy the answer
 * (RFC 9112 section 9.6). Owns the connections that it is about to close.
 */
import type { Socket } from 'node:net';
import { statusText } from '../../http/status-text.ts';
import { OVERLOAD_RETRY_AFTER_SECS, type OverloadReason } from '../exchange-limiter.ts';
import { LINGER_MS } from '../options.ts';
import { problemBody } from '../respond.ts';

/** Refused connections that are open at one time; further ones are closed without a word. */
export const REFUSED_CONNECTIONS_MAX = 256;

const DETAILS = {
  connections: 'The gateway has as many connections as it takes',
  connections_per_ip: 'There are too many connections from this address',
} as const satisfies Partial<Record<OverloadReason, string>>;

/** @param date as in the Date field */
export function refuseConnection(
  socket: Socket,
  reason: keyof typeof DETAILS,
  requestId: string,
  date: string,
): void {
  const detail = DETAILS[reason];
  const { status, body } = problemBody('overloaded', detail, '', requestId);
  const fields = [
    `HTTP/1.1 ${status} ${statusText(status)}`,
    `Date: ${date}`,
    'Content-Type: application/problem+json',
    'Cache-Control: no-store',
    `Retry-After: ${OVERLOAD_RETRY_AFTER_SECS}`,
    `X-Request-Id: ${requestId}`,
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.on('close', () => clearTimeout(timer));
  socket.on('error', () => socket.destroy());
  // Both sides have said all there is.
  socket.on('end', () => socket.destroySoon());
  socket.end(`${fields.join('\r\n')}\r\n\r\n${body}`, 'latin1');
  socket.resume();
}
