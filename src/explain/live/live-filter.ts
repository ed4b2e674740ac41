/**
 * The filter of a watcher of live traffic, compiled from the query of a stream; applied in the workers to every
 * exchange, and never on the main thread. Texts are compared literally: none is a pattern. Pure.
 */
import type { Caller } from '../../policy/stage.ts';
import type { ExchangeView } from '../../proxy/interfaces/exchange-view.ts';

type LiveCaller = Pick<Caller, 'kind' | 'id' | 'name'>;

/** Plain data: sent to the workers. Members that are undefined let everything pass. */
export interface LiveFilter {
  /** Id. */
  readonly appId?: string | undefined;
  /** One of them must contain the status. */
  readonly status?: readonly StatusRange[] | undefined;
  /** Id or name of an API key, or the subject of a JWT. */
  readonly key?: string | undefined;
  /** The canonical path begins with it. */
  readonly path?: string | undefined;
  readonly method?: string | undefined;
  /** Code of a denial or failure. */
  readonly reason?: string | undefined;
}

/** Inclusive. */
export interface StatusRange {
  readonly from: number;
  readonly to: number;
}

const STATUS_MIN = 100;
const STATUS_MAX = 599;

/** @param text matches STATUS_FILTER_PATTERN */
export function statusRanges(text: string): StatusRange[] {
  return text.split(',').map((item) => {
    const [, comparison = '', digits = ''] = /^([<>]=?)?(.*)$/.exec(item) ?? [];
    if (digits.endsWith('xx')) {
      const from = Number(digits[0]) * 100;
      return { from, to: from + 99 };
    }
    const status = Number(digits);
    switch (comparison) {
      case '>=':
        return { from: status, to: STATUS_MAX };
      case '>':
        return { from: status + 1, to: STATUS_MAX };
      case '<=':
        return { from: STATUS_MIN, to: status };
      case '<':
        return { from: STATUS_MIN, to: status - 1 };
      default:
        return { from: status, to: status };
    }
  });
}

/** Looks only at what the filter asks for: it is asked about each exchange of the worker. */
export function passes(filter: LiveFilter, exchange: ExchangeView): boolean {
  const { appId, status, key, path, method, reason } = filter;
  if (appId !== undefined && exchange.version?.app.id !== appId) return false;
  if (status !== undefined && !isAmong(exchange.status, status)) return false;
  if (reason !== undefined && exchange.errorCode !== reason) return false;
  if (method !== undefined && exchange.method !== method) return false;
  if (key !== undefined && !isCaller(exchange, key)) return false;
  return path === undefined || livePath(exchange).startsWith(path);
}

function isAmong(status: number, ranges: readonly StatusRange[]): boolean {
  return ranges.some(({ from, to }) => from <= status && status <= to);
}

function isCaller(exchange: ExchangeView, key: string): boolean {
  const { id, name } = liveCaller(exchange);
  return id === key || name === key;
}

/** The caller, or the key that was refused: it says whose client fails. */
export function liveCaller({ evaluation }: ExchangeView): LiveCaller {
  const { caller, refusedKeyId, refusedKeyName } = evaluation;
  return caller.kind === 'anonymous' && refusedKeyId !== ''
    ? { kind: 'api_key', id: refusedKeyId, name: refusedKeyName }
    : caller;
}

/** The canonical path; for a target without one, the path as it was sent, without a query. */
export function livePath({ path, connection }: ExchangeView): string {
  if (path !== '') return path;
  const { target } = connection.head;
  const end = target.search(/[?#]/);
  return end < 0 ? target : target.slice(0, end);
}
