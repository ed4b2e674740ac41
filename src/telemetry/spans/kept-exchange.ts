/**
 * What spans say about an exchange, taken when it ends: they are written later, when its connection may already have
 * read the next request.
 */
import type { Evaluation } from '../../policy/stage.ts';
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import type { ExchangeTrace } from '../../proxy/tracing/exchange-trace.ts';

export interface KeptExchange
  extends
    Pick<
      ExchangeView,
      | 'route'
      | 'status'
      | 'errorCode'
      | 'isAborted'
      | 'configVersion'
      | 'path'
      | 'suffixStart'
      | 'clientIp'
      | 'requestId'
      | 'startedMs'
      | 'durationMs'
      | 'upstreamProtocol'
    >,
    Pick<Evaluation, 'caller' | 'limit' | 'deniedBy' | 'shadowDenials'>,
    Pick<ExchangeView['connection'], 'protocol' | 'isSecure'> {
  readonly trace: ExchangeTrace;
  readonly retries: number;
  /** False for a head that was refused: of it, only the method is known. */
  readonly isReadable: boolean;
  readonly method: string;
  /** '' where the head has none or cannot be read. */
  readonly host: string;
  readonly userAgent: string | undefined;
}

/** @param exchange has ended */
export function keptExchange(exchange: ExchangeView, trace: ExchangeTrace): KeptExchange {
  const { connection, evaluation, method } = exchange;
  const { head } = connection;
  const isReadable = method !== '';
  return {
    trace,
    isReadable,
    method: isReadable ? method : head.method,
    host: isReadable ? head.host : '',
    userAgent: isReadable ? exchange.header('user-agent') : undefined,
    protocol: connection.protocol,
    isSecure: connection.isSecure,
    route: exchange.route,
    status: exchange.status,
    errorCode: exchange.errorCode,
    isAborted: exchange.isAborted,
    configVersion: exchange.configVersion,
    path: exchange.path,
    suffixStart: exchange.suffixStart,
    clientIp: exchange.clientIp,
    requestId: exchange.requestId,
    retries: exchange.retries,
    startedMs: exchange.startedMs,
    durationMs: exchange.durationMs,
    upstreamProtocol: exchange.upstreamProtocol,
    caller: evaluation.caller,
    limit: evaluation.limit,
    deniedBy: evaluation.deniedBy,
    shadowDenials: evaluation.shadowDenials,
  };
}
