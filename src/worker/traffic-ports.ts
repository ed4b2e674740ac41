/** What a worker listens on, and the certificates that it presents to clients. */
import { createSecureContext } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { PortOptions } from '../proxy/downstream/accept/listening-port.ts';
import { OrderedCertificates } from '../proxy/downstream/tls/ordered-certificates.ts';
import { contextOptions } from '../proxy/downstream/tls/tls-contexts.ts';
import type { WorkerStart } from '../control/workers/protocol.ts';

/** The certificates that the gateway orders; undefined when it orders none. */
export function orderedCertificates(
  { ordered }: WorkerStart,
  clock: Clock,
  log: Logger,
): OrderedCertificates | undefined {
  if (ordered === undefined) return undefined;
  const store = new OrderedCertificates(
    () => clock.nowMs(),
    (certificate) => log.error(certificate, 'a certificate that was ordered is not served'),
    (pair) => createSecureContext(contextOptions(pair)),
  );
  store.apply(ordered);
  return store;
}

/** The main port first, then the one for TLS if there are two. */
export function portOptions(start: WorkerStart, ordered: OrderedCertificates | undefined): PortOptions[] {
  const { settings, certificates, ticketKeys, ports } = start;
  const { http2, h2c: allowsH2c } = settings.proxy;
  const tls = certificates === undefined ? undefined : { certificates, ticketKeys, http2, ordered };
  if (ports.tls === undefined) return [{ port: ports.main, tls, allowsH2c }];
  return [
    { port: ports.main, tls: undefined, allowsH2c },
    { port: ports.tls, tls },
  ];
}
