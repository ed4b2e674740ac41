/**
 * Why a route with `auth_type: mtls` refuses a request. The client learns that its certificate is missing or not
 * accepted; what exactly is wrong with it is for operators.
 */
import { partError } from '../../../../model/errors.ts';
import type { ReasonKind } from '../../../../model/reason.ts';
import type { ChainProblem } from '../../../../x509/verify-chain.ts';

export const CERTIFICATE_MISSING_ERROR = partError('certificate_missing', {
  status: 401,
  title: 'A client certificate is required',
  source: 'downstream',
  retry: 'never',
});

export const CERTIFICATE_INVALID_ERROR = partError('certificate_invalid', {
  status: 401,
  title: 'The client certificate is not accepted',
  source: 'downstream',
  retry: 'never',
});

export const MISDIRECTED_ERROR = partError('misdirected_request', {
  status: 421,
  title: 'The connection may not be used for this host',
  source: 'downstream',
  retry: 'safe',
});

export type CertificateProblem =
  | ChainProblem
  | 'unreadable'
  | 'too_many_certificates'
  | 'no_trusted_certificates'
  | 'no_caller';

const PROBLEMS: Readonly<Record<CertificateProblem, string>> = {
  unreadable: 'cannot be read, is longer than 16 KiB, or has more than 1,000 names',
  too_many_certificates: 'was sent with more than 10 other certificates',
  no_trusted_certificates: 'cannot be verified',
  no_caller: 'matches none of the callers of the policy',
  unknown_issuer:
    'does not lead to a trusted certificate: the certificate of its issuer is not trusted and was not sent',
  bad_signature: 'is not signed by its issuer',
  expired: 'has expired',
  not_yet_valid: 'is not valid yet',
  revoked: 'is revoked',
  no_revocation_list: 'cannot be checked for revocation: there is no revocation list of its issuer',
  revocation_list_expired: 'cannot be checked for revocation: the revocation list of its issuer is overdue',
  not_for_clients: 'must not be used for client authentication, according to its key usage',
  not_a_ca: 'has issued another certificate, but is not a CA certificate',
  path_too_long: 'has a longer path to a trusted certificate than is allowed',
  weak_key: 'has a key that is too short, too long, or of an unknown kind',
  weak_signature: 'is signed with an algorithm that is not accepted',
  unknown_constraint: 'has constraints that the gateway does not support',
  too_much_work: 'has too many possible issuers',
};

interface Realm {
  /** The app's slug. */
  readonly realm: string;
}

const challenge = ({ realm }: Realm): string => `WWW-Authenticate: ClientCertificate realm="${realm}"\r\n`;

export const CERTIFICATE_MISSING: ReasonKind<Realm & { readonly isPlain: boolean }> = {
  code: CERTIFICATE_MISSING_ERROR.code,
  detail: ({ isPlain }) =>
    isPlain
      ? 'The request needs a client certificate, and the connection to the gateway has no TLS; a certificate that a proxy in front of the gateway has verified does not count'
      : 'The request needs a client certificate, and the client has presented none in the TLS handshake',
  sentence: () => 'The request needs a client certificate',
  headerLines: challenge,
};

export interface InvalidCertificate extends Realm {
  readonly problem: CertificateProblem;
  /** Name of the trusted certificates. */
  readonly ca: string;
  /** Names of the certificate with the problem, and of the client's own; '' when they cannot be read. */
  readonly at: string;
  readonly subject: string;
}

export const CERTIFICATE_INVALID: ReasonKind<InvalidCertificate> = {
  code: CERTIFICATE_INVALID_ERROR.code,
  detail: ({ problem, ca, at, subject }) => {
    if (problem === 'no_trusted_certificates')
      return `The client certificate cannot be verified: there are no trusted certificates "${ca}" here`;
    const own = subject === '' ? '' : ` "${subject}"`;
    const whose =
      at === subject
        ? `The client certificate${own}`
        : `"${at}", on the way from the client certificate${own},`;
    return `${whose} ${PROBLEMS[problem]} (trusted certificates "${ca}")`;
  },
  sentence: () => 'The client certificate is not accepted',
  headerLines: challenge,
};

export const MISDIRECTED: ReasonKind<{ readonly ca: string; readonly serverName: string }> = {
  code: MISDIRECTED_ERROR.code,
  detail: ({ ca, serverName }) =>
    `The connection was opened ${serverName === '' ? 'without a server name' : `for "${serverName}"`}, for which no certificate of "${ca}" was requested`,
  sentence: () => 'The request needs another connection: open one for this host',
  endsConnection: true,
};
