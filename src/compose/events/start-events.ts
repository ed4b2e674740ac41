/** Starts the sender of webhooks and the sources of events, once everything else serves. */
import type { Cluster } from '../../control/cluster/cluster.ts';
import type { CertificateFacts } from '../../proxy/downstream/tls/tls-certificate.ts';
import { orderedCertificateFacts } from '../acme.ts';
import type { CertificateWatches } from '../listener-certificates.ts';
import type { Parts } from '../parts.ts';

/** Limit of certificates by ACME whose expiry is watched; those that expire first are kept. */
const ORDERED_MAX = 1_000;

export function startEvents(parts: Parts, watches: CertificateWatches, cluster: Cluster): void {
  parts.events.sender.start();
  const certificates = (): [string, readonly CertificateFacts[]][] => [
    ...Object.entries(watches.facts),
    ['traffic', orderedCertificateFacts(parts, ORDERED_MAX)],
  ];
  parts.sources.start({ cluster, certificates });
}
