/**
 * Protects calls with a cookie from other sites: checks the site that the browser names (`Sec-Fetch-Site` of Fetch
 * Metadata, `Origin` of RFC 6454), and the token that a write must repeat. Pure.
 *
 * The token is derived from the cookie's value, so that it does not have to be stored, and it reveals nothing about
 * that value.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { fail, type Failure } from '../api/failure.ts';

const CSRF_HEADER = 'X-CSRF-Token';
/** RFC 9110 section 9.2.1, of the methods that the API has. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

/** @param value value of the session's cookie */
export function csrfTokenOf(value: string): string {
  return createHmac('sha256', value).update('headgate csrf token').digest('base64url');
}

/**
 * 403 when a browser says that another site made the call; undefined when it does not, or the client is not a
 * browser.
 */
export function crossSiteFailure(headers: IncomingHttpHeaders): Failure | undefined {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && !OWN_SITES.has(site)) {
    return fail(
      'cross_site_request',
      'Sec-Fetch-Site must be "same-origin" or "none" for a call with a cookie',
    );
  }
  const { origin, host } = headers;
  if (origin === undefined || isOriginOf(origin, host ?? '')) return undefined;
  const detail = `Origin is ${shown(origin)} and Host is ${shown(host ?? '')}: for a call with a cookie they must name the same host and port, and a proxy in front must not change Host`;
  return fail('cross_site_request', detail);
}

const SHOWN_CHARS_MAX = 100;
const shown = (text: string): string => JSON.stringify(text.slice(0, SHOWN_CHARS_MAX));

/** 403 when a method that may change something comes without the token of its session. */
export function csrfFailure(
  method: string,
  headers: IncomingHttpHeaders,
  expected: string,
): Failure | undefined {
  if (SAFE_METHODS.has(method)) return undefined;
  const sent = headers['x-csrf-token'];
  if (typeof sent === 'string' && timingSafeEqual(sha256(sent), sha256(expected))) return undefined;
  const problem = sent === undefined ? 'is missing' : 'does not belong to this session';
  return fail(
    'csrf_token_invalid',
    `${CSRF_HEADER} ${problem}: a ${method} with a cookie must repeat "csrf_token" of GET /api/v1/session`,
  );
}

/** Ignores the scheme, because a proxy in front may terminate TLS. A default port may be omitted. */
function isOriginOf(origin: string, host: string): boolean {
  const scheme = /^(https?):\/\/[^/?#@\\\s]+$/i.exec(origin)?.[1];
  if (scheme === undefined || /[/?#@\\\s]/.test(host)) return false;
  const own = `${scheme}://${host}`;
  return URL.canParse(origin) && URL.canParse(own) && new URL(origin).host === new URL(own).host;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
