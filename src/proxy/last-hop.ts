/**
 * Answers OPTIONS and TRACE requests that must not be forwarded further (RFC 9110 section 7.6.2) as their final
 * recipient, after the policy. TRACE returns the request line and the routing fields only; other fields may contain
 * credentials (section 9.3.8).
 */
import { forwardsLeft } from '../http/fields/max-forwards.ts';
import type { Exchange } from './exchange.ts';
import { BAD_MAX_FORWARDS } from './reasons.ts';
import { DONE, NEXT, type StageResult } from './stage-result.ts';

const TRACE_FIELDS = 'Content-Type: message/http\r\nCache-Control: no-store\r\n';

export function answerAtLastHop(exchange: Exchange): StageResult {
  const { head } = exchange.connection;
  const left = forwardsLeft(head);
  if (left === undefined || left > 0) return NEXT;
  exchange.context.observer.policyDecided(exchange, undefined);
  if (Number.isNaN(left)) exchange.respondProblem(BAD_MAX_FORWARDS);
  else if (exchange.method === 'OPTIONS') exchange.respondFrom('last_hop', 204, '');
  else exchange.respondFrom('last_hop', 200, TRACE_FIELDS, traceOf(exchange));
  return DONE;
}

function traceOf({ connection: { head } }: Exchange): string {
  const via = head.combined('via');
  return (
    `TRACE ${head.target} HTTP/1.${head.httpMinor}\r\nHost: ${head.host}\r\nMax-Forwards: 0\r\n` +
    `${via === undefined ? '' : `Via: ${via}\r\n`}\r\n`
  );
}
