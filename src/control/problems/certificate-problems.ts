/** Certificates of the listeners, and those for backends, that have expired, expire soon, or are not valid yet. */
import { certificateProblems, problemText, type CertificateUse } from '../certificates/certificate-ends.ts';
import type { CertificateFacts } from '../../proxy/downstream/tls/tls-certificate.ts';
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
