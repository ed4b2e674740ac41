/** A worker's report of an exchange for live streams: no query, and no field value except User-Agent. */
import { cut } from '../../observe/cut.ts';
import { maskCredentials } from '../../observe/log.ts';
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';
import { liveCaller, livePath } from './live-filter.ts';
import type { LiveRecord } from './live-messages.ts';

const PATH_CHARS_MAX = 1_024;
const HOST_CHARS_MAX = 262;
const METHOD_CHARS_MAX = 64;
const NAME_CHARS_MAX = 256;
const USER_AGENT_CHARS_MAX = 256;

/** @param id id of the record @param watches watches that match */
export function liveRecord(exchange: ExchangeView, id: string, watches: readonly number[]): LiveRecord {
  const { version, route, connection, attempts } = exchange;
  const { head } = connection;
  const isReadable = exchange.method !== '';
  return {
    id,
    watches,
    requestId: exchange.requestId,
    traceId: exchange.traced()?.traceId ?? null,
    startedMs: exchange.startedAtMs,
    protocol: connection.protocol,
    // A request that was refused while it was read may still have a first line.
    method: cut(exchange.method || head.method, METHOD_CHARS_MAX),
    host: isReadable ? cut(head.host, HOST_CHARS_MAX) : '',
    path: maskCredentials(cut(livePath(exchange), PATH_CHARS_MAX)),
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

/** null where no policy was asked. */
function callerOf(exchange: ExchangeView): LiveRecord['caller'] {
  if (exchange.route === undefined) return null;
  const { kind, id, name } = liveCaller(exchange);
  return { kind, id: cut(id, NAME_CHARS_MAX), name: cut(name, NAME_CHARS_MAX) };
}

function userAgentOf(exchange: ExchangeView): string {
  const value = exchange.header('user-agent');
  return value === undefined ? '' : maskCredentials(cut(value, USER_AGENT_CHARS_MAX));
}
