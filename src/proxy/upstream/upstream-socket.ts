/**
 * Opens the socket of a backend connection, TCP or TLS (backend-tls.ts), if egress permits it. The certificate is checked
 * against the host of the revision, or the name in its TLS settings.
 */
import * as net from 'node:net';
import * as tls from 'node:tls';
import { EgressDenied, type Egress } from '../../egress/egress.ts';
import type { CompiledBackend } from '../../config/types.ts';
import { backendTlsOptions, BackendTlsRefused, type ClientCertificates } from './tls/backend-tls.ts';

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

/** The socket is connecting, or fails in a later tick. */
export function connect(
  backend: CompiledBackend,
  onread: OnRead,
  { egress, lookup, clientCertificates }: ConnectionMeans,
): net.Socket {
  const { host, port, scheme } = backend;
  const denial = backendDenial(egress, backend);
  if (denial !== undefined) return new net.Socket().destroy(new EgressDenied(denial));
  const permitted = net.isIP(host) === 0 ? egress.lookup(lookup, port) : lookup;
  if (scheme === 'http') return net.connect({ host, port, onread, lookup: permitted });
  return connectTls(backend, onread, permitted, clientCertificates);
}

/** As far as it is known before a name is resolved. An address that discovery has found counts with its name. */
export function backendDenial(egress: Egress, { host, port, foundAs }: CompiledBackend): string | undefined {
  return foundAs === undefined ? egress.hostDenial(host, port) : egress.denial(foundAs, host, port);
}

function connectTls(
  backend: CompiledBackend,
  onread: OnRead,
  lookup: net.LookupFunction,
  certificates: ClientCertificates,
): net.Socket {
  try {
    const options = backendTlsOptions(backend, certificates);
    return tls.connect({ ...options, ALPNProtocols: ['http/1.1'], onread, lookup } as tls.ConnectionOptions);
  } catch (error) {
    if (error instanceof BackendTlsRefused) return new net.Socket().destroy(error);
    throw error;
  }
}
