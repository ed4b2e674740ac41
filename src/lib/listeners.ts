/** Helpers that the traffic and the management listener share. */
import { constants } from 'node:crypto';

/**
 * A flag for `secureOptions` that forbids renegotiation within a connection of TLS 1.2. Node.js allows each
 * client three in ten minutes. Each costs a signature, no client needs one, and HTTP/2 forbids them (RFC 9113
 * section 9.2.1); TLS 1.3 has none.
 */
export const NO_RENEGOTIATION = constants.SSL_OP_NO_RENEGOTIATION;

/** Whether a host to listen on can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Connections that the kernel keeps for a listener until it accepts them, at most `net.core.somaxconn`. One that has no
 * room tries again after one, three and seven seconds, so that a burst would keep others waiting for as long.
 */
export const BACKLOG = 4_096;
