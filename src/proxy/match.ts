/**
 * From a canonical path and a method to the route that serves the request, and from the route to the path that
 * the upstream sees (contract part 4 "Traffic path"). Runs once per request and allocates nothing on the way to a
 * route.
 *
 * Owns no state: weighted choice is kept by the version (config/weights.ts), breakers are asked through `shareOf`.
 * Of policy it knows only the field of a credential, which decides to which class of traffic a request belongs.
 */
import { canonicalPath } from '../http/paths/canonical-path.ts';
import { climbsOut } from '../http/paths/lenient-path.ts';
import type { ErrorCode } from '../model/errors.ts';
import { givenAuth } from '../policy/parts/auth/auth-of.ts';
import { routeForUse } from '../config/in-use.ts';
import { ambiguousWith } from './ambiguous-path.ts';
import type { CompiledRevision, CompiledRoute, CompiledVersion, Snapshot } from '../config/types.ts';
import { TRAFFIC_CLASSES, type TrafficClass } from '../config/weights.ts';
import {
  createEligibleRevisions,
  findEligibleRevisions,
  type EligibleRevisions,
  type Ineligibility,
} from './eligible-revisions.ts';
import { fillBackendPath } from './upstream-path.ts';

export type MatchErrorCode = ErrorCode &
  (
    | 'no_route'
    | 'version_retired'
    | 'bad_path'
    | 'endpoint_not_found'
    | 'endpoint_disabled'
    | 'no_revision'
    | 'circuit_open'
  );

/** Why a path is `bad_path` for its route. */
export type PathRefusal = 'encoded_slash' | 'encoded_slash_in_value' | 'climbs_out' | 'ambiguous';

/** Reused from request to request; `matchRequest` overwrites all of it. */
export interface MatchResult<P> {
  /** The error; undefined if `route` serves the request. Read it first. */
  code: MatchErrorCode | undefined;
  /** Set with `bad_path`. */
  refusal: PathRefusal | undefined;
  /** With the refusal `ambiguous`: the route that a backend could read the path as; otherwise ''. */
  alike: string;
  /** The version of the path; undefined only with `no_route`. */
  version: CompiledVersion<P> | undefined;
  /**
   * The route; also set with `circuit_open` (a candidate, so that policy can be applied before the 503) and with
   * `endpoint_disabled` (the disabled one).
   */
  route: CompiledRoute<P> | undefined;
  /** Index in the path of the part after the gateway path: a slash, or the path's length. */
  suffixStart: number;
}

export function createMatchResult<P>(): MatchResult<P> {
  return {
    code: undefined,
    refusal: undefined,
    alike: '',
    version: undefined,
    route: undefined,
    suffixStart: 0,
  };
}

/** Access to the fields of a request. */
export interface Fields {
  /** First field value of a lower-case name. */
  get(lowerName: string): string | undefined;
}

/** For tests without breakers. */
export const fullShare = (): number => 1;

/**
 * Finds the route of a request.
 *
 * - Among the versions of the host (config/lookup/host-index.ts), the one with the longest `gateway_path` that is a
 *   whole-segment prefix; a retired version is always 410.
 * - Candidates are the current revisions with a weight that serve method and path. In managed mode those are the
 *   ones whose best matching endpoint is active. In pass-through mode also the ones without a matching endpoint;
 *   a revision whose best match is disabled does not serve the request, and the answer is 404 only when no other
 *   candidate does: clients must not get a 404 for some of their requests.
 * - Among the candidates whose breaker lets requests through, the choice is by weight; when there are candidates but
 *   none of them is available, the code is `circuit_open`. A recovering revision gets a part of its share.
 *
 * @param path canonical, without the query, in its comparable spelling (http/paths/canonical-path.ts)
 * @param shareOf from 0 (not available) to 1; must not change anything, because it is also called for revisions that
 * are then not chosen
 * @param out overwritten
 * @param trafficClass each class of requests is distributed among the revisions separately
 * @param isPlain the path is known to be plain (http/paths/lenient-path.ts)
 * @param fields of the request: if a route has its credential in a field other than Authorization, that field decides
 * whether the request has a credential
 * @param authority of the request, a host with an optional port; '': none
 */
export function matchRequest<P>(
  snapshot: Snapshot<P>,
  path: string,
  hasEncodedSlash: boolean,
  method: string,
  shareOf: (revision: CompiledRevision<P>) => number,
  out: MatchResult<P>,
  trafficClass: TrafficClass = TRAFFIC_CLASSES.bare,
  isPlain = false,
  fields?: Fields,
  authority = '',
): void {
  const version = snapshot.findVersion(path, authority);
  out.version = version;
  out.route = undefined;
  out.code = undefined;
  out.refusal = undefined;
  out.alike = '';
  if (version === undefined) {
    out.suffixStart = 0;
    return fail(out, 'no_route');
  }
  out.suffixStart = version.gatewayPath.length;
  if (version.status === 'retired') return fail(out, 'version_retired');
  if (hasEncodedSlash && !version.app.allowEncodedSlashes) return refusePath(out, 'encoded_slash');
  chooseRoute(version, path, method, shareOf, out, trafficClass, fields);
  if (out.route === undefined || out.code === 'endpoint_disabled') return;
  if (hasEncodedSlash) refuseBadFilling(out, out.route, path);
  if (!isPlain && path.includes('%') && mayClimb(out.route, path, out.suffixStart))
    refusePath(out, 'climbs_out');
  const alike = ambiguousWith(snapshot, out.route, path, out.suffixStart, method, isPlain, authority);
  if (alike === undefined) return;
  refusePath(out, 'ambiguous');
  out.alike = alike;
}

const scratch = createEligibleRevisions<unknown>();

function chooseRoute<P>(
  version: CompiledVersion<P>,
  path: string,
  method: string,
  shareOf: (revision: CompiledRevision<P>) => number,
  out: MatchResult<P>,
  trafficClass: TrafficClass,
  fields: Fields | undefined,
): void {
  const found = scratch as EligibleRevisions<P>;
  findEligibleRevisions(version, path, method, shareOf, found);
  if (found.count === 0) return failWithoutEligible(out, version, found);
  if (version.only !== undefined || version.revisions.length === 1) {
    out.route = routeForUse(found.routes[0] as CompiledRoute<P>);
    return;
  }
  const first = found.routes[firstCandidate(found.reasons)] as CompiledRoute<P>;
  const index = choose(version, found, trafficClassFor(first, trafficClass, fields));
  out.route = routeForUse(found.routes[index] as CompiledRoute<P>);
}

/**
 * Index of the first revision that serves the method and path, regardless of the state of its breaker. There is always
 * one.
 */
function firstCandidate(reasons: readonly (Ineligibility | undefined)[]): number {
  let index = 0;
  while (reasons[index] !== undefined && reasons[index] !== 'breaker_open') index++;
  return index;
}

/** The field of the first candidate decides: policies of candidates seldom differ in it. */
function trafficClassFor(
  { effective }: CompiledRoute<unknown>,
  trafficClass: TrafficClass,
  fields: Fields | undefined,
): TrafficClass {
  const name = givenAuth(effective.policy)?.in;
  if (name === undefined || fields === undefined || trafficClass === TRAFFIC_CLASSES.preflight)
    return trafficClass;
  return fields.get(name.toLowerCase()) === undefined ? TRAFFIC_CLASSES.bare : TRAFFIC_CLASSES.credentialed;
}

/** Index of the revision whose turn it is. */
function choose<P>(
  { choice }: CompiledVersion<P>,
  { isEligible, shares, hasPartialShare }: EligibleRevisions<P>,
  trafficClass: TrafficClass,
): number {
  if (choice === undefined) return isEligible.indexOf(1);
  return hasPartialShare
    ? choice.pickPartly(isEligible, shares, trafficClass)
    : choice.pick(isEligible, trafficClass);
}

/**
 * A value with an encoded slash can make a dot segment with the adjacent text: "x%2F" in "{id}." does. It must not
 * reach a backend that decodes slashes. Without encoded slashes the rules for backend paths exclude it.
 */
function refuseBadFilling<P>(out: MatchResult<P>, route: CompiledRoute<P>, path: string): void {
  if (route.backendParts === undefined) return;
  const filled = fillBackendPath(route.backendParts, path, out.suffixStart);
  if (canonicalPath(filled) !== filled) refusePath(out, 'encoded_slash_in_value');
}

/**
 * A backend that decodes a second time could find dot segments, and leave `backend_base_path` or the version's part of
 * it: through the rest of the path, or through values that are filled into `backend_path`.
 */
function mayClimb<P>({ backendParts }: CompiledRoute<P>, path: string, suffixStart: number): boolean {
  if (climbsOut(path.slice(suffixStart))) return true;
  return backendParts !== undefined && climbsOut(fillBackendPath(backendParts, path, suffixStart));
}

function refusePath<P>(out: MatchResult<P>, refusal: PathRefusal): void {
  out.refusal = refusal;
  fail(out, 'bad_path');
}

function fail<P>(out: MatchResult<P>, code: MatchErrorCode): void {
  out.code = code;
}

/** No revision is eligible: finds the most basic condition that is not met. */
function failWithoutEligible<P>(
  out: MatchResult<P>,
  version: CompiledVersion<P>,
  { reasons, routes }: EligibleRevisions<P>,
): void {
  const found = reasons.slice(0, version.revisions.length);
  const held = found.indexOf('breaker_open');
  const disabled = found.indexOf('endpoint_disabled');
  if (found.every((reason) => reason === 'no_weight')) return fail(out, 'no_revision');
  if (held >= 0) {
    out.route = routeForUse(routes[held] as CompiledRoute<P>);
    return fail(out, 'circuit_open');
  }
  if (disabled < 0) return fail(out, 'endpoint_not_found');
  out.route = routes[disabled];
  fail(out, 'endpoint_disabled');
}
