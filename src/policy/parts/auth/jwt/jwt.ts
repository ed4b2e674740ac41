/**
 * JWT authentication of a route: its verifier, the claims that it requires, and the header names that carry claims
 * to the upstream, which clients must therefore not be able to send.
 */
import { foldedName } from '../../../../lib/folded-name.ts';
import type { AuthPolicy } from '../schema.ts';
import type { PolicyDependencies } from '../../../dependencies.ts';
import { ownClaim } from '../../../caller.ts';
import { resolveJwt } from './jwt-settings.ts';
import type { Identity, JwtFacts, JwtVerifiers } from './jwt-verifier.ts';
import type { Caller } from '../../../stage.ts';

export interface CompiledJwt {
  readonly identify: (authorization: string, facts: JwtFacts, appId: string) => Identity | Promise<Identity>;
  /** As `foldedName` returns them; undefined if there are none. */
  readonly managedHeaders: ReadonlySet<string> | undefined;
}

/** What is compiled by value, which many routes may inherit. */
export type CompiledJwts = WeakMap<AuthPolicy, CompiledJwt>;

export function compileJwt(
  auth: AuthPolicy,
  dependencies: PolicyDependencies,
  { verifiers, jwts }: { readonly verifiers: JwtVerifiers; readonly jwts: CompiledJwts },
): CompiledJwt {
  const known = jwts.get(auth);
  if (known !== undefined) return known;
  const made = compileOnce(auth, dependencies, verifiers);
  jwts.set(auth, made);
  return made;
}

function compileOnce(
  auth: AuthPolicy,
  dependencies: PolicyDependencies,
  verifiers: JwtVerifiers,
): CompiledJwt {
  const verification = resolveJwt(auth.jwt, dependencies.jwtDefaults);
  const verifier = verifiers.verifierFor(verification);
  const names = verification.claimHeaders.map(([, header]) => foldedName(header));
  return {
    identify: (authorization, facts, appId) => verifier.identify(authorization, facts, appId),
    managedHeaders: names.length === 0 ? undefined : new Set(names),
  };
}

/** The first of `required_claims` that the caller's token lacks or has as null; undefined if it has all. */
export function missingClaim(auth: AuthPolicy, caller: Caller): string | undefined {
  const required = auth.required_claims;
  if (required === undefined || required.length === 0) return undefined;
  const claims = caller.claims ?? {};
  return required.find((name) => ownClaim(claims, name) === undefined);
}
