/** Explains authentication: the value that decided, and how to fix a refused credential. */
import { isKind, operatorDetail, type Reason } from '../../../model/reason.ts';
import type { StoredApiKey } from '../../../model/resources.ts';
import { tokenHash } from '../../../model/token.ts';
import { ofSettings, type DeniedRequest, type PartExplain, type PartFix } from '../../part-explain.ts';
import { requiredScopes } from '../scopes/schema.ts';
import { FAILURES_RULE } from './auth-guard.ts';
import { givenAuth } from './auth-of.ts';
import { CREDENTIALS_INVALID, CREDENTIALS_MISSING, KEYS_UNAVAILABLE, MISSING_CLAIM } from './auth-reasons.ts';
import { tokenStart } from './bearer.ts';
import { CERTIFICATE_INVALID, CERTIFICATE_MISSING, MISDIRECTED } from './mtls/mtls-reasons.ts';
import type { AuthPolicy } from './schema.ts';

export const authExplain: PartExplain<AuthPolicy> = {
  decider: (stage, _value, { own, policy, settings: { authFailuresPerMinute } }) => {
    if (!policy.stages.some(({ part }) => part === stage)) return undefined;
    if (stage === 'auth_guard') return ofSettings({ failures_per_minute: authFailuresPerMinute });
    const source = policy.effective.sources['required_scopes'];
    if (own !== undefined || source === undefined) return own;
    // Scopes without any auth imply API keys.
    return { level: source.level, sourceId: source.id, value: { auth_type: 'api_key' } };
  },
  refusedTokenHash: (code, { credentialPlace }, facts) => {
    if (code !== CREDENTIALS_INVALID.code) return undefined;
    const credential = facts.header(credentialPlace?.lowerName ?? 'authorization');
    return credential === undefined ? undefined : tokenHash(credential.slice(tokenStart(credential)));
  },
  shownCounter: ({ store, id, subject }) =>
    store === 'limits' && id === FAILURES_RULE ? { kind: 'auth_guard', id, subject } : undefined,
  fix: (denial, _value, request) => credentialFix(denial, request),
};

/** @returns undefined if the denial is not about the credential */
export function credentialFix(denial: Reason<unknown, string>, request: DeniedRequest): PartFix | undefined {
  const { policy, app } = request;
  const auth = givenAuth(policy.effective.policy);
  const ofCertificate = certificateFix(denial);
  if (ofCertificate !== undefined) return ofCertificate;
  const isJwt = auth?.auth_type === 'jwt';
  const what = isJwt ? 'a JWT' : `an API key of app ${app?.slug ?? ''}`;
  if (isKind(denial, CREDENTIALS_MISSING)) {
    if (!denial.data.canAuthenticate) return AUTHENTICATE;
    const place = policy.credentialPlace?.name ?? 'Authorization: Bearer';
    const scopes = requiredScopes(policy.effective.policy);
    const holding = scopes.length === 0 ? '' : ` that has ${scopes.join(', ')}`;
    return { action: 'send_credentials', detail: `Send ${place} with ${what}${holding}` };
  }
  const detail = operatorDetail(denial);
  if (isKind(denial, MISSING_CLAIM)) {
    return { action: 'request_token', detail: `Request a JWT with the claim that is missing. ${detail}` };
  }
  const isInvalid = isKind(denial, CREDENTIALS_INVALID);
  if (isKind(denial, KEYS_UNAVAILABLE) || (isInvalid && denial.data.problem === 'no_keys')) {
    return keysFix(auth);
  }
  if (!isInvalid) return undefined;
  const hash = request.refusedTokenHash;
  const key = isJwt || hash === undefined ? undefined : request.findKey(hash);
  return (
    (key && keyFix(key, request)) ?? {
      action: 'replace_credentials',
      detail: `Send ${what} that is valid. ${detail}`,
    }
  );
}

function certificateFix(denial: Reason<unknown, string>): PartFix | undefined {
  if (isKind(denial, MISDIRECTED))
    return {
      action: 'correct_request',
      detail: 'Open a connection for this host, with the name of the host in the TLS handshake',
    };
  if (isKind(denial, CERTIFICATE_MISSING))
    return {
      action: 'send_credentials',
      detail: 'Present a client certificate in the TLS handshake with the gateway',
    };
  if (!isKind(denial, CERTIFICATE_INVALID)) return undefined;
  const { problem, ca } = denial.data;
  if (problem === 'no_caller') {
    const detail = `Add a caller for this certificate to auth.mtls.callers. ${operatorDetail(denial)}`;
    return { action: 'fix_keys', detail, target: { part: 'auth' } };
  }
  if (problem === 'no_trusted_certificates' || problem.includes('revocation_list')) {
    const file = problem === 'no_trusted_certificates' ? `${ca}.crt` : `${ca}.crl`;
    const detail = `Correct the file ${file} in the folder of GATEWAY_PROXY__CLIENT_CAS. ${operatorDetail(denial)}`;
    return { action: 'fix_keys', detail, target: { type: 'setting', id: 'GATEWAY_PROXY__CLIENT_CAS' } };
  }
  return { action: 'replace_credentials', detail: `Present a valid certificate. ${operatorDetail(denial)}` };
}

const AUTHENTICATE: PartFix = {
  action: 'set_policy',
  detail: 'Let the route authenticate callers, because it requires scopes',
  target: { part: 'auth' },
  value: { auth: { auth_type: 'api_key' } },
};

/** No token can be verified, so another one would not help. */
function keysFix(auth: AuthPolicy | undefined): PartFix {
  const uri = auth?.jwt?.jwks_uri;
  const detail =
    uri === undefined
      ? 'Set keys with jwks_uri, jwks or secret in auth.jwt'
      : `Make sure that ${uri} returns keys, or change auth.jwt`;
  return { action: 'fix_keys', detail, target: { part: 'auth' } };
}

/** For a known key that could be valid; undefined for a key of another app. */
function keyFix(key: StoredApiKey, { app, refusedTokenHash, startedMs }: DeniedRequest): PartFix | undefined {
  const target = { type: 'token', id: key.id } as const;
  if (key.app_id !== app?.id) return undefined;
  if (!key.is_active) {
    const detail = `Set is_active of token ${key.name} to true`;
    return { action: 'enable_token', detail, target, value: { is_active: true } };
  }
  if (key.expires_at !== null && Date.parse(key.expires_at) <= startedMs) {
    const detail = `Set expires_at of token ${key.name} to a later time, or to null`;
    return { action: 'extend_token', detail, target, value: { expires_at: null } };
  }
  if (refusedTokenHash !== key.previous_token_hash) return undefined;
  const detail = `Send the new value of token ${key.name}, which was rotated`;
  return { action: 'replace_credentials', detail, target };
}
