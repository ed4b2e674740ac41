/**
 * `max_body_bytes` in shadow mode: notes a request body that the policy would have refused, at the end of the
 * exchange, when also the length of a chunked one is known. Only what was sent on to a backend is looked at:
 * whatever was answered before would have been answered so in any case.
 */
import { BODY_TOO_LARGE } from '../policy/parts/body-size/part.ts';
import type { Exchange } from './exchange.ts';

/** @param bytesMax more than 0 */
export function noteBodyInShadow(exchange: Exchange, bytesMax: number): void {
  if (exchange.attempts === undefined) return;
  const { head } = exchange.connection;
  // A client that went away in the middle had announced the whole.
  const bytes = Math.max(exchange.bytesIn, head.contentLength);
  if (bytes <= bytesMax) return;
  const denial = { kind: BODY_TOO_LARGE, data: { bytesMax } };
  (exchange.evaluation.shadowDenials ??= []).push({ part: 'max_body_bytes', denial });
}
