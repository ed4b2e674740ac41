/**
 * Which current revisions of a version may serve a request, and why each of the others may not: the only place that
 * decides it, for the match (match.ts), for a retry on another revision (resilience/failover.ts) and for explain.
 *
 * A revision needs a weight, an active route for the method and path, and a circuit breaker that admits requests. To
 * take over a request from a failed revision, it also needs a closed breaker that is not recovering, and a route with
 * the same compiled policy, so that the earlier policy decision is valid for it.
 *
 * Allocates nothing. Owns no state; the result is reused from request to request.
 */
import { findRoute } from '../config/path-trie.ts';
import type { CompiledRevision, CompiledRoute, CompiledVersion } from '../config/types.ts';
import { REVISIONS_MAX } from '../config/weights.ts';

/** Why a revision is not eligible. The reasons from `tried` on concern failover only. */
export type Ineligibility =
  | 'no_weight'
  | 'no_endpoint'
  | 'endpoint_disabled'
  | 'breaker_open'
  | 'tried'
  | 'other_policy'
  | 'encoded_slash'
  | 'breaker_not_closed';

/** By index of the revision in its version. Valid until the next call with the same object. */
export interface EligibleRevisions<P> {
  /** The number of eligible revisions. */
  count: number;
  /** 1: eligible. */
  readonly isEligible: Uint8Array;
  /** For an eligible revision: its share of its usual traffic, above 0 and at most 1. */
  readonly shares: Float64Array;
  /** Some eligible revision has a share below 1. */
  hasPartialShare: boolean;
  /** The route that serves the request, even a disabled one; undefined without a route or weight. */
  readonly routes: (CompiledRoute<P> | undefined)[];
  readonly reasons: (Ineligibility | undefined)[];
}

export function createEligibleRevisions<P>(): EligibleRevisions<P> {
  return {
    count: 0,
    isEligible: new Uint8Array(REVISIONS_MAX),
    shares: new Float64Array(REVISIONS_MAX),
    hasPartialShare: false,
    routes: [],
    reasons: [],
  };
}

/** A request that a revision has failed, which needs another revision. */
export interface FailedOver<P> {
  /** The policy that admitted the request. */
  readonly policy: P;
  /** Revisions that have failed it. */
  readonly tried: readonly CompiledRevision<P>[];
  /** Whether an encoded slash may fill a `backend_path` was checked only for the first route (match.ts). */
  readonly hasEncodedSlash: boolean;
  isBreakerClosed(revision: CompiledRevision<P>): boolean;
}

/**
 * @param path in its comparable spelling (http/paths/canonical-path.ts)
 * @param shareOf from 0 (not available) to 1; asked only of revisions that are eligible otherwise
 * @param out overwritten
 */
export function findEligibleRevisions<P>(
  version: CompiledVersion<P>,
  path: string,
  method: string,
  shareOf: (revision: CompiledRevision<P>) => number,
  out: EligibleRevisions<P>,
  failedOver?: FailedOver<P>,
): void {
  out.count = 0;
  out.hasPartialShare = false;
  const { only, gatewayPath } = version;
  const count = only === undefined ? version.revisions.length : 1;
  for (let index = 0; index < count; index++) {
    const revision = only ?? version.revisions[index]!;
    const hasWeight = revision.weight > 0;
    const route = hasWeight
      ? (findRoute(revision.endpoints, path, gatewayPath.length, method) ?? revision.fallback)
      : undefined;
    let reason = hasWeight ? reasonAgainst(revision, route, failedOver) : 'no_weight';
    if (reason === undefined) {
      const share = shareOf(revision);
      out.shares[index] = share;
      if (share === 0) reason = 'breaker_open';
      else if (share < 1) {
        out.hasPartialShare = true;
        if (failedOver !== undefined) reason = 'breaker_not_closed';
      }
    }
    out.routes[index] = route;
    out.reasons[index] = reason;
    out.isEligible[index] = reason === undefined ? 1 : 0;
    if (reason === undefined) out.count += 1;
  }
}

/** All conditions except the share that the breaker allows. */
function reasonAgainst<P>(
  revision: CompiledRevision<P>,
  route: CompiledRoute<P> | undefined,
  failedOver: FailedOver<P> | undefined,
): Ineligibility | undefined {
  if (route === undefined) return 'no_endpoint';
  if (!route.active) return 'endpoint_disabled';
  if (failedOver === undefined) return undefined;
  if (failedOver.tried.includes(revision)) return 'tried';
  if (route.policy !== failedOver.policy) return 'other_policy';
  if (failedOver.hasEncodedSlash && route.backendParts !== undefined) return 'encoded_slash';
  return failedOver.isBreakerClosed(revision) ? undefined : 'breaker_not_closed';
}
