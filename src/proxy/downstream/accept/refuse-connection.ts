/**
 * Answers a connection that is not served, without reading a request, and closes it: one beyond the limit with 503, on
 * ports without TLS only, and one that brought HTTP without TLS to a port with TLS with 400. For the former, bytes from
 * the client are read and dropped for a moment, since closing with unread bytes would destroy the response (RFC 9112
 * section 9.6). Owns the connections that it is about to close.
 */
import type { Socket } from 'node:net';
import { statusText } from '../../../http/heads/status-text.ts';
import { headerLines, type Reason } from '../../../model/reason.ts';
import { LINGER_MS } from '../../options.ts';
import { OVERLOADED, TLS_REQUIRED } from '../../reasons.ts';
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
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.on('close', () => clearTimeout(timer));
  socket.on('error', () => socket.destroy());
  // Both sides have ended.
  socket.on('end', () => socket.destroySoon());
  socket.end(refusal({ kind: OVERLOADED, data: { full } }, requestId, date), 'latin1');
  socket.resume();
}

/**
 * Nothing is read here: the handshake has read what came.
 * @param accepted the socket below the one whose handshake has failed, as `plainHttpSocket` gives it
 */
export function refusePlainHttp(accepted: Socket, requestId: string, date: string): void {
  accepted.on('error', () => accepted.destroy());
  accepted.end(refusal(TLS_REQUIRED, requestId, date), 'latin1');
}

function refusal(reason: Reason, requestId: string, date: string): string {
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
  return `${lines.join('\r\n')}\r\n${headerLines(reason)}\r\n${body}`;
}
