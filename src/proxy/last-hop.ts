/**
 * Answers OPTIONS and TRACE requests that may be forwarded no further (RFC 9110 section 7.6.2) as their final recipient,
 * once policy has let them through. TRACE gets its request line and the fields that say how it came here; no others,
 * since they may hold credentials (section 9.3.8).
 */
import { forwardsLeft } from '../http/fields/max-forwards.ts';
import type { Exchange } from './exchange.ts';
import { BAD_MAX_FORWARDS } from './reasons.ts';
import { DONE, NEXT, type StageResult } from './stage-result.ts';

export function answerAtLastHop(exchange: Exchange): StageResult {
  const { head } = exchange.connection;
  const left = forwardsLeft(head);
  if (left === undefined || left > 0) return NEXT;
  exchange.context.observer.policyDecided(exchange, undefined);
  if (Number.isNaN(left)) exchange.respondProblem(BAD_MAX_FORWARDS);
  else if (exchange.method === 'OPTIONS') exchange.respondEmpty(204, '');
  else
    exchange.respondText(200, 'Content-Type: message/http\r\nCache-Control: no-store\r\n', traceOf(exchange));
  return DONE;
}

function traceOf({ connection: { head } }: Exchange): string {
  const via = head.combined('via');
  return (
    `TRACE ${head.target} HTTP/1.${head.httpMinor}\r\nHost: ${head.host}\r\nMax-Forwards: 0\r\n` +
    `${via === undefined ? '' : `Via: ${via}\r\n`}\r\n`
  );
}
