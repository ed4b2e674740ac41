/**
 * Opens the socket of a connection to a backend, TCP or TLS, to where egress permits. The certificate of a backend is
 * checked against the name or address that its revision gives, unless that says otherwise.
 */
import * as net from 'node:net';
import * as tls from 'node:tls';
import { EgressDenied, type Egress } from '../../egress/egress.ts';
import type { CompiledBackend } from '../../config/types.ts';

/** How connections are made. */
export interface ConnectionMeans {
  /** Finds the addresses of backends that are given by name. */
  readonly lookup: net.LookupFunction;
  /** Where they may go. */
  readonly egress: Egress;
  /** How long a connection is used when its backend is given by name. */
  readonly ageMsMax: number;
}

type OnRead = NonNullable<net.TcpNetConnectOpts['onread']>;

/** The socket comes connecting, or fails in a later turn of the event loop. */
export function connect(
  backend: CompiledBackend,
  onread: OnRead,
  { egress, lookup }: ConnectionMeans,
): net.Socket {
  const { host, port, scheme } = backend;
  const denial = egress.hostDenial(host, port);
  if (denial !== undefined) return new net.Socket().destroy(new EgressDenied(denial));
  const permitted = net.isIP(host) === 0 ? egress.lookup(lookup, port) : lookup;
  return scheme === 'https' ? connectTls(backend, onread, permitted) : connectTcp(backend, onread, permitted);
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
    // RFC 6066 section 3: no literal addresses in SNI. The certificate is still checked against the address.
    ...(net.isIP(serverName) === 0 ? { servername: serverName } : {}),
    ...(settings?.ca === undefined ? {} : { ca: settings.ca }),
    rejectUnauthorized: settings?.verify ?? true,
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
    onread,
    lookup,
  } as tls.ConnectionOptions);
}
