/**
 * `max_body_bytes` in shadow mode: records a request body that the policy would have refused. Runs at the end of the
 * exchange, when the length of a chunked body is known, and only for requests that were sent to a backend: all others
 * would have received the same response anyway.
 */
import { bodyShadowDenial } from '../policy/parts/body-size/part.ts';
import type { ExchangeView } from './interfaces/exchange-view.ts';

/** @param bytesMax more than 0 */
export function noteBodyInShadow(exchange: ExchangeView, bytesMax: number): void {
  if (exchange.attempts === undefined) return;
  const { head } = exchange.connection;
  // A client that disconnected early had announced the whole body.
  const bytes = Math.max(exchange.bytesIn, head.contentLength);
  if (bytes <= bytesMax) return;
  (exchange.evaluation.shadowDenials ??= []).push(bodyShadowDenial(bytesMax));
}
