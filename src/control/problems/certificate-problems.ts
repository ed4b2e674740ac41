/** Certificates of the listeners, and those for backends, that have expired, expire soon, or are not valid yet. */
import { certificateProblems, problemText, type CertificateUse } from '../certificates/certificate-ends.ts';
import type { CertificateFacts } from '../../proxy/downstream/tls/tls-certificate.ts';
import type { TrustWatch } from '../certificates/trust-watch.ts';
import { found, type FoundProblem } from './found-problem.ts';

const SEVERITIES = { expired: 'critical', expires_soon: 'warning', not_valid_yet: 'critical' } as const;
const CODES = {
  expired: 'certificate_expired',
  expires_soon: 'certificate_expires_soon',
  not_valid_yet: 'certificate_not_valid_yet',
} as const;
const SETTINGS: Readonly<Record<CertificateUse, string>> = {
  traffic: 'GATEWAY_PROXY__TLS__CERT_FILE',
  management: 'GATEWAY_SERVER__TLS__CERT_FILE',
  backends: 'GATEWAY_PROXY__CLIENT_CERTIFICATES',
  clients: 'GATEWAY_PROXY__CLIENT_CAS',
};

export function certificatesToRenew(
  facts: Readonly<Partial<Record<string, readonly CertificateFacts[]>>>,
  nowMs: number,
): FoundProblem[] {
  return (['traffic', 'management', 'backends', 'clients'] as const).flatMap((use) =>
    certificateProblems(facts[use] ?? [], nowMs).map((problem) =>
      found(
        SEVERITIES[problem.state],
        CODES[problem.state],
        problemText([problem], use) ?? '',
        { kind: 'certificates', setting: SETTINGS[use] },
        problem.state === 'expired' ? problem.facts.expiresAtMs : undefined,
      ),
    ),
  );
}

/** Of what client certificates are verified with, but for the ends of certificates. */
export function trustProblems(watch: Pick<TrustWatch, 'unusable' | 'overdue'> | undefined): FoundProblem[] {
  if (watch === undefined) return [];
  const link = { kind: 'certificates', setting: SETTINGS.clients } as const;
  return [
    ...watch.unusable.map((text) => found('warning', 'trusted_certificates_unusable', text, link)),
    ...watch.overdue.map(({ name, sinceMs }) => {
      const text = `A revocation list of "${name}" is overdue: certificates of its issuer are refused, if the settings do not say otherwise`;
      return found('critical', 'revocation_list_overdue', text, link, sinceMs);
    }),
  ];
}
