/**
 * TLS to a backend: which certificates of the backend are trusted, and which one the gateway presents (mutual TLS). The
 * certificates to present come from files that the main thread reads (control/certificates/client-certificates.ts).
 */
import { createHash, X509Certificate } from 'node:crypto';
import * as net from 'node:net';
import * as tls from 'node:tls';
import type { CompiledBackend } from '../../../config/types.ts';
import type { CertificatePair } from '../../downstream/tls/tls-certificate.ts';
import type { UpstreamFault } from '../upstream-failure.ts';

const MIN_VERSION = 'TLSv1.2';
/** Limit of the certificates of a chain that are compared with pins. */
const CHAIN_MAX = 10;
/** Limit of the cached contexts of one certificate; each may hold 256 KiB of trusted certificates. */
const CONTEXTS_MAX = 16;

/** Thrown when the gateway itself refuses a handshake. */
export class BackendTlsRefused extends Error {
  readonly fault: UpstreamFault;

  constructor(fault: UpstreamFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

/** The certificates that revisions name in `backend_tls.client_certificate`. */
export class ClientCertificates {
  #pairs: ReadonlyMap<string, CertificatePair>;
  /**
   * Contexts by the trusted certificates, which are part of a context, so that a key is parsed once and not for
   * each connection.
   */
  readonly #contexts = new WeakMap<CertificatePair, Map<string | undefined, tls.SecureContext>>();

  constructor(pairs: ReadonlyMap<string, CertificatePair> = new Map()) {
    this.#pairs = pairs;
  }

  /** Replaces the certificates for new connections. */
  replace(pairs: ReadonlyMap<string, CertificatePair>): void {
    this.#pairs = pairs;
  }

  find(name: string): CertificatePair | undefined {
    return this.#pairs.get(name);
  }

  /**
   * undefined when there is no certificate of this name. @param ca PEM certificates to trust instead of the system’s
   */
  contextOf(name: string, ca: string | undefined): tls.SecureContext | undefined {
    const pair = this.#pairs.get(name);
    if (pair === undefined) return undefined;
    let contexts = this.#contexts.get(pair);
    if (contexts === undefined) this.#contexts.set(pair, (contexts = new Map()));
    let context = contexts.get(ca);
    if (context === undefined) {
      context = tls.createSecureContext({
        ...pair,
        ...(ca !== undefined && { ca }),
        minVersion: MIN_VERSION,
      });
      if (contexts.size >= CONTEXTS_MAX) contexts.clear();
      contexts.set(ca, context);
    }
    return context;
  }
}

/** Options of `tls.connect`, without those of the socket. @throws BackendTlsRefused */
export function backendTlsOptions(
  { host, port, tls: settings }: CompiledBackend,
  certificates: ClientCertificates,
): tls.ConnectionOptions {
  const serverName = settings?.server_name ?? host;
  const { client_certificate: name, ca, pins } = settings ?? {};
  const context = name === undefined ? undefined : certificates.contextOf(name, ca);
  if (name !== undefined && context === undefined) {
    const folder = 'in the folder of GATEWAY_PROXY__CLIENT_CERTIFICATES';
    throw new BackendTlsRefused(
      'no_client_certificate',
      `there is no client certificate "${name}" ${folder}`,
    );
  }
  return {
    host,
    port,
    // RFC 6066 section 3: no IP addresses in SNI. The certificate is still checked against the address.
    ...(net.isIP(serverName) === 0 ? { servername: serverName } : {}),
    ...(context !== undefined ? { secureContext: context } : ca !== undefined ? { ca } : {}),
    ...(pins !== undefined && {
      checkServerIdentity: (name, certificate) =>
        tls.checkServerIdentity(name, certificate) ?? pinError(certificate, new Set(pins)),
    }),
    rejectUnauthorized: settings?.verify ?? true,
    minVersion: MIN_VERSION,
  };
}

/**
 * Why no certificate of the chain has a pinned key; undefined if one has. Additional certificates from the backend
 * prove nothing by themselves: such a certificate counts only if its key has signed the certificate below it (RFC 7469
 * section 2.6).
 */
function pinError(certificate: tls.PeerCertificate, pins: ReadonlySet<string>): Error | undefined {
  let each = certificate as tls.DetailedPeerCertificate;
  let own = new X509Certificate(each.raw);
  for (let links = 0; links < CHAIN_MAX; links++) {
    if (pins.has(pinOf(each.raw))) return undefined;
    const issuer = each.issuerCertificate as tls.DetailedPeerCertificate | undefined;
    // A self-signed certificate is its own issuer.
    if (issuer?.raw === undefined || issuer.fingerprint256 === each.fingerprint256) break;
    const next = new X509Certificate(issuer.raw);
    if (!own.verify(next.publicKey)) break;
    each = issuer;
    own = next;
  }
  return new BackendTlsRefused('pin_mismatch', 'no certificate of the backend has a pinned key');
}

/**
 * SHA-256 of the public key (SubjectPublicKeyInfo), in base64, as in RFC 7469 section 2.4.
 * @param der the certificate
 */
export function pinOf(der: Buffer): string {
  const key = new X509Certificate(der).publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(key).digest('base64');
}
