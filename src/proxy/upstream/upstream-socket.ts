/**
 * Opens the socket of a backend connection, TCP or TLS, if egress permits it. The certificate is checked against the
 * host of the revision, or the name in its TLS settings.
 */
import * as net from 'node:net';
import * as tls from 'node:tls';
import { EgressDenied, type Egress } from '../../egress/egress.ts';
import type { CompiledBackend } from '../../config/types.ts';

export interface ConnectionMeans {
  /** Resolves the names of backends. */
  readonly lookup: net.LookupFunction;
  /** Allowed destinations. */
  readonly egress: Egress;
  /** How long a connection to a backend with a name is used. */
  readonly ageMsMax: number;
}

type OnRead = NonNullable<net.TcpNetConnectOpts['onread']>;

/** The socket is connecting, or fails in a later tick. */
export function connect(
  backend: CompiledBackend,
  onread: OnRead,
  { egress, lookup }: ConnectionMeans,
): net.Socket {
  const { host, port, scheme } = backend;
  const denial = backendDenial(egress, backend);
  if (denial !== undefined) return new net.Socket().destroy(new EgressDenied(denial));
  const permitted = net.isIP(host) === 0 ? egress.lookup(lookup, port) : lookup;
  return scheme === 'https' ? connectTls(backend, onread, permitted) : connectTcp(backend, onread, permitted);
}

/** As far as it is known before a name is resolved. An address that discovery has found counts with its name. */
export function backendDenial(egress: Egress, { host, port, foundAs }: CompiledBackend): string | undefined {
  return foundAs === undefined ? egress.hostDenial(host, port) : egress.denial(foundAs, host, port);
}

function connectTcp(backend: CompiledBackend, onread: OnRead, lookup: net.LookupFunction): net.Socket {
  return net.connect({ host: backend.host, port: backend.port, onread, lookup });
}

function connectTls(backend: CompiledBackend, onread: OnRead, lookup: net.LookupFunction): net.Socket {
  const settings = backend.tls;
  const serverName = settings?.server_name ?? backend.host;
  return tls.connect({
    host: backend.host,
    port: backend.port,
    // RFC 6066 section 3: no IP addresses in SNI. The certificate is still checked against the address.
    ...(net.isIP(serverName) === 0 ? { servername: serverName } : {}),
    ...(settings?.ca === undefined ? {} : { ca: settings.ca }),
    rejectUnauthorized: settings?.verify ?? true,
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
    onread,
    lookup,
  } as tls.ConnectionOptions);
}
