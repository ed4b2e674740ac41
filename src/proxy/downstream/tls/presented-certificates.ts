/** What the handshake of a client has told, for the policies of its requests. */
import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { canonicalHost } from '../../../http/fields/host-name.ts';
import type { ClientTls } from '../../../policy/stage.ts';
import type { CertificateRequests } from './certificate-requests.ts';

/** More are not taken from the TLS library: policies refuse so many. */
const CERTIFICATES_MAX = 12;

/** For connections over TLS. */
export interface ClientTlsState extends ClientTls {
  /** Whether the client would be asked for a certificate now, and was not when it connected. */
  readonly isOutdated: boolean;
}

/** @param wasAsked whether the handshake has asked for a certificate */
export function clientTlsOf(
  socket: TLSSocket,
  wasAsked: boolean,
  requests: CertificateRequests,
): ClientTlsState {
  // It is false without a name.
  const name: unknown = Reflect.get(socket, 'servername');
  const serverName = typeof name === 'string' ? canonicalHost(name) : '';
  return Object.freeze({
    serverName,
    // Nothing but the server name decides what is asked for, so the configuration of now counts.
    askedFor: { has: (ca: string): boolean => wasAsked && requests.askedFor(serverName).has(ca) },
    certificates: wasAsked ? certificatesOf(socket) : [],
    get isOutdated(): boolean {
      return !wasAsked && requests.askedFor(serverName).size > 0;
    },
  });
}

function certificatesOf(socket: TLSSocket): readonly Buffer[] {
  const found: Buffer[] = [];
  let next: X509Certificate | undefined = socket.getPeerX509Certificate();
  while (next !== undefined && found.length < CERTIFICATES_MAX) {
    found.push(next.raw);
    next = next.issuerCertificate;
  }
  return found;
}
