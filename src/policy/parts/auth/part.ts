/**
 * The policy part `auth`: API keys, JWTs and client certificates. auth.ts has its stage, and jwt/, mtls/ and api-key.ts
 * have the kinds of credentials.
 */
import { foldedName } from '../../../lib/folded-name.ts';
import type { FieldError } from '../../../model/errors.ts';
import { definePart, type RulesContext, type WarningRule } from '../../part.ts';
import { AUTH_DOCS } from './docs.ts';
import type { PolicyDependencies } from '../../dependencies.ts';
import { createApiKeys } from './api-key.ts';
import { createAuthGuard } from './auth-guard.ts';
import { authOf } from './auth-of.ts';
import { compileAuth, type SharedAuth } from './auth.ts';
import { mayCarryCredential } from './credential-header.ts';
import { authExplain } from './explain.ts';
import { jwtSettingsErrors, PRIVATE_JWK_MEMBERS } from './jwt/jwt-rules.ts';
import { resolveJwt } from './jwt/jwt-settings.ts';
import { createJwtVerifiers } from './jwt/jwt-verifier.ts';
import {
  CERTIFICATE_INVALID_ERROR,
  CERTIFICATE_MISSING_ERROR,
  MISDIRECTED_ERROR,
} from './mtls/mtls-reasons.ts';
import { mtlsErrors, trustWarnings } from './mtls/mtls-rules.ts';
import { AuthSchema, type AuthPolicy } from './schema.ts';

const jwtWithoutKeys: WarningRule<AuthPolicy> = {
  code: 'jwt_without_keys',
  title: 'There are no keys that verify JWTs: every token is refused',
  advice: 'Set `jwks_uri`, `jwks` or `secret`, here or in the settings (`GATEWAY_JWT__JWKS_URI`)',
  find: (auth, { isOwn, pointer }, { jwtDefaults }) => {
    if (auth.auth_type !== 'jwt' || !isOwn) return [];
    const { keys, algorithms } = resolveJwt(auth.jwt, jwtDefaults);
    const isEmpty = keys === undefined || (keys.kind === 'jwks' && keys.keys.length === 0);
    if (!isEmpty && algorithms.length > 0) return [];
    const what = isEmpty
      ? 'There are no keys that verify a JWT, neither here nor in the settings'
      : 'None of the algorithms fits the keys of the settings';
    return [{ pointer: `${pointer}/jwt`, what }];
  },
};

export const AUTH = definePart({
  name: 'auth',
  schema: AuthSchema,
  masked: PRIVATE_JWK_MEMBERS.map((member) => ['jwt', 'jwks', 'keys', { eachBy: 'kid' }, member]),
  docs: AUTH_DOCS,
  off: { example: { auth_type: 'none' }, is: (auth) => auth.auth_type === 'none' },
  mayShadow: true,
  stages: [
    { name: 'auth_guard', phase: 'authentication' },
    { name: 'auth', phase: 'authentication' },
  ],
  errors: [CERTIFICATE_MISSING_ERROR, CERTIFICATE_INVALID_ERROR, MISDIRECTED_ERROR],
  warnings: [jwtWithoutKeys, ...trustWarnings],
  explain: authExplain,
  rules: authErrors,
  isImplied: (policy) => authOf(policy) !== undefined,
  isProtective: true,
  keys: { takesKeys: (policy) => authOf(policy)?.auth_type === 'api_key' },
  trustedFiles: ({ auth_type: type, mtls }) =>
    type !== 'mtls' || mtls === undefined
      ? undefined
      : { ca: mtls.ca, needsLists: mtls.revocation_lists === 'required' },
  share: (dependencies: PolicyDependencies, original: SharedAuth | undefined): SharedAuth => ({
    apiKeys: createApiKeys(dependencies),
    // Verified tokens and key sets do not change decisions.
    verifiers: original?.verifiers ?? createJwtVerifiers(dependencies),
    jwts: original?.jwts ?? new WeakMap(),
    guard: createAuthGuard(dependencies),
  }),
  compile: compileAuth,
});

function authErrors(auth: AuthPolicy, context: RulesContext): FieldError[] {
  const { pointer } = context;
  const errors = [...placeErrors(auth, `${pointer}/in`), ...mtlsErrors(auth, pointer)];
  if (auth.auth_type !== 'jwt') {
    if (auth.jwt !== undefined) {
      errors.push({ pointer: `${pointer}/jwt`, detail: 'is only allowed with auth_type "jwt"' });
    }
    if (auth.required_claims !== undefined && auth.required_claims.length > 0) {
      errors.push({ pointer: `${pointer}/required_claims`, detail: 'is only allowed with auth_type "jwt"' });
    }
    return errors;
  }
  if (auth.jwt !== undefined) errors.push(...jwtSettingsErrors(auth.jwt, `${pointer}/jwt`));
  return [...errors, ...egressErrors(auth, context)];
}

function placeErrors({ auth_type: type, in: name, jwt }: AuthPolicy, pointer: string): FieldError[] {
  if (name === undefined) return [];
  if (type === 'none' || type === 'mtls')
    return [{ pointer, detail: 'is only allowed with auth_type "api_key" or "jwt"' }];
  if (!mayCarryCredential(name)) {
    return [{ pointer, detail: `cannot be the header "${name}": it already has another meaning` }];
  }
  const claim = Object.entries(jwt?.claims_to_headers ?? {}).find(
    ([, header]) => foldedName(header) === foldedName(name),
  );
  if (claim === undefined) return [];
  return [{ pointer, detail: `cannot be the header "${name}": the claim "${claim[0]}" is written to it` }];
}

function egressErrors({ jwt }: AuthPolicy, { pointer, hostDenial }: RulesContext): FieldError[] {
  const url = URL.parse(jwt?.jwks_uri ?? '');
  const denial = url === null ? undefined : hostDenial?.(url.hostname, portOf(url));
  return denial === undefined
    ? []
    : [{ pointer: `${pointer}/jwt/jwks_uri`, detail: `cannot be fetched: ${denial}` }];
}

function portOf({ port, protocol }: URL): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}
