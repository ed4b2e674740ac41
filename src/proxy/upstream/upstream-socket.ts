/**
 * Opens the socket of a backend connection, TCP or Unix, with or without TLS (backend-tls.ts), if egress permits it.
 * The certificate is checked against the host of the revision, or the name in its TLS settings.
 */
import * as net from 'node:net';
import * as tls from 'node:tls';
import { EgressDenied, type Egress } from '../../egress/egress.ts';
import type { CompiledBackend } from '../../config/types.ts';
import { socketPathOf } from '../../egress/unix-sockets.ts';
import { backendTlsOptions, BackendTlsRefused, type ClientCertificates } from './tls/backend-tls.ts';
import { isUntrusted } from '../../lib/error-message.ts';
import type { UpstreamFailure, UpstreamFault } from './upstream-failure.ts';

export interface ConnectionMeans {
  /** Resolves the names of backends. */
  readonly lookup: net.LookupFunction;
  /** Allowed destinations. */
  readonly egress: Egress;
  readonly clientCertificates: ClientCertificates;
  /** How long a connection to a backend with a name is used. */
  readonly ageMsMax: number;
}

type OnRead = NonNullable<net.TcpNetConnectOpts['onread']>;
type SocketOptions = Pick<net.TcpNetConnectOpts, 'lookup' | 'onread'> & { readonly path?: string };

const HTTP1 = ['http/1.1'] as const;
/** Alerts that refuse a certificate (RFC 8446 section 6.2). */
const CERTIFICATE_ALERT = /_ALERT_(?:BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_\w+|UNKNOWN_CA)$/;

/**
 * The socket is connecting, or fails in a later tick.
 * @param onread undefined: the socket is read as a stream
 * @param protocols offered by ALPN (RFC 7301), with TLS
 */
export function connect(
  backend: CompiledBackend,
  onread: OnRead | undefined,
  { egress, lookup, clientCertificates }: ConnectionMeans,
  protocols: readonly string[] = HTTP1,
): net.Socket {
  const { host, port, scheme } = backend;
  const denial = backendDenial(egress, backend);
  if (denial !== undefined) return new net.Socket().destroy(new EgressDenied(denial));
  const read = onread !== undefined && { onread };
  const path = socketPathOf(host);
  if (path !== undefined) {
    if (scheme === 'http') return net.connect({ path, ...read });
    return connectTls(backend, { path, ...read }, protocols, clientCertificates);
  }
  const permitted = net.isIP(host) === 0 ? egress.lookup(lookup, port) : lookup;
  const own: SocketOptions = { lookup: permitted, ...read };
  if (scheme === 'http') return net.connect({ host, port, ...own });
  return connectTls(backend, own, protocols, clientCertificates);
}

/**
 * Why the connection is denied, as far as that is known before a name is resolved. For an address that discovery has
 * found, the rules for its name apply, too.
 */
export function backendDenial(egress: Egress, { host, port, foundAs }: CompiledBackend): string | undefined {
  const path = socketPathOf(host);
  if (path !== undefined) return egress.socketDenial(path);
  return foundAs === undefined ? egress.hostDenial(host, port) : egress.denial(foundAs, host, port);
}

function connectTls(
  backend: CompiledBackend,
  own: SocketOptions,
  protocols: readonly string[],
  certificates: ClientCertificates,
): net.Socket {
  try {
    const options = backendTlsOptions(backend, certificates);
    return tls.connect({ ...options, ALPNProtocols: [...protocols], ...own } as tls.ConnectionOptions);
  } catch (error) {
    if (error instanceof BackendTlsRefused) return new net.Socket().destroy(error);
    throw error;
  }
}

/** The failure of a connection that was not made. */
export function connectFailure(error: Error): UpstreamFailure {
  if (error instanceof EgressDenied) return { cause: 'denied', fault: 'egress_denied', text: error.message };
  if (error instanceof BackendTlsRefused) return { cause: 'tls', fault: error.fault, text: error.message };
  if (isCertificateRefusal(error)) return certificateRefused(error);
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const isTcp =
    /^E(?:CONN|HOST|NET|AI_|ADDR|TIMEDOUT|PIPE|MFILE|NFILE|ACCES|PERM|NOENT|NOTDIR|LOOP|PROTOTYPE|AGAIN)|^ENOTFOUND/.test(
      code,
    );
  if (OWN_LACKS.has(code)) return { cause: 'connect', fault: 'no_descriptor', systemCode: code };
  const fault = isUntrusted(code) ? 'untrusted' : (TLS_FAULTS[code] ?? 'connect_failed');
  return { cause: isTcp ? 'connect' : 'tls', fault, systemCode: code || error.message };
}

/** The process, or the whole machine, has as many files open as it may. */
const OWN_LACKS: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);

/** Common configuration mistakes. */
const TLS_FAULTS: Readonly<Record<string, UpstreamFault>> = {
  // `https` is the default of backend_scheme.
  ERR_SSL_WRONG_VERSION_NUMBER: 'not_tls',
  ERR_TLS_CERT_ALTNAME_INVALID: 'other_name',
  CERT_HAS_EXPIRED: 'expired',
};

/**
 * Whether the backend refused the client certificate. With TLS 1.3 this arrives after the client has sent its
 * request, which the backend does not read.
 */
export function isCertificateRefusal(error: Error): boolean {
  return CERTIFICATE_ALERT.test((error as NodeJS.ErrnoException).code ?? '');
}

export function certificateRefused(error: Error): UpstreamFailure {
  const systemCode = (error as NodeJS.ErrnoException).code || error.message;
  return { cause: 'tls', fault: 'certificate_refused', systemCode };
}

const NEVER = (): boolean => false;

/**
 * Returns a function that tells whether the client certificate of a connection opened now has been replaced or
 * removed.
 */
export function outdating({ tls }: CompiledBackend, { clientCertificates }: ConnectionMeans): () => boolean {
  const name = tls?.client_certificate;
  if (name === undefined) return NEVER;
  const presented = clientCertificates.find(name);
  return () => clientCertificates.find(name) !== presented;
}
