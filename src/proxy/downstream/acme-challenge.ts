/**
 * Answers the requests with which an ACME authority verifies that a name points to this gateway (http-01, RFC 8555
 * section 8.3), before they are redirected or routed. Only tokens of orders under way have an answer: every other
 * request is routed as usual.
 */
import type { Exchange } from '../exchange.ts';
import { DONE, NEXT, type StageResult } from '../stage-result.ts';

const PREFIX = '/.well-known/acme-challenge/';
const FIELDS = 'Content-Type: application/octet-stream\r\nCache-Control: no-store\r\n';

export function answerChallenge(exchange: Exchange): StageResult {
  const { ordered } = exchange.context;
  if (ordered?.hasHttpAnswers !== true) return NEXT;
  const { head } = exchange.connection;
  if (exchange.method !== 'GET' || !head.target.startsWith(PREFIX)) return NEXT;
  const answer = ordered.httpAnswer(head.target.slice(PREFIX.length));
  if (answer === undefined) return NEXT;
  exchange.respondFrom('acme_challenge', 200, FIELDS, answer);
  return DONE;
}
