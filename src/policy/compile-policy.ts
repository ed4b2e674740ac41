/**
 * Turns an effective policy into its stages, in the one order that the gateway knows: the guard against guessing,
 * authentication (with required claims), scopes, methods, body size, concurrency, rate limits. A part that a route does
 * not use has no stage and costs it nothing; everything that does not depend on the request is worked out here.
 */
import type { EffectivePolicy, Policy, ShadowPart } from '../model/policy.ts';
import type { AppName } from '../model/resources.ts';
import type { PolicyCompiler } from '../config/types.ts';
import { createApiKeys, type ApiKeys } from './parts/auth/api-key.ts';
import { createAuthGuard, type AuthGuard } from './parts/auth/auth-guard.ts';
import { compileAuth } from './parts/auth/auth.ts';
import { compileBodySize } from './parts/body-size/body-size.ts';
import { compileConcurrency } from './parts/concurrency/concurrency-stage.ts';
import { compileCors } from './parts/cors/cors.ts';
import { corsShadowStage } from './parts/cors/cors-shadow.ts';
import type { PolicyDependencies } from './dependencies.ts';
import { readOnlyDependencies, type CounterReads } from './read-only-context.ts';
import { createJwtVerifiers, type JwtVerifiers } from './parts/auth/jwt/jwt-verifier.ts';
import { compileMethods } from './parts/methods/methods.ts';
import { compileRateLimits } from './parts/rate-limit/rate-limit.ts';
import { compileRetries, compileTimeouts } from './resilience.ts';
import { compileScopes } from './parts/scopes/scopes.ts';
import type { CompiledPolicy, NamedStage } from './stage.ts';

/** What all policies of one worker share: caches of credentials, key sets, the guard's rule. */
interface Shared {
  readonly apiKeys: ApiKeys;
  readonly verifiers: JwtVerifiers;
  readonly guard: AuthGuard | undefined;
}

/**
 * @returns a compiler whose policies share one cache of keys, tokens and key sets. It throws an `Error` with a
 *   plain message when an enabled rate limit lacks a value that the settings no longer fill in.
 */
export function createPolicyCompiler(dependencies: PolicyDependencies): PolicyCompiler<CompiledPolicy> {
  return createPolicyCompilers(dependencies).compile;
}

export interface PolicyCompilers {
  readonly compile: PolicyCompiler<CompiledPolicy>;
  /**
   * The same policies, which decide the same but only look: they count, take and report nothing, and note in `reads`
   * which counters they asked. Verified tokens and key sets are those of `compile`.
   */
  readOnly(counterReads: CounterReads): (effective: EffectivePolicy, app: AppName) => CompiledPolicy;
  /** Bytes in which the policies of `compile` remember tokens of API keys; at most TOKEN_MEMORY_BYTES_MAX. */
  tokenMemoryBytes(): number;
}

/** @returns compilers as `createPolicyCompiler` describes */
export function createPolicyCompilers(dependencies: PolicyDependencies): PolicyCompilers {
  const verifiers = createJwtVerifiers(dependencies);
  const compilerFor = (own: PolicyDependencies, apiKeys: ApiKeys) => {
    const shared: Shared = { apiKeys, verifiers, guard: createAuthGuard(own) };
    return (effective: EffectivePolicy, app: AppName) => compilePolicy(effective, app, own, shared);
  };
  const keys = createApiKeys(dependencies);
  return Object.freeze({
    compile: compilerFor(dependencies, keys),
    readOnly: (counterReads: CounterReads) => {
      const own = readOnlyDependencies(dependencies, counterReads);
      return compilerFor(own, createApiKeys(own));
    },
    tokenMemoryBytes: () => keys.tokenMemoryBytes,
  });
}

function compilePolicy(
  effective: EffectivePolicy,
  app: AppName,
  dependencies: PolicyDependencies,
  shared: Shared,
): CompiledPolicy {
  const { policy } = effective;
  const stages: NamedStage[] = [];
  const cors = compileCors(policy.cors);
  const corsInShadow = isShadow(policy, 'cors');
  if (cors !== undefined && corsInShadow) stages.push(corsShadowStage(cors));
  const auth = compileAuth(policy, app, dependencies, shared);
  stages.push(...auth.stages);
  const scopes = compileScopes(policy, app, dependencies);
  if (scopes !== undefined) {
    stages.push({ part: 'required_scopes', run: scopes, shadow: isShadow(policy, 'required_scopes') });
  }
  const methods = compileMethods(policy.allowed_methods);
  if (methods !== undefined) {
    stages.push({ part: 'allowed_methods', run: methods, shadow: isShadow(policy, 'allowed_methods') });
  }
  const bodyInShadow = isShadow(policy, 'max_body_bytes');
  const policyBytes = policy.max_body_bytes ?? 0;
  const maxBodyBytes = bodyInShadow ? 0 : policyBytes;
  const bodySize = compileBodySize(maxBodyBytes || dependencies.maxBodyBytes);
  if (bodySize !== undefined) stages.push(bodySize);
  const concurrency = compileConcurrency(effective, app, dependencies);
  if (concurrency !== undefined) stages.push(concurrency);
  stages.push(...compileRateLimits(effective, app, auth.usesApiKeys, dependencies));
  const managedHeaders = allOf(auth.managedHeaders, effective.vouchedAbove);
  return Object.freeze({
    effective,
    stages: Object.freeze(stages),
    cors: corsInShadow ? undefined : cors,
    maxBodyBytes,
    bufferRequestBytes: policy.buffer_request_bytes ?? 0,
    minBodyBytesPerSec: policy.min_body_bytes_per_sec ?? undefined,
    shadowBodyBytes: bodyInShadow ? policyBytes : 0,
    managedHeaders,
    credentialPlace: auth.place,
    withheldTrailers: allOf(managedHeaders, auth.place && new Set([auth.place.foldedName])),
    forwardsApiKeys: policy.auth?.forward_credentials === true,
    timeouts: compileTimeouts(policy.timeouts),
    retries: compileRetries(policy.retries),
  });
}

function allOf(
  some: ReadonlySet<string> | undefined,
  more: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  return some === undefined || more === undefined ? (some ?? more) : new Set([...some, ...more]);
}

function isShadow(policy: Policy, part: ShadowPart): boolean {
  return policy.shadow?.includes(part) ?? false;
}
