/**
 * Runs recorded requests through the engine as explain runs described ones: from a socket without a network, with
 * policies that only read counters, and with the request to the backend recorded instead of sent. One request at a
 * time.
 */
import type { AnswerableExchange, ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import type { ProxyContext } from '../../proxy/interfaces/proxy-context.ts';
import type { Route } from '../../proxy/interfaces/route.ts';
import { Connection } from '../../proxy/downstream/connection.ts';
import { WaitingClients } from '../../proxy/downstream/waiting-clients.ts';
import { ExplainSocket } from '../described-socket.ts';
import { readRequest, type RecordedRequest } from '../traffic/traffic-record.ts';
import { QUIET_OBSERVER } from './quiet-observer.ts';
import { recordedTls, type RecordedCallers } from './recorded-callers.ts';
import { outcomeOf, type ReplayOutcome } from './replay-outcome.ts';

/** @param request in the format of `TrafficRecord` */
export type RunRequest = (request: string) => Promise<ReplayOutcome>;

/**
 * @param context its policies only look (policy/trial/read-only-context.ts), and ask `callers` for credentials
 * @param isSecure whether the traffic listener speaks TLS
 */
export function createRunner(context: ProxyContext, callers: RecordedCallers, isSecure: boolean): RunRequest {
  let settle: (exchange: ExchangeView, route: Route | undefined) => void = () => undefined;
  const quiet = quietContext(context, {
    ended: (exchange) => settle(exchange, undefined),
    forwarded: (exchange, route) => {
      settle(exchange, route);
      exchange.abort();
    },
  });
  return (request) =>
    new Promise((resolve, reject) => {
      const recorded = readRequest(request);
      callers.wasGuessed = false;
      settle = (exchange, route) => {
        settle = () => undefined;
        try {
          resolve(outcomeOf(exchange, route, callers.wasGuessed));
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      const socket = new ExplainSocket();
      const own = { ...quiet, waiting: new WaitingClients() };
      // The connection attaches itself to the socket and is collected with it.
      const tls = isSecure ? recordedTls() : undefined;
      void new Connection(socket, recorded.clientIp, isSecure, own, () => undefined, { tls });
      socket.receive(Buffer.from(headOf(recorded, callers), 'latin1'));
    });
}

function headOf(
  { method, host, path, bodyBytes, fields }: RecordedRequest,
  callers: RecordedCallers,
): string {
  const lines = fields.map((field) => {
    const value = 'value' in field ? field.value : callers.fieldValue(field.name, field.credential);
    return `${field.name}: ${value}\r\n`;
  });
  if (bodyBytes > 0) lines.push(`Content-Length: ${bodyBytes}\r\n`);
  return `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${lines.join('')}\r\n`;
}

interface Ends {
  ended(exchange: ExchangeView): void;
  forwarded(exchange: AnswerableExchange, route: Route): void;
}

function quietContext(context: ProxyContext, ends: Ends): ProxyContext {
  const observer = { ...QUIET_OBSERVER, exchangeEnded: (exchange: ExchangeView) => ends.ended(exchange) };
  return { ...context, observer, interceptUpstream: (exchange, route) => ends.forwarded(exchange, route) };
}
