/** Rules and warnings about client certificates that the schema of `auth` cannot express. */
import type { FieldError } from '../../../../model/errors.ts';
import type { FoundWarning, WarningRule } from '../../../part.ts';
import type { AuthPolicy } from '../schema.ts';
import { callerErrors } from './certificate-callers.ts';

/** @param pointer pointer to `auth` */
export function mtlsErrors({ auth_type: type, mtls }: AuthPolicy, pointer: string): FieldError[] {
  if (type !== 'mtls') {
    if (mtls === undefined) return [];
    return [{ pointer: `${pointer}/mtls`, detail: 'is only allowed with auth_type "mtls"' }];
  }
  if (mtls === undefined)
    return [{ pointer: `${pointer}/mtls`, detail: 'is required with auth_type "mtls"' }];
  return callerErrors(mtls.callers ?? [], `${pointer}/mtls/callers`);
}

type Find = WarningRule<AuthPolicy>['find'];

/** For the policies of one level that set mtls themselves. */
function ofOwn(what: (ca: string, facts: Parameters<Find>[2]) => string | undefined): Find {
  return ({ auth_type: type, mtls }, { isOwn, pointer }, facts): FoundWarning[] => {
    if (type !== 'mtls' || mtls === undefined || !isOwn) return [];
    const text = what(mtls.ca, facts);
    return text === undefined ? [] : [{ pointer: `${pointer}/mtls/ca`, what: text }];
  };
}

export const trustWarnings: readonly WarningRule<AuthPolicy>[] = [
  {
    code: 'trusted_certificates_missing',
    title:
      'A policy names trusted certificates that this gateway does not have: every client certificate is refused',
    advice: 'Put the file into the folder of `GATEWAY_PROXY__CLIENT_CAS` on each node',
    find: ofOwn((ca, { trusted }) =>
      trusted === undefined || trusted.names().includes(ca)
        ? undefined
        : `There are no trusted certificates "${ca}" here`,
    ),
  },
  {
    code: 'trusted_certificates_problem',
    title:
      'Trusted certificates that a policy names, or their revocation lists, have expired or cannot be read',
    advice: 'Replace the file in the folder of `GATEWAY_PROXY__CLIENT_CAS`; it is read again when it changes',
    find: ofOwn((ca, { trusted }) => trusted?.problemOf(ca)),
  },
  {
    code: 'mtls_without_tls',
    title: 'A policy asks for client certificates, but the traffic listener does not use TLS',
    advice: 'Set `GATEWAY_PROXY__TLS__CERT_FILE` and `GATEWAY_PROXY__TLS__KEY_FILE`',
    find: ofOwn((_ca, { trusted }) =>
      trusted === undefined || trusted.hasTls() ? undefined : 'No client can present a certificate',
    ),
  },
];
