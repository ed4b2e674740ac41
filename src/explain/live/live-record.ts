/** What a worker reports of an exchange to live streams: no query, no field value but User-Agent. */
import { maskCredentials } from '../../observe/log.ts';
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import type { FilteredFacts } from './live-filter.ts';
import type { LiveRecord } from './live-messages.ts';

const PATH_CHARS_MAX = 1_024;
const HOST_CHARS_MAX = 262;
const METHOD_CHARS_MAX = 64;
const NAME_CHARS_MAX = 256;
const USER_AGENT_CHARS_MAX = 256;

export function filteredFacts(exchange: ExchangeView): FilteredFacts {
  const { caller, refusedKeyId, refusedKeyName } = exchange.evaluation;
  const isRefused = caller.kind === 'anonymous' && refusedKeyId !== '';
  return {
    status: exchange.status,
    code: exchange.errorCode,
    method: exchange.method,
    path: exchange.path || pathOf(exchange.connection.head.target),
    appId: exchange.version?.app.id,
    callerId: isRefused ? refusedKeyId : caller.id,
    callerName: isRefused ? refusedKeyName : caller.name,
  };
}

/** @param id of the record. @param watches that asked for it */
export function liveRecord(exchange: ExchangeView, id: string, watches: readonly number[]): LiveRecord {
  const { version, route, connection, attempts } = exchange;
  const { head } = connection;
  const isReadable = exchange.method !== '';
  return {
    id,
    watches,
    requestId: exchange.requestId,
    startedMs: exchange.startedAtMs,
    protocol: connection.protocol,
    // A request that was refused while it was read may still have a first line.
    method: cut(exchange.method || head.method, METHOD_CHARS_MAX),
    host: isReadable ? cut(head.host, HOST_CHARS_MAX) : '',
    path: maskCredentials(cut(exchange.path || pathOf(head.target), PATH_CHARS_MAX)),
    status: exchange.status,
    code: exchange.errorCode ?? null,
    app: version === undefined ? null : { id: version.app.id, slug: version.app.slug },
    version: version === undefined ? null : { id: version.id, version: version.label },
    revision: route === undefined ? null : { id: route.revision.id, revision: route.revision.label },
    endpoint:
      route?.endpointId === undefined
        ? null
        : { id: route.endpointId, method: route.method, path: route.template },
    caller: callerOf(exchange),
    clientIp: exchange.clientIp,
    userAgent: isReadable ? userAgentOf(exchange) : '',
    isAborted: exchange.isAborted,
    durationMs: exchange.durationMs,
    upstreamMs: exchange.upstreamMs,
    attempts: attempts === undefined ? 0 : exchange.retries + 1,
    bytesIn: exchange.bytesIn,
    bytesOut: exchange.bytesOut,
  };
}

/** null where no policy was asked. A key that was refused is shown: it says whose client fails. */
function callerOf({ route, evaluation }: ExchangeView): LiveRecord['caller'] {
  const { caller, refusedKeyId, refusedKeyName } = evaluation;
  if (route === undefined) return null;
  if (caller.kind === 'anonymous' && refusedKeyId !== '')
    return { kind: 'api_key', id: refusedKeyId, name: refusedKeyName };
  return { kind: caller.kind, id: cut(caller.id, NAME_CHARS_MAX), name: cut(caller.name, NAME_CHARS_MAX) };
}

function userAgentOf(exchange: ExchangeView): string {
  const value = exchange.header('user-agent');
  return value === undefined ? '' : maskCredentials(cut(value, USER_AGENT_CHARS_MAX));
}

/** The path of an unmatched target as it was sent, without a query. */
function pathOf(target: string): string {
  const end = target.search(/[?#]/);
  return end < 0 ? target : target.slice(0, end);
}

function cut(text: string, charsMax: number): string {
  return text.length > charsMax ? `${text.slice(0, charsMax - 3)}...` : text;
}
