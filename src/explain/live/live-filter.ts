/**
 * Which exchanges a watcher of live traffic asks for. Compiled from the query of a stream; asked in the workers about
 * every exchange, and on the main thread about nothing. Texts are compared as they are: none is a pattern. Pure.
 */

/** Plain data: sent to the workers. Members that are undefined let everything pass. */
export interface LiveFilter {
  /** Id. */
  readonly appId?: string | undefined;
  /** One of them must hold the status. */
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

/** What a filter looks at. Texts are '' where there is none. */
export interface FilteredFacts {
  readonly status: number;
  readonly code: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly appId: string | undefined;
  /** Of the caller, or of the key that was refused. */
  readonly callerId: string;
  readonly callerName: string;
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

export function passes(filter: LiveFilter, facts: FilteredFacts): boolean {
  const { appId, status, key, path, method, reason } = filter;
  if (status !== undefined && !status.some(({ from, to }) => from <= facts.status && facts.status <= to))
    return false;
  if (reason !== undefined && facts.code !== reason) return false;
  if (appId !== undefined && facts.appId !== appId) return false;
  if (method !== undefined && facts.method !== method) return false;
  if (key !== undefined && facts.callerId !== key && facts.callerName !== key) return false;
  return path === undefined || facts.path.startsWith(path);
}
