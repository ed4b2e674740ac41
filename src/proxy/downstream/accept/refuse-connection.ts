/**
 * Answers a connection beyond the limit with 503 and closes it, before reading a request; without TLS only. Bytes from
 * the client are read and dropped for a moment, since closing with unread bytes would destroy the response (RFC 9112
 * section 9.6). Owns the connections that it is about to close.
 */
import type { Socket } from 'node:net';
import { statusText } from '../../../http/heads/status-text.ts';
import { headerLines } from '../../../model/reason.ts';
import { LINGER_MS } from '../../options.ts';
import { OVERLOADED } from '../../reasons.ts';
import { problemBody } from '../../respond.ts';

/** Refused connections open at one time; more are closed without a response. */
export const REFUSED_CONNECTIONS_MAX = 256;

/** @param date value of the Date field */
export function refuseConnection(
  socket: Socket,
  full: 'connections' | 'connections_per_ip',
  requestId: string,
  date: string,
): void {
  const reason = { kind: OVERLOADED, data: { full } } as const;
  const { status, body } = problemBody(reason, '', requestId, undefined);
  const lines = [
    `HTTP/1.1 ${status} ${statusText(status)}`,
    `Date: ${date}`,
    'Content-Type: application/problem+json',
    'Cache-Control: no-store',
    `X-Request-Id: ${requestId}`,
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.on('close', () => clearTimeout(timer));
  socket.on('error', () => socket.destroy());
  // Both sides have ended.
  socket.on('end', () => socket.destroySoon());
  socket.end(`${lines.join('\r\n')}\r\n${headerLines(reason)}\r\n${body}`, 'latin1');
  socket.resume();
}
