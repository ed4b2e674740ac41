/**
 * Reads the key of a request for `hash` balancing (hash-choice.ts) from the place that the revision names. If that is a
 * cookie that the request lacks, the gateway draws a value and sets the cookie with the response: the value says
 * nothing about the targets.
 */
import type { HashSource } from '../../config/types.ts';
import { randomHex } from '../../lib/ids.ts';
import { ownClaim } from '../../policy/caller.ts';
import type { ExchangeView } from '../interfaces/exchange-view.ts';
import type { Route } from '../interfaces/route.ts';
import { pathParameters } from '../upstream-path.ts';
import { hashKey } from './hash-choice.ts';

const COOKIE_BYTES = 16;

export interface RequestKey {
  /** undefined when the request has none. */
  readonly key: number | undefined;
  /** A field line for the response that sets the cookie, or ''. */
  readonly cookieLine: string;
}

const NO_KEY: RequestKey = Object.freeze({ key: undefined, cookieLine: '' });

export function requestKey(exchange: ExchangeView, route: Route, source: HashSource): RequestKey {
  if (source.by === 'cookie') return cookieKey(exchange, route, source);
  const text = textOf(exchange, route, source);
  return text === undefined || text === '' ? NO_KEY : { key: hashKey(text), cookieLine: '' };
}

function textOf(exchange: ExchangeView, route: Route, { by, name }: HashSource): string | undefined {
  switch (by) {
    case 'header':
      return exchange.header(name);
    case 'claim':
      return claimText(exchange, name);
    case 'path': {
      const parameters = pathParameters(route, exchange.path, exchange.suffixStart);
      return Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    }
    case 'ip':
      return exchange.clientIp;
    case 'cookie':
      return undefined;
  }
}

function claimText({ evaluation }: ExchangeView, name: string): string | undefined {
  const { claims } = evaluation.caller;
  const value = claims === undefined ? undefined : ownClaim(claims, name);
  return value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
}

function cookieKey(exchange: ExchangeView, route: Route, { name, ttlSecs }: HashSource): RequestKey {
  const sent = cookieValue(exchange.header('cookie'), name);
  if (sent !== undefined) return { key: hashKey(sent), cookieLine: '' };
  const value = randomHex(COOKIE_BYTES);
  const { gatewayPath } = route.version;
  const path = /^[\w!$%&'()*+./:=@~-]+$/.test(gatewayPath) ? gatewayPath : '/';
  const age = ttlSecs === undefined ? '' : `; Max-Age=${ttlSecs}`;
  const secure = exchange.connection.isSecure ? '; Secure' : '';
  const cookieLine = `Set-Cookie: ${name}=${value}; Path=${path}${age}; HttpOnly; SameSite=Lax${secure}\r\n`;
  return { key: hashKey(value), cookieLine };
}

/**
 * RFC 6265 section 5.4: pairs separated by `; `. The first pair with the name counts; an empty value counts as
 * none.
 */
export function cookieValue(field: string | undefined, name: string): string | undefined {
  if (field === undefined) return undefined;
  for (let from = 0; from < field.length;) {
    let end = field.indexOf(';', from);
    if (end < 0) end = field.length;
    // A search of the rest of the field would also find a "=" of a later pair.
    const pair = field.slice(from, end);
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name) {
      const value = pair.slice(equals + 1).trim();
      return value === '' ? undefined : value;
    }
    from = end + 1;
  }
  return undefined;
}
