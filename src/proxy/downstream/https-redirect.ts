/**
 * Redirects requests that came without TLS to the same URL with `https`, if the settings say so. The method and the
 * body stay the same (RFC 9110 section 15.4.9).
 */
import { clientScheme } from '../../http/fields/forwarded.ts';
import type { Exchange } from '../exchange.ts';
import type { ExchangeView } from '../interfaces/exchange-view.ts';
import { HTTPS_WITHOUT_HOST } from '../reasons.ts';
import { DONE, NEXT, type StageResult } from '../stage-result.ts';

const HTTPS_PORT = 443;

export function redirectToHttps(exchange: Exchange): StageResult {
  const { connection, context } = exchange;
  const port = context.options.httpsRedirectPort;
  if (port === undefined || connection.isSecure || cameOverTls(exchange)) return NEXT;
  const { host, target } = connection.head;
  // OPTIONS for the whole server has no URL.
  if (target === '*') return NEXT;
  if (host === '') {
    exchange.respondProblem(HTTPS_WITHOUT_HOST);
    return DONE;
  }
  const authority = host.replace(/:[0-9]+$/, '') + (port === HTTPS_PORT ? '' : `:${port}`);
  // The answer depends on the connection, which caches do not know.
  const fields = `Location: https://${authority}${target}\r\nCache-Control: no-store\r\n`;
  exchange.respondFrom('https_redirect', 308, fields);
  return DONE;
}

/** Whether the client used TLS, also by the word of trusted proxies in front. */
export function cameOverTls({ connection: { isTrustedPeer, peer, head }, context }: ExchangeView): boolean {
  if (!isTrustedPeer) return false;
  const proto = head.combined('x-forwarded-proto');
  if (proto === undefined) return false;
  const isTrusted = (address: string): boolean => context.isTrustedProxy(address);
  return clientScheme(proto, peer, head.combined('x-forwarded-for'), isTrusted) === 'https';
}
