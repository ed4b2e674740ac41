/**
 * Warnings of policies. Each rule looks at the policy that is in force at one level, merged from the levels above,
 * and speaks of what that level itself says: what is inherited was warned of where it was written. Pure, but for the
 * look at the app's keys.
 */
import { timestamp } from '../../../lib/clock.ts';
import type { EffectivePolicy, PolicyPart } from '../../../model/policy.ts';
import type { App, Endpoint, Revision } from '../../../model/resources.ts';
import { warning, type Warning } from '../../../model/warnings.ts';
import { resolveJwt } from '../../../policy/parts/auth/jwt/jwt-settings.ts';
import { mergePolicy } from '../../../config/merge-policy.ts';
import type { RuleContext } from '../../context.ts';

export interface PolicyView {
  readonly app: App;
  readonly endpoint: Endpoint | undefined;
  readonly effective: EffectivePolicy;
  /** Whether to speak of a part. */
  readonly isOwn: (part: PolicyPart) => boolean;
  /** Pointer of the policy, e.g. `/default_policy`. */
  readonly pointer: string;
}

type Rule = (view: PolicyView, rules: RuleContext) => readonly Warning[] | Promise<readonly Warning[]>;

const RULES: readonly Rule[] = [
  limitNotEnabled,
  jwtWithoutKeys,
  scopesWithoutAuth,
  scopesWithoutHolder,
  limitWithoutCaller,
  corsWithoutOrigins,
  shadowOfNothing,
  methodNotAllowed,
];

/** Of the policy that an app, a revision or an endpoint has been given; the most specific of those named. */
export function policyWarnings(
  app: App,
  revision: Revision | undefined,
  endpoint: Endpoint | undefined,
  rules: RuleContext,
): Promise<Warning[]> {
  const effective = mergePolicy(app, revision, endpoint);
  const { id } = endpoint ?? revision ?? app;
  const pointer = endpoint === undefined ? '/default_policy' : '/policy_override';
  const isOwn = (part: PolicyPart) => effective.sources[part]?.id === id;
  return viewWarnings({ app, endpoint, effective, isOwn, pointer }, rules);
}

export async function viewWarnings(view: PolicyView, rules: RuleContext): Promise<Warning[]> {
  const found: Warning[] = [];
  for (const rule of RULES) found.push(...(await rule(view, rules)));
  return found;
}

/** Saying `enabled: false` is how a limit is switched off; leaving it out is how one is forgotten. */
function limitNotEnabled({ effective, isOwn, pointer }: PolicyView): Warning[] {
  const limit = effective.policy.rate_limit;
  if (!limit || !isOwn('rate_limit') || limit.enabled !== undefined) return [];
  const hasNumbers = [limit.requests, limit.window_seconds, limit.burst].some((field) => field !== undefined);
  if (!hasNumbers) return [];
  const what = 'The rate limit has numbers and is not enabled, so that nothing is limited';
  return [warning('rate_limit_not_enabled', `${pointer}/rate_limit/enabled`, what)];
}

function jwtWithoutKeys({ effective, isOwn, pointer }: PolicyView, { jwtDefaults }: RuleContext): Warning[] {
  const { auth } = effective.policy;
  if (auth?.auth_type !== 'jwt' || !isOwn('auth')) return [];
  const { keys, algorithms } = resolveJwt(auth.jwt, jwtDefaults);
  const isEmpty = keys === undefined || (keys.kind === 'jwks' && keys.keys.length === 0);
  if (!isEmpty && algorithms.length > 0) return [];
  const what = isEmpty
    ? 'There are no keys to verify a JWT with, neither here nor in the settings'
    : 'None of the algorithms fits the keys of the settings';
  return [warning('jwt_without_keys', `${pointer}/auth/jwt`, what)];
}

function scopesWithoutAuth({ effective, isOwn, pointer }: PolicyView): Warning[] {
  const { auth, required_scopes: scopes } = effective.policy;
  if (auth?.auth_type !== 'none' || !scopes || scopes.length === 0) return [];
  const part = isOwn('auth') ? 'auth' : 'required_scopes';
  if (!isOwn(part)) return [];
  const from = effective.sources[part === 'auth' ? 'required_scopes' : 'auth']?.level ?? '';
  const other = part === 'auth' ? `the ${from} requires scopes` : `the ${from} has auth_type "none"`;
  return [warning('scopes_without_auth', `${pointer}/${part}`, `No caller can hold a scope here: ${other}`)];
}

async function scopesWithoutHolder(view: PolicyView, rules: RuleContext): Promise<Warning[]> {
  const { auth, required_scopes: scopes } = view.effective.policy;
  if (!scopes || scopes.length === 0 || !view.isOwn('required_scopes')) return [];
  if (auth && auth.auth_type !== 'api_key') return [];
  const isHeld = await rules.reader.someKeyHasScopes(view.app.id, scopes, timestamp(rules.clock.nowMs()));
  if (isHeld !== false) return [];
  const what = `No active key of the app "${view.app.slug}" has the scopes ${scopes.join(', ')}`;
  return [warning('scopes_without_holder', `${view.pointer}/required_scopes`, what)];
}

/** Asked of endpoints only: below an app or a revision another level may still say who calls. */
function limitWithoutCaller({ effective, isOwn, pointer, endpoint }: PolicyView): Warning[] {
  const { auth, required_scopes: scopes } = effective.policy;
  if (endpoint === undefined) return [];
  const type = auth?.auth_type ?? ((scopes?.length ?? 0) > 0 ? 'api_key' : 'none');
  return (['rate_limit', 'concurrency'] as const).flatMap((part) => {
    const per = effective.policy[part]?.per ?? '';
    const isUnknown = per === 'api_key' ? type === 'none' : per.startsWith('claim:') && type !== 'jwt';
    if (!isUnknown || !isOwn(part)) return [];
    const what = `The route has no caller to count per "${per}", so that each client address is counted`;
    return [warning('limit_without_caller', `${pointer}/${part}/per`, what)];
  });
}

function corsWithoutOrigins({ effective, isOwn, pointer }: PolicyView): Warning[] {
  const { cors } = effective.policy;
  if (!cors || !isOwn('cors') || cors.allowed_origins.length > 0 || Object.keys(cors).length === 1) return [];
  const what = 'No origin is allowed, so that the other fields of cors have no effect';
  return [warning('cors_without_origins', `${pointer}/cors/allowed_origins`, what)];
}

/** Asked of endpoints only: what is tried for an app may be set at any level below. */
function shadowOfNothing({ effective, isOwn, pointer, endpoint }: PolicyView, rules: RuleContext): Warning[] {
  const { policy } = effective;
  if (endpoint === undefined || !isOwn('shadow')) return [];
  return (policy.shadow ?? []).flatMap((part, index) => {
    const isImplied =
      (part === 'auth' && (policy.required_scopes?.length ?? 0) > 0) ||
      (part === 'rate_limit' && rules.policyGlobals !== undefined);
    if (isImplied || policy[part] !== undefined) return [];
    const what = `Neither the endpoint nor a level above it has "${part}"`;
    return [warning('shadow_part_not_set', `${pointer}/shadow/${index}`, what)];
  });
}

/** Of an endpoint's method, whatever level says what is allowed. */
function methodNotAllowed({ effective, isOwn, pointer, endpoint }: PolicyView): Warning[] {
  const allowed = effective.policy.allowed_methods ?? ['*'];
  if (endpoint === undefined || endpoint.method === '*' || allowed.includes('*')) return [];
  const methods = endpoint.method === 'GET' ? ['GET', 'HEAD'] : [endpoint.method];
  if (methods.some((method) => allowed.includes(method))) return [];
  const level = effective.sources.allowed_methods?.level ?? '';
  const what = `The allowed_methods of the ${level} are ${allowed.join(', ')} and leave ${endpoint.method} out`;
  const at = isOwn('allowed_methods') ? `${pointer}/allowed_methods` : '/method';
  return [warning('endpoint_method_not_allowed', at, what)];
}
