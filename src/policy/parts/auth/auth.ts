/**
 * Authentication of a route: which credential it accepts, what happens without one or with a bad one, and whether
 * the upstream gets the credential.
 *
 * - `required` (the default): 401. Not required: a valid credential identifies the caller, anything else is
 * anonymous; the reason is kept for the scopes, which may refuse an anonymous caller.
 * - `required_scopes` without any `auth` implies `api_key`.
 * - An API key, valid or not, never reaches the upstream unless `forward_credentials` is true; a verified JWT does
 * unless that is false. On a JWT route an unverified bearer token is not forwarded as if it were verified; on an
 * API-key route a bearer token that is not an API key is left to the upstream.
 * - A JWT that cannot be judged, because no key set could be fetched yet: 503, also when authentication is not
 * required. Treating such a caller as anonymous would answer as if the credential had not been sent.
 * - In shadow mode the request is forwarded unchanged, except that API keys are removed.
 * - If `auth.in` names a field other than Authorization, it contains the bare token (a leading `Bearer` is ignored),
 * and any value is a credential for the gateway: on an API-key route it never reaches the upstream unless
 * `forward_credentials` is true. More than one such field is a bad credential.
 */
import { foldedName } from '../../../lib/folded-name.ts';
import { isApiKey, type ApiKeys } from './api-key.ts';
import type { AuthGuard } from './auth-guard.ts';
import {
  CREDENTIALS_INVALID,
  CREDENTIALS_MISSING,
  KEYS_UNAVAILABLE,
  MISSING_CLAIM,
  type Challenge,
  type CredentialProblem,
} from './auth-reasons.ts';
import { authOf } from './auth-of.ts';
import { tokenStart } from './bearer.ts';
import { challengeOf, credentialPlace } from './credential-place.ts';
import type { PolicyDependencies } from '../../dependencies.ts';
import { compileJwt, missingClaim, type CompiledJwts } from './jwt/jwt.ts';
import { mtlsStage } from './mtls/mtls.ts';
import type { Identity, JwtVerifiers, KeysUnavailable } from './jwt/jwt-verifier.ts';
import type { CompileContext, PartContribution } from '../../part.ts';
import type { AuthPolicy } from './schema.ts';
import type {
  CredentialPlace,
  Denial,
  Evaluation,
  NamedStage,
  RequestFacts,
  Stage,
  StageResult,
} from '../../stage.ts';

/** Shared by all policies of a worker. */
export interface SharedAuth {
  readonly apiKeys: ApiKeys;
  readonly verifiers: JwtVerifiers;
  readonly jwts: CompiledJwts;
  readonly guard: AuthGuard | undefined;
}

/**
 * Identifies the caller, or returns why the credential is refused.
 * @param credential a field value: of the scheme `Bearer`, or the token alone
 */
type Identify = (
  credential: string,
  facts: RequestFacts,
  evaluation: Evaluation,
) => Identity | Promise<Identity>;

interface AuthContext {
  readonly auth: AuthPolicy;
  readonly shadow: boolean;
  readonly place: CredentialPlace | undefined;
  readonly identify: Identify;
  readonly challenge: Challenge;
  /** The result for a request without a credential. */
  readonly missing: Denial;
  readonly guard: AuthGuard | undefined;
  readonly onAuth: PolicyDependencies['onAuth'];
}

/** The stages of authentication, and what a client must not send to the backend. */
export function compileAuth(
  value: AuthPolicy | undefined,
  context: CompileContext<SharedAuth>,
): PartContribution {
  const { effective } = context;
  const auth = authOf(effective.policy);
  const vouched = vouchedAbove(effective.replaced?.['auth'] as readonly AuthPolicy[] | undefined);
  const forwardsApiKeys = value?.forward_credentials === true;
  if (auth === undefined || auth.auth_type === 'none')
    return { data: { managedHeaders: vouched, withheldTrailers: vouched, forwardsApiKeys } };
  return auth.auth_type === 'mtls'
    ? compileCertificates(auth, vouched, context)
    : compileFieldCredential(auth, vouched, context);
}

/** No field carries the credential, and certificates cannot be guessed: there is no guard. */
function compileCertificates(
  auth: AuthPolicy,
  vouched: ReadonlySet<string> | undefined,
  { app, dependencies, inShadow: shadow }: CompileContext<SharedAuth>,
): PartContribution {
  const { mtls } = auth;
  if (mtls === undefined) throw new Error('auth_type "mtls" needs auth.mtls');
  const forwardsApiKeys = auth.forward_credentials === true;
  return {
    stages: [{ part: 'auth', run: mtlsStage(auth, mtls, app, dependencies), shadow }],
    data: { managedHeaders: vouched, withheldTrailers: vouched, forwardsApiKeys },
  };
}

function compileFieldCredential(
  auth: AuthPolicy,
  vouched: ReadonlySet<string> | undefined,
  { app, dependencies, shared, inShadow: shadow }: CompileContext<SharedAuth>,
): PartContribution {
  // A guard that refuses would not be in shadow mode.
  const guard = shadow ? undefined : shared.guard;
  const jwt = auth.auth_type === 'jwt' ? compileJwt(auth, dependencies, shared) : undefined;
  const identify: Identify =
    jwt === undefined
      ? (credential, { nowMs }, evaluation) => shared.apiKeys.identify(credential, app, nowMs, evaluation)
      : (credential, facts) => jwt.identify(credential, facts, app.id);
  const place = credentialPlace(auth);
  const challenge = challengeOf(app, place, auth);
  const missing = { kind: CREDENTIALS_MISSING, data: { challenge, canAuthenticate: true } };
  const { onAuth } = dependencies;
  const stageContext = { auth, shadow, place, identify, challenge, missing, guard, onAuth };
  const stage = place === undefined ? authStage(stageContext) : placedStage(stageContext, place);
  const stages: NamedStage[] = [];
  if (guard !== undefined) stages.push({ part: 'auth_guard', run: guard.stage, shadow: false });
  stages.push({ part: 'auth', run: stage, shadow });
  const managedHeaders = allOf(jwt?.managedHeaders, vouched);
  return {
    stages,
    data: {
      managedHeaders,
      credentialPlace: place,
      withheldTrailers: allOf(managedHeaders, place && new Set([place.foldedName])),
      forwardsApiKeys: auth.forward_credentials === true,
    },
  };
}

/**
 * Fields, as `foldedName` returns them, that the `auth` of a wider level sets: if a more specific level has replaced
 * it, the backend still trusts them.
 */
function vouchedAbove(replaced: readonly AuthPolicy[] | undefined): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  for (const { auth_type: type, jwt } of replaced ?? []) {
    if (type !== 'jwt') continue;
    for (const name of Object.values(jwt?.claims_to_headers ?? {})) names.add(foldedName(name));
  }
  return names.size === 0 ? undefined : names;
}

function allOf(
  some: ReadonlySet<string> | undefined,
  more: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  return some === undefined || more === undefined ? (some ?? more) : new Set([...some, ...more]);
}

function authStage(context: AuthContext): Stage {
  const { auth, missing, onAuth } = context;
  const required = auth.required ?? true;
  return (facts: RequestFacts, evaluation: Evaluation): StageResult | Promise<StageResult> => {
    const authorization = facts.header('authorization');
    const start = authorization === undefined ? 0 : tokenStart(authorization);
    if (authorization === undefined || start === 0) {
      onAuth(required ? 'missing' : 'anonymous');
      return required ? missing : undefined;
    }
    return judge(context, facts, evaluation, authorization);
  };
}

/** The same when the credential is in a field other than Authorization, whose whole value is the credential. */
function placedStage(context: AuthContext, { lowerName }: CredentialPlace): Stage {
  const { auth, missing, onAuth } = context;
  const required = auth.required ?? true;
  return (facts: RequestFacts, evaluation: Evaluation): StageResult | Promise<StageResult> => {
    const credential = facts.combined(lowerName);
    if (credential === undefined || credential === '') {
      onAuth(required ? 'missing' : 'anonymous');
      return required ? missing : undefined;
    }
    // No token contains a comma: it separates the values of several fields, or of a list.
    if (credential.includes(',')) {
      return refuse(context, facts, evaluation, credential, 'repeated_field');
    }
    return judge(context, facts, evaluation, credential);
  };
}

function judge(
  context: AuthContext,
  facts: RequestFacts,
  evaluation: Evaluation,
  credential: string,
): StageResult | Promise<StageResult> {
  const identity = context.identify(credential, facts, evaluation);
  return identity instanceof Promise
    ? identity.then((settled) => conclude(context, facts, evaluation, credential, settled))
    : conclude(context, facts, evaluation, credential, identity);
}

/**
 * Whether a refused credential was meant as an API key: because of its form, because it is an imported key, or because
 * the field can contain nothing else.
 */
function isMeantAsKey({ auth, place }: AuthContext, evaluation: Evaluation, credential: string): boolean {
  if (place !== undefined && auth.auth_type === 'api_key') return true;
  return evaluation.refusedKeyId !== '' || isApiKey(credential.slice(tokenStart(credential)));
}

function conclude(
  context: AuthContext,
  facts: RequestFacts,
  evaluation: Evaluation,
  authorization: string,
  identity: Identity,
): StageResult | Promise<StageResult> {
  const { auth, onAuth } = context;
  if (typeof identity === 'string') return refuse(context, facts, evaluation, authorization, identity);
  if (identity.kind === 'keys_unavailable') return cannotJudge(context, evaluation, authorization, identity);
  // Ends the evaluation; there is no client that could get this answer.
  if (identity.kind === 'request_over') return { kind: KEYS_UNAVAILABLE, data: { retryAfterSecs: 1 } };
  evaluation.caller = identity;
  evaluation.dropCredential = !(auth.forward_credentials ?? identity.kind === 'jwt');
  const claim = missingClaim(auth, identity);
  if (claim === undefined) {
    onAuth(identity.kind);
    return undefined;
  }
  onAuth('forbidden');
  return { kind: MISSING_CLAIM, data: { challenge: context.challenge, claim } };
}

/** Neither valid nor invalid, since the gateway cannot check it; the guard does not count it. */
function cannotJudge(
  context: AuthContext,
  evaluation: Evaluation,
  authorization: string,
  { retryAfterSecs }: KeysUnavailable,
): StageResult {
  const { auth, shadow, onAuth } = context;
  const isKey = isMeantAsKey(context, evaluation, authorization);
  const denial: Denial = { kind: KEYS_UNAVAILABLE, data: { retryAfterSecs } };
  evaluation.authFailure = denial;
  evaluation.dropCredential = auth.forward_credentials !== true && (isKey || !shadow);
  onAuth('unavailable');
  return denial;
}

/** A refused credential: 401, or anonymous if authentication is optional. */
function refuse(
  context: AuthContext,
  facts: RequestFacts,
  evaluation: Evaluation,
  authorization: string,
  problem: CredentialProblem,
): StageResult | Promise<StageResult> {
  const { auth, shadow, challenge, guard, onAuth } = context;
  const required = auth.required ?? true;
  const isKey = isMeantAsKey(context, evaluation, authorization);
  if (!required && !isKey && auth.auth_type === 'api_key') {
    // A bearer token of another kind, which the upstream may understand.
    onAuth('anonymous');
    return undefined;
  }
  const denial: Denial = { kind: CREDENTIALS_INVALID, data: { challenge, problem } };
  evaluation.authFailure = denial;
  evaluation.dropCredential = auth.forward_credentials !== true && (isKey || !shadow);
  onAuth(required ? 'rejected' : 'ignored');
  const verdict = required ? denial : undefined;
  return guard === undefined ? verdict : guard.failed(facts, verdict);
}
