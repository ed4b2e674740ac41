/** Problems with ACME: certificates that could not be ordered, and an authority that cannot be used. */
import type { CertificateEntry } from '../../management/schemas/overview/certificate-schema.ts';
import { found, type FoundProblem } from './found-problem.ts';

const NAMED_MAX = 3;

export interface AcmeFacts {
  readonly entries: readonly CertificateEntry[];
  readonly directoryProblem: string | undefined;
  readonly isAtLimit: boolean;
  readonly pausedReason: string | undefined;
}

export function acmeProblems(facts: AcmeFacts | undefined): FoundProblem[] {
  if (facts === undefined) return [];
  const link = { kind: 'certificates', setting: 'GATEWAY_ACME__DIRECTORY' } as const;
  const problems: FoundProblem[] = [];
  const failing = facts.entries.filter((entry) => entry.source === 'acme' && entry.last_error !== null);
  const unserved = failing.filter(({ state }) => state === 'missing' || state === 'expired');
  for (const [severity, entries] of [
    ['critical', unserved],
    ['warning', failing.filter((entry) => !unserved.includes(entry))],
  ] as const) {
    const [first] = entries;
    if (first === undefined) continue;
    const named = entries.slice(0, NAMED_MAX).map(({ name }) => name);
    const more = entries.length > named.length ? ` and ${entries.length - named.length} more` : '';
    const consequence =
      severity === 'critical' ? 'clients of these names are refused' : 'the present certificates stay in use';
    const detail = `No new certificate for ${named.join(', ')}${more}; ${consequence}. ${first.name}: ${first.last_error}`;
    const sinceMs = first.failed_at === null ? undefined : Date.parse(first.failed_at);
    problems.push(found(severity, 'certificate_order_failed', detail, link, sinceMs));
  }
  const { directoryProblem, pausedReason, isAtLimit } = facts;
  if (directoryProblem !== undefined) {
    const detail = `The ACME directory cannot be used: ${directoryProblem}. The existing certificates stay in use`;
    problems.push(found('warning', 'acme_directory_unavailable', detail, link));
  }
  if (pausedReason !== undefined || isAtLimit) {
    const why = pausedReason ?? 'GATEWAY_ACME__ORDERS_PER_HOUR is reached';
    problems.push(found('info', 'certificate_orders_wait', `Orders for certificates wait: ${why}`, link));
  }
  return problems;
}
