/**
 * Browsers that speak TLS with a proxy in front, which a trusted proxy tells with `X-Forwarded-Proto`. Their cookies
 * are marked `Secure` too, so that the browser never sends them without TLS. Their names stay without the prefix
 * `__Host-`, because a cookie is read by the same name however a call has arrived.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { clientScheme } from '../../http/fields/forwarded.ts';
import { normaliseAddress } from '../../http/address.ts';

type IsTrusted = (address: string) => boolean;

/** Whether the browser used TLS, by the word of trusted proxies. */
export function cameOverTls({ socket, headers }: FastifyRequest, isTrusted: IsTrusted): boolean {
  const proto = joined(headers['x-forwarded-proto']);
  const { remoteAddress } = socket;
  // A client of the Unix socket has no address, and is not trusted.
  if (proto === undefined || remoteAddress === undefined) return false;
  const peer = normaliseAddress(remoteAddress) ?? remoteAddress;
  if (!isTrusted(peer)) return false;
  return clientScheme(proto, peer, joined(headers['x-forwarded-for']), isTrusted) === 'https';
}

/** Marks the cookies of all answers to such browsers. */
export function markCookies(server: FastifyInstance, isTrusted: IsTrusted): void {
  server.addHook('onSend', async (request, reply) => {
    const cookies = reply.getHeader('set-cookie');
    if (cookies === undefined || !cameOverTls(request, isTrusted)) return;
    const marked = [cookies].flat().map((cookie) => `${cookie}; Secure`);
    reply.removeHeader('set-cookie').header('set-cookie', marked);
  });
}

const joined = (field: string | string[] | undefined): string | undefined =>
  Array.isArray(field) ? field.join(', ') : field;
