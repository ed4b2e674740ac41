/** Wires certificates by ACME. When the settings name no directory, nothing of it is loaded. */
import { readFileSync } from 'node:fs';
import { messageOf } from '../lib/error-message.ts';
import { PeerQuestions } from '../control/cluster/peer-questions.ts';
import type { Cluster } from '../control/cluster/cluster.ts';
import type { Supervisor } from '../control/workers/supervisor.ts';
import { isWildcardEntry } from '../http/fields/host-name.ts';
import type { OwnCertificates } from '../management/context.ts';
import type { CertificateEntry } from '../management/schemas/overview/certificate-schema.ts';
import { certificateEntries, orderedState } from '../control/acme/certificate-entries.ts';
import { isBefore } from '../control/acme/renewal.ts';
import { isAllowed } from '../control/acme/wanted-names.ts';
import type { AcmeFacts } from '../control/problems/acme-problems.ts';
import type { AcmeCounts } from '../observe/metrics/certificate-metrics.ts';
import type { NodeFacts } from '../observe/metrics/prometheus.ts';
import type { CertificateFacts } from '../proxy/downstream/tls/tls-certificate.ts';
import type { App } from '../model/resources.ts';
import type { OrderedChange } from '../proxy/downstream/tls/ordered-certificates.ts';
import type { Logger } from '../observe/log.ts';
import type { Settings } from '../settings/settings.ts';
import { isCertificateText } from '../x509/certificate.ts';
import { namesOf, type CertificateWatches } from './listener-certificates.ts';
import type { Parts } from './parts.ts';
import { startError, StartError } from './start-error.ts';

/** Limit of certificates by ACME in the metrics; those that expire first are kept. */
const METRICS_MAX = 100;

/** A function that gives the certificates and challenges for a worker that starts; undefined when ACME is off. */
export function orderedAtStart({ settings, acme }: Parts): (() => OrderedChange) | undefined {
  if (settings.acme === undefined) return undefined;
  return () => acme.service?.whole ?? { certificates: [], httpAnswers: [], alpnAnswers: [] };
}

/** Whether one of the traffic ports speaks TLS. */
export function servesTls({ proxy, acme }: Settings): boolean {
  return proxy.tls !== undefined || acme !== undefined;
}

/**
 * Reads the stored certificates; ordering begins with `start`. Returns a function that stops it.
 */
export async function prepareAcme(
  parts: Parts,
  supervisor: Supervisor,
  cluster: Cluster,
  watches: CertificateWatches,
  readCa: () => string | undefined,
): Promise<() => Promise<void>> {
  const { settings, acme, repository, state, egress, clock, log } = parts;
  if (settings.acme === undefined) return async () => undefined;
  const { AcmeService } = await import('../control/acme/acme-service.ts');
  const questions: PeerQuestions = new PeerQuestions({
    cluster,
    log,
    kind: 'acme',
    answer: async () => {
      await service.look();
      return 'seen';
    },
  });
  const service = new AcmeService({
    settings: settings.acme,
    readCa,
    store: () => repository.acme,
    holder: cluster.selfId,
    leaseMs: settings.cluster.nodeTimeoutMs,
    configVersion: () => state.configVersion,
    apps: () =>
      [...state.appIds()].map((id) => state.appOf(id)).filter((app): app is App => app !== undefined),
    namesInFiles: () => namesOf(watches, 'traffic'),
    publish: (change) => supervisor.updates.setOrdered(change),
    askOthers: async () => {
      const { peers, texts } = await questions.ask('look');
      return peers.filter(({ id }) => !texts.has(id)).length;
    },
    egress,
    clock,
    log,
  });
  await service.load();
  acme.service = service;
  return () => service.stop();
}

/** The certificates of this gateway as the management API shows them. */
export function ownCertificates(parts: Parts, watches: CertificateWatches): OwnCertificates {
  const { settings, acme, log } = parts;
  const names = settings.acme?.names ?? [];
  return {
    list: () => entriesOf(parts, watches),
    areOrdered: settings.acme !== undefined,
    isOrdered: (host) => settings.acme !== undefined && !isWildcardEntry(host) && isAllowed(host, names),
    look: () => {
      acme.service?.announce().catch((error: unknown) => {
        log.debug(
          { err: error },
          'cannot tell other gateways at once that a certificate is needed; they learn it a few seconds later',
        );
      });
    },
  };
}

function entriesOf(
  { settings, acme: { service }, clock }: Parts,
  watches: CertificateWatches,
): CertificateEntry[] {
  const ordered =
    service === undefined || settings.acme === undefined
      ? undefined
      : {
          wanted: service.wanted,
          rows: service.view.rows,
          directory: settings.acme.directory,
          unopenedReplacedAtMs: service.unopenedReplacedAtMs,
        };
  return certificateEntries(watches.facts, ordered, clock.nowMs());
}

/** The facts for problems with ordering; undefined when ACME is off. */
export function acmeFacts(parts: Parts, watches: CertificateWatches): AcmeFacts | undefined {
  const {
    acme: { service },
    clock,
  } = parts;
  if (service === undefined) return undefined;
  const { pause } = service.view;
  return {
    entries: entriesOf(parts, watches),
    directoryProblem: service.directoryProblem,
    isAtLimit: service.isAtLimit,
    pausedReason: isBefore(pause.untilMs, clock.nowMs())
      ? (pause.reason ?? 'the authority asks for it')
      : undefined,
  };
}

/** The certificates by ACME in use that expire first, at most `max` of them. */
export function orderedCertificateFacts(
  { acme: { service }, clock }: Pick<Parts, 'acme' | 'clock'>,
  max: number,
): CertificateFacts[] {
  if (service === undefined) return [];
  const nowMs = clock.nowMs();
  return [...service.view.rows.values()]
    .filter(
      (row) => service.wanted.has(row.name) && !['missing', 'expired'].includes(orderedState(row, nowMs)),
    )
    .map(({ name, valid_from_ms: from, expires_at_ms: end }) => ({
      names: [name],
      validFromMs: from ?? 0,
      expiresAtMs: end ?? 0,
    }))
    .sort((a, b) => a.expiresAtMs - b.expiresAtMs)
    .slice(0, max);
}

export function certificateMetrics(
  parts: Parts,
  watches: CertificateWatches,
): Pick<NodeFacts, 'certificates' | 'acme' | 'orderedCertificates'> {
  return {
    certificates: watches.facts,
    acme: acmeCounts(parts, watches),
    orderedCertificates: orderedCertificateFacts(parts, METRICS_MAX),
  };
}

/** Numbers of certificates and orders; undefined when ACME is off. */
function acmeCounts(parts: Parts, watches: CertificateWatches): AcmeCounts | undefined {
  const { service } = parts.acme;
  if (service === undefined) return undefined;
  const states = new Map<string, number>();
  for (const { source, state } of entriesOf(parts, watches))
    if (source === 'acme') states.set(state, (states.get(state) ?? 0) + 1);
  return { orders: service.results, states };
}

/**
 * Reads the authorities of the directory, and returns a function that reads them again. If the file cannot be used
 * then, the function returns what was read last.
 * @throws StartError if the file cannot be used now
 */
export function acmeAuthorities({ acme }: Settings, log: Logger): () => string | undefined {
  const file = acme?.caFile;
  let known = readCa(file);
  let problem = '';
  return () => {
    try {
      known = readCa(file);
      problem = '';
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== problem)
        log.error(
          { reason },
          'cannot use the new authorities of the ACME directory; the old ones stay in use',
        );
      problem = reason;
    }
    return known;
  };
}

function readCa(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const what = `Cannot read GATEWAY_ACME__CA_FILE "${file}"`;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw startError(what, error);
  }
  if (!isCertificateText(text)) throw new StartError(`${what}: expected certificates in PEM`);
  return text;
}
