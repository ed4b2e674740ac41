/** The facts of a client's handshake that the policies of its requests need. */
import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { canonicalHost } from '../../../http/fields/host-name.ts';
import type { ClientTls } from '../../../policy/stage.ts';
import type { CertificateRequests } from './certificate-requests.ts';

/** Certificates beyond this number are not read from the TLS library: policies refuse that many. */
const CERTIFICATES_MAX = 12;

/** The facts of a TLS connection. */
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
  // The value is false when there is no name.
  const name: unknown = Reflect.get(socket, 'servername');
  const serverName = typeof name === 'string' ? canonicalHost(name) : '';
  return Object.freeze({
    serverName,
    // Only the server name decides whether a certificate is requested, so the current configuration applies.
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
