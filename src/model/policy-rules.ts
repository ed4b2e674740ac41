/**
 * Rules of a policy that go over several fields, or over what a field means: what the schema in policy.ts cannot
 * say. Pure and synchronous. Looks at one level's policy at a time: parts that only clash after merging with
 * another level (required_scopes below an `auth_type` of `none`, say) fail closed when they are evaluated.
 */
import { Value } from 'typebox/value';
import { foldedName } from '../lib/folded-name.ts';
import { mayCarryCredential } from './credential-header.ts';
import type { FieldError } from './errors.ts';
import { jwtSettingsErrors } from './jwt-rules.ts';
import { parseOrigin } from './origin.ts';
import { CorsSchema, type AuthPolicy, type CorsPolicy, type Policy, type RateLimitPolicy } from './policy.ts';

/** GATEWAY_RATE_LIMIT_REQUESTS and GATEWAY_RATE_LIMIT_WINDOW_SECS, each where set. */
export interface RateLimitGlobals {
  readonly requests: number | undefined;
  readonly windowSeconds: number | undefined;
}

export interface PolicyRulesContext {
  readonly globals: RateLimitGlobals | undefined;
}

/**
 * Checks a policy that has already passed `PolicySchema`.
 * @param pointerPrefix RFC 6901 pointer of the policy within the request body, e.g. `/default_policy`
 * @returns one entry per broken rule, empty when all hold
 */
export function validatePolicy(
  policy: Policy,
  context: PolicyRulesContext,
  pointerPrefix: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const { auth, required_scopes: scopes, allowed_methods: methods, rate_limit: rateLimit, cors } = policy;
  if (auth) errors.push(...authErrors(auth, `${pointerPrefix}/auth`));
  if (auth?.auth_type === 'none' && scopes && scopes.length > 0) {
    errors.push({
      pointer: `${pointerPrefix}/required_scopes`,
      detail: 'must be empty when auth_type is "none": a caller that is not authenticated holds no scope',
    });
  }
  if (methods) errors.push(...methodErrors(methods, `${pointerPrefix}/allowed_methods`));
  if (rateLimit) errors.push(...validateRateLimit(rateLimit, context, `${pointerPrefix}/rate_limit`));
  for (const part of ['rate_limit', 'concurrency'] as const) {
    const per = policy[part]?.per;
    if (per?.startsWith('claim:') && auth && auth.auth_type !== 'jwt') {
      errors.push({
        pointer: `${pointerPrefix}/${part}/per`,
        detail: `"${per}" needs auth_type "jwt", the policy has "${auth.auth_type}"`,
      });
    }
  }
  if (cors) errors.push(...corsErrors(cors, `${pointerPrefix}/cors`));
  return errors;
}

/** Checks a rate limit by itself: that of a policy, or the plan of an API key. */
export function validateRateLimit(
  rateLimit: RateLimitPolicy,
  context: PolicyRulesContext,
  pointer: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (rateLimit.burst !== undefined && rateLimit.algorithm !== 'token_bucket') {
    errors.push({ pointer: `${pointer}/burst`, detail: 'is only meaningful with algorithm "token_bucket"' });
  }
  if (rateLimit.enabled !== true) return errors;
  if (rateLimit.requests === undefined && context.globals?.requests === undefined) {
    errors.push({
      pointer: `${pointer}/requests`,
      detail: 'is required: the limit is enabled and GATEWAY_RATE_LIMIT_REQUESTS is not set',
    });
  }
  if (rateLimit.window_seconds === undefined && context.globals?.windowSeconds === undefined) {
    errors.push({
      pointer: `${pointer}/window_seconds`,
      detail: 'is required: the limit is enabled and GATEWAY_RATE_LIMIT_WINDOW_SECS is not set',
    });
  }
  return errors;
}

function authErrors(auth: AuthPolicy, pointer: string): FieldError[] {
  const errors = placeErrors(auth, `${pointer}/in`);
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
  return errors;
}

function placeErrors({ auth_type: type, in: name, jwt }: AuthPolicy, pointer: string): FieldError[] {
  if (name === undefined) return [];
  if (type === 'none') return [{ pointer, detail: 'is only allowed with auth_type "api_key" or "jwt"' }];
  if (!mayCarryCredential(name)) {
    return [{ pointer, detail: `cannot be the header "${name}": it has a meaning of its own` }];
  }
  const claim = Object.entries(jwt?.claims_to_headers ?? {}).find(
    ([, header]) => foldedName(header) === foldedName(name),
  );
  if (claim === undefined) return [];
  return [{ pointer, detail: `cannot be the header "${name}": the claim "${claim[0]}" is written to it` }];
}

function methodErrors(methods: readonly string[], pointer: string): FieldError[] {
  if (methods.length === 0) {
    return [{ pointer, detail: 'must name at least one method; ["*"] allows every method' }];
  }
  if (methods.length > 1 && methods.includes('*')) {
    return [{ pointer, detail: '"*" cannot be mixed with other methods' }];
  }
  return [];
}

/** Whether a policy may have this `cors`: schema and rules. */
export function isValidCors(cors: CorsPolicy): boolean {
  return Value.Check(CorsSchema, cors) && corsErrors(cors, '').length === 0;
}

function corsErrors(cors: CorsPolicy, pointer: string): FieldError[] {
  const errors: FieldError[] = [];
  const origins = cors.allowed_origins;
  const anyOrigin = origins.includes('*');
  if (anyOrigin && origins.length > 1) {
    errors.push({ pointer: `${pointer}/allowed_origins`, detail: '"*" cannot be mixed with other origins' });
  }
  if (anyOrigin && cors.allow_credentials === true) {
    errors.push({
      pointer: `${pointer}/allow_credentials`,
      detail: 'cannot be true when allowed_origins is ["*"]: browsers refuse it; list the origins',
    });
  }
  if (cors.allow_credentials === true && origins.includes('null')) {
    errors.push({
      pointer: `${pointer}/allow_credentials`,
      detail:
        'cannot be true when allowed_origins has "null": any page can send that origin, from a sandboxed frame',
    });
  }
  if (cors.allow_credentials === true && cors.expose_headers?.includes('*')) {
    errors.push({
      pointer: `${pointer}/expose_headers`,
      detail: '"*" is no wildcard when allow_credentials is true; list the headers',
    });
  }
  origins.forEach((origin, index) => {
    if (origin === '*' || origin === 'null' || parseOrigin(origin, true) !== undefined) return;
    errors.push({
      pointer: `${pointer}/allowed_origins/${index}`,
      detail:
        'must be "*", "null", or scheme://host[:port] in ASCII and without a path, where the host may be a name ' +
        'below another, as in "https://*.example.com"',
    });
  });
  return errors;
}
