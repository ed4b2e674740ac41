/** Starts what sends events and what notices them, when everything else serves. */
import type { Cluster } from '../../control/cluster/cluster.ts';
import type { CertificateFacts } from '../../proxy/downstream/tls/tls-certificate.ts';
import { orderedCertificateFacts } from '../acme.ts';
import type { CertificateWatches } from '../listener-certificates.ts';
import type { Parts } from '../parts.ts';

/** Certificates by ACME whose ends are looked at: those that end first. */
const ORDERED_MAX = 1_000;

/** Webhooks are sent, and everything is looked at that can make events. */
export function startEvents(parts: Parts, watches: CertificateWatches, cluster: Cluster): void {
  parts.events.sender.start();
  const certificates = (): [string, readonly CertificateFacts[]][] => [
    ...Object.entries(watches.facts),
    ['traffic', orderedCertificateFacts(parts, ORDERED_MAX)],
  ];
  parts.sources.start({ cluster, certificates });
}
