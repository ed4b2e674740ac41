/** Problems with certificates of the listeners and for backends: expired, expiring soon, or not valid yet. */
import { certificateProblems, problemText, type CertificateUse } from '../certificates/certificate-ends.ts';
import type { CertificateFacts } from '../../proxy/downstream/tls/tls-certificate.ts';
import type { UnusableFiles } from '../certificates/certificates.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import type { TrustLack } from '../certificates/trust-needs.ts';
import type { TrustWatch } from '../certificates/trust-watch.ts';
import { found, type FoundProblem } from './found-problem.ts';
import { counted } from '../../lib/text/counted.ts';

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
  collectors: 'GATEWAY_OTEL__CLIENT_CERT_FILE',
};

/** Beyond this number, the rest is one problem. */
const LACKS_MAX = 50;

export function certificatesToRenew(
  facts: Readonly<Partial<Record<string, readonly CertificateFacts[]>>>,
  nowMs: number,
): FoundProblem[] {
  return (['traffic', 'management', 'backends', 'clients', 'collectors'] as const).flatMap((use) =>
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

export function unusableCertificateProblems(
  unusable: readonly (UnusableFiles & { readonly use: CertificateUse })[],
): FoundProblem[] {
  return unusable.slice(0, LACKS_MAX).map(({ use, text, sinceMs }) => {
    const link = { kind: 'certificates', setting: SETTINGS[use] } as const;
    return found('warning', 'certificate_files_unusable', text, link, sinceMs);
  });
}

/**
 * Certificates for backends that current revisions name and that are missing: without them, no request reaches
 * the backend.
 */
export function clientCertificateProblems(
  state: Pick<ConfigState, 'revisions'>,
  names: readonly string[],
): FoundProblem[] {
  const lacks = new Map<string, string[]>();
  for (const { app, version, revision } of state.revisions()) {
    const name = revision.backend_scheme === 'https' ? revision.backend_tls?.client_certificate : undefined;
    if (name === undefined || !revision.is_current || names.includes(name)) continue;
    const of = `${revision.revision} of ${app.slug} ${version.version}`;
    lacks.set(name, [...(lacks.get(name) ?? []), of]);
  }
  return Array.from(lacks)
    .slice(0, LACKS_MAX)
    .map(([name, [first = '', ...others]]) => {
      const more = others.length === 0 ? '' : ` and of ${others.length} more`;
      const text = `The folder of ${SETTINGS.backends} has no usable files ${name}.crt and ${name}.key: no request reaches the backend of revision ${first}${more}`;
      return found('critical', 'client_certificate_missing', text, {
        kind: 'certificates',
        setting: SETTINGS.backends,
      });
    });
}

/** Problems with the files for the verification of client certificates, except expired certificates. */
export function trustProblems(watch: Pick<TrustWatch, 'unusable' | 'overdue'> | undefined): FoundProblem[] {
  if (watch === undefined) return [];
  const link = { kind: 'certificates', setting: SETTINGS.clients } as const;
  return [
    ...watch.unusable.map((text) => found('warning', 'trusted_certificates_unusable', text, link)),
    ...watch.overdue.map(({ name, sinceMs }) => {
      const text = `A revocation list of "${name}" is overdue: certificates of its issuer are refused, unless the settings say otherwise`;
      return found('critical', 'revocation_list_overdue', text, link, sinceMs);
    }),
  ];
}

/** Files that policies name and that are missing on this gateway or on others. */
export function trustLackProblems(lacks: readonly TrustLack[]): FoundProblem[] {
  const problems = lacks.slice(0, LACKS_MAX).map((lack) => {
    const link = { kind: 'certificates', setting: SETTINGS.clients, node: lack.node } as const;
    const severity = lack.what === 'same_files' ? 'warning' : 'critical';
    return found(severity, LACK_CODES[lack.what], lackText(lack), link);
  });
  const more = lacks.length - problems.length;
  if (more > 0) {
    const text = `${counted(more, 'more file', 'more files')} of trusted certificates for clients ${more === 1 ? 'is missing or differs' : 'are missing or differ'}`;
    const link = { kind: 'certificates', setting: SETTINGS.clients } as const;
    problems.push(found('critical', 'trusted_certificates_missing', text, link));
  }
  return problems;
}

const LACK_CODES = {
  certificates: 'trusted_certificates_missing',
  lists_required: 'revocation_list_missing',
  lists_of_others: 'revocation_list_missing',
  same_files: 'trusted_certificates_differ',
} as const;

export function lackText(lack: TrustLack): string {
  const { name, node } = lack;
  switch (lack.what) {
    case 'certificates':
      return `A policy names the trusted certificates "${name}", and ${node} has no usable file ${name}.crt: it refuses every client certificate there`;
    case 'lists_required':
      return `A policy requires revocation lists of "${name}", and ${node} has no file ${name}.crl: it refuses every client certificate there`;
    case 'lists_of_others':
      return `${node} has no file ${name}.crl, and other gateways have one: certificates that are revoked in it are accepted by ${node}. Copy the file, or set "revocation_lists" of the policies to "required"`;
    case 'same_files':
      return `The files ${name}.crt or ${name}.crl of ${node} are not those of ${lack.other}: what one refuses, the other may accept`;
  }
}
