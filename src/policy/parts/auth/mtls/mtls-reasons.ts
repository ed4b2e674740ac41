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
  too_many_certificates: 'comes with more than 10 further certificates',
  no_trusted_certificates: 'cannot be verified',
  no_caller: 'fits none of the callers of the policy',
  unknown_issuer: 'leads to no trusted certificate: no certificate of its issuer is trusted or was sent',
  bad_signature: 'is not signed by its issuer',
  expired: 'has expired',
  not_yet_valid: 'is not valid yet',
  revoked: 'is revoked',
  no_revocation_list: 'cannot be looked up: there is no revocation list of its issuer',
  revocation_list_expired: 'cannot be looked up: the revocation list of its issuer is overdue',
  not_for_clients: 'is not for client authentication, by its key usage',
  not_a_ca: 'has issued another one, but is not of a CA',
  path_too_long: 'leads over more certificates than allowed',
  weak_key: 'has a key that is too short, too long, or of an unknown kind',
  weak_signature: 'is signed with an algorithm that is not accepted',
  unknown_constraint: 'has constraints that the gateway does not read',
  too_much_work: 'leads to too many possible issuers',
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
      ? 'The request needs a client certificate, and the connection to the gateway has no TLS: a certificate that a proxy has verified does not count'
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
    `The connection was opened ${serverName === '' ? 'without a server name' : `for "${serverName}"`}, when no certificate of "${ca}" was asked for`,
  sentence: () => 'The request needs a connection of its own: open one for this host',
  endsConnection: true,
};
