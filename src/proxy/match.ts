/**
 * From a canonical path and a method to the route that serves the request, and from the route to the path that
 * the upstream sees (contract part 4 "Traffic path"; design section 2 "Routing"). Runs once per request and
 * allocates nothing on the way to a route.
 *
 * Owns no state: weighted choice is kept by the version (config/weights.ts), breakers are asked through `shareOf`.
 * Does not look at policy.
 */
import { canonicalPath } from '../http/canonical-path.ts';
import { climbsOut } from '../http/lenient-path.ts';
import type { ErrorCode } from '../model/errors.ts';
import { routeForUse } from '../config/in-use.ts';
import { findRoute, segmentStart } from '../config/path-trie.ts';
import { ambiguousWith } from './ambiguous-path.ts';
import type { CompiledRevision, CompiledRoute, CompiledVersion, Snapshot } from '../config/types.ts';
import { REVISIONS_MAX, TRAFFIC_CLASSES, type TrafficClass } from '../config/weights.ts';

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

/** Why a path is `bad_path` for the route that it leads to. */
export type PathRefusal = 'encoded_slash' | 'encoded_slash_in_value' | 'climbs_out' | 'ambiguous';

/** Reused from request to request; `matchRequest` overwrites all of it. */
export interface MatchResult<P> {
  /** What went wrong; undefined when `route` serves the request. Look at this first. */
  code: MatchErrorCode | undefined;
  /** What an operator is told when there is a `code`, else ''. */
  detail: string;
  /** With `bad_path`. */
  refusal: PathRefusal | undefined;
  /** The version that the path belongs to; undefined only with `no_route`. */
  version: CompiledVersion<P> | undefined;
  /**
   * The route; also set with `circuit_open` (a candidate, so that policy can be applied before the 503) and with
   * `endpoint_disabled` (the disabled one).
   */
  route: CompiledRoute<P> | undefined;
  /** Index in the path at which what follows the gateway path begins: a slash, or the path's length. */
  suffixStart: number;
}

export function createMatchResult<P>(): MatchResult<P> {
  return {
    code: undefined,
    detail: '',
    refusal: undefined,
    version: undefined,
    route: undefined,
    suffixStart: 0,
  };
}

/** What is asked of the fields of a request. */
export interface Fields {
  /** First field value of a lower-case name. */
  get(lowerName: string): string | undefined;
}

/** Where breakers are of no interest: tests. */
export const fullShare = (): number => 1;

/**
 * Finds the route of a request.
 *
 * - The version with the longest `gateway_path` that is a whole-segment prefix; retired is 410 whatever else.
 * - Candidates are the current revisions with a weight that serve method and path. In managed mode those are the
 *   ones whose best matching endpoint is active. In pass-through mode also the ones without a matching endpoint;
 *   a revision whose best match is disabled does not serve the request, and the answer is 404 only when no other
 *   candidate does: clients must not see a 404 by turns.
 * - Among the candidates whose breaker lets requests through, the choice is by weight; when there are candidates
 *   but none of them is available, the code is `circuit_open`. One that is recovering gets a part of its share.
 *
 * @param path canonical, without the query, in its comparable spelling (http/canonical-path.ts)
 * @param shareOf from 0 (not available) to 1; must only look: it is asked for revisions that are then not chosen
 * @param out overwritten
 * @param turns kind of the request, by which revisions are taken in turn
 * @param isPlain the path is known to be plain (http/lenient-path.ts)
 * @param fields of the request: where a route has its credential in a field of its own, that one decides between bare
 *   and credentialed turns
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
): void {
  const version = snapshot.findVersion(path);
  out.version = version;
  out.route = undefined;
  out.code = undefined;
  out.detail = '';
  out.refusal = undefined;
  if (version === undefined) {
    out.suffixStart = 0;
    return fail(out, 'no_route', `No gateway_path is a prefix of ${shown(path)}`);
  }
  out.suffixStart = version.gatewayPath.length;
  if (version.status === 'retired') {
    return fail(out, 'version_retired', `Version ${version.label} of ${version.app.slug} is retired`);
  }
  if (hasEncodedSlash && !version.app.allowEncodedSlashes) {
    const detail = `The path must not contain %2F, since ${version.app.slug} does not allow it`;
    return refusePath(out, 'encoded_slash', detail);
  }
  if (version.revisions.length === 1) matchSingle(version, path, method, shareOf, out);
  else matchWeighted(version, path, method, shareOf, out, trafficClass, fields);
  if (out.route === undefined || out.code === 'endpoint_disabled') return;
  if (hasEncodedSlash) refuseBadFilling(out, out.route, path);
  if (!isPlain && path.includes('%') && mayClimb(out.route, path, out.suffixStart))
    refusePath(out, 'climbs_out', CLIMBS_OUT);
  const alike = ambiguousWith(snapshot, out.route, path, out.suffixStart, method, isPlain);
  if (alike !== undefined) refusePath(out, 'ambiguous', `A backend could take the path for that of ${alike}`);
}

/** The usual case: one current revision. */
function matchSingle<P>(
  version: CompiledVersion<P>,
  path: string,
  method: string,
  shareOf: (revision: CompiledRevision<P>) => number,
  out: MatchResult<P>,
): void {
  const revision = version.revisions[0] as CompiledRevision<P>;
  if (revision.weight === 0) return failWithoutRevision(out, version);
  const route = findRoute(revision.endpoints, path, out.suffixStart, method) ?? revision.fallback;
  if (route === undefined || !route.active) return failWithoutEndpoint(out, route, path, method);
  out.route = routeForUse(route);
  if (shareOf(revision) === 0) failUnavailable(out, version);
}

const routes: (CompiledRoute<unknown> | undefined)[] = [];
const eligible = new Uint8Array(REVISIONS_MAX);
const shares = new Float64Array(REVISIONS_MAX);

/** Several current revisions, or none. */
function matchWeighted<P>(
  version: CompiledVersion<P>,
  path: string,
  method: string,
  shareOf: (revision: CompiledRevision<P>) => number,
  out: MatchResult<P>,
  trafficClass: TrafficClass,
  fields: Fields | undefined,
): void {
  const { revisions } = version;
  let weighted = 0;
  let candidates = 0;
  let available = 0;
  let isPartly = false;
  let disabled: CompiledRoute<P> | undefined;
  let first: CompiledRoute<P> | undefined;
  for (let index = 0; index < revisions.length; index++) {
    const revision = revisions[index] as CompiledRevision<P>;
    routes[index] = undefined;
    eligible[index] = 0;
    if (revision.weight === 0) continue;
    weighted++;
    const route = findRoute(revision.endpoints, path, out.suffixStart, method) ?? revision.fallback;
    if (route === undefined) continue;
    if (!route.active) {
      disabled ??= route;
      continue;
    }
    candidates++;
    first ??= route;
    const share = shareOf(revision);
    if (share === 0) continue;
    if (share < 1) isPartly = true;
    shares[index] = share;
    available++;
    eligible[index] = 1;
    routes[index] = route;
  }
  if (weighted === 0) return failWithoutRevision(out, version);
  if (candidates === 0) return failWithoutEndpoint(out, disabled, path, method);
  out.route = first;
  if (available === 0) return failUnavailable(out, version);
  const kind = first === undefined ? trafficClass : trafficClassFor(first, trafficClass, fields);
  out.route = routeForUse(routes[choose(version, isPartly, kind)] as CompiledRoute<P>);
}

/** The field of the first candidate counts: policies of candidates seldom differ in it. */
function trafficClassFor(
  { effective }: CompiledRoute<unknown>,
  trafficClass: TrafficClass,
  fields: Fields | undefined,
): TrafficClass {
  const name = effective.policy.auth?.in;
  if (name === undefined || fields === undefined || trafficClass === TRAFFIC_CLASSES.preflight)
    return trafficClass;
  return fields.get(name.toLowerCase()) === undefined ? TRAFFIC_CLASSES.bare : TRAFFIC_CLASSES.credentialed;
}

/** The place among those in `eligible`, with their `shares` when not all of these are whole. */
function choose({ choice }: CompiledVersion<unknown>, isPartly: boolean, trafficClass: TrafficClass): number {
  if (choice === undefined) return eligible.indexOf(1);
  return isPartly ? choice.pickPartly(eligible, shares, trafficClass) : choice.pick(eligible, trafficClass);
}

/**
 * A value with an encoded slash can make a dot segment with the text beside it: "x%2F" in "{id}." does. That must
 * not reach a backend that decodes slashes. Without encoded slashes the rules for backend paths exclude it.
 */
function refuseBadFilling<P>(out: MatchResult<P>, route: CompiledRoute<P>, path: string): void {
  if (route.backendParts === undefined) return;
  const filled = fill(route.backendParts, path, out.suffixStart);
  if (canonicalPath(filled) !== filled)
    refusePath(out, 'encoded_slash_in_value', 'The path must not hold an encoded slash there');
}

/**
 * A backend that decodes again what was decoded already could find dot segments, and leave `backend_base_path` or the
 * version's own part of it: by the rest of the path, or by values that are filled into `backend_path`.
 */
function mayClimb<P>({ backendParts }: CompiledRoute<P>, path: string, suffixStart: number): boolean {
  if (climbsOut(path.slice(suffixStart))) return true;
  return backendParts !== undefined && climbsOut(fill(backendParts, path, suffixStart));
}

function refusePath<P>(out: MatchResult<P>, refusal: PathRefusal, detail: string): void {
  out.refusal = refusal;
  fail(out, 'bad_path', detail);
}

function fail<P>(out: MatchResult<P>, code: MatchErrorCode, detail: string): void {
  out.code = code;
  out.detail = detail;
}

function failWithoutRevision<P>(out: MatchResult<P>, version: CompiledVersion<P>): void {
  const name = `version ${version.label} of ${version.app.slug}`;
  if (version.revisions.length === 0) return fail(out, 'no_revision', `No revision of ${name} is current`);
  return fail(out, 'no_revision', `All current revisions of ${name} have traffic_weight 0`);
}

function failWithoutEndpoint<P>(
  out: MatchResult<P>,
  disabled: CompiledRoute<P> | undefined,
  path: string,
  method: string,
): void {
  out.route = disabled;
  if (disabled === undefined)
    return fail(out, 'endpoint_not_found', `No endpoint is registered for ${method} ${shown(path)}`);
  return fail(out, 'endpoint_disabled', `The endpoint ${disabled.method} ${disabled.template} is disabled`);
}

function failUnavailable<P>(out: MatchResult<P>, version: CompiledVersion<P>): void {
  const name = `version ${version.label} of ${version.app.slug}`;
  return fail(out, 'circuit_open', `The backends of ${name} are failing; requests are held back for a while`);
}

const CLIMBS_OUT =
  'The path is ambiguous: a server that decodes it once more could leave the place it belongs to';
const SHOWN_LENGTH_MAX = 200;

function shown(path: string): string {
  return path.length <= SHOWN_LENGTH_MAX ? path : `${path.slice(0, SHOWN_LENGTH_MAX)}…`;
}

/**
 * The values of the endpoint's `{name}` segments, still percent-encoded as in the canonical path. For people who
 * want to see them; forwarding does without.
 * @param suffixStart of the match that gave the route
 */
export function pathParameters<P>(
  route: CompiledRoute<P>,
  path: string,
  suffixStart: number,
): Readonly<Record<string, string>> {
  if (route.endpointId === undefined) return {};
  const pattern = route.template.slice(route.version.gatewayPath.length + 1).split('/');
  const parameters = pattern.flatMap((segment, index) =>
    segment.startsWith('{') ? [[segment.slice(1, -1), segmentAt(path, suffixStart, index)] as const] : [],
  );
  return Object.fromEntries(parameters);
}

/**
 * Where the part after the gateway path begins in `path`, when the match was made on its comparable spelling, of
 * which `suffixStart` is a position. Segments correspond one to one, so counting slashes is enough.
 */
export function suffixStartIn(path: string, comparable: string, suffixStart: number): number {
  if (path === comparable || suffixStart === 0) return suffixStart;
  let end = 0;
  for (let slash = 0; slash >= 0 && slash < suffixStart; slash = comparable.indexOf('/', slash + 1)) {
    const next = path.indexOf('/', end + 1);
    end = next < 0 ? path.length : next;
  }
  return end;
}

/**
 * The path that the upstream sees, without the query: always under the backend's base path, since what is put
 * behind it is canonical and so holds no dot segments.
 *
 * - `backend_path`, if the endpoint has one: `{name}`s filled in; a final `*` takes what the endpoint's own `*`
 *   matched, and without one the path is used as it is.
 * - Else the path after the gateway path, `/` when there is none; with `strip_gateway_path: false` the full path.
 */
export function upstreamPath<P>(route: CompiledRoute<P>, path: string, suffixStart: number): string {
  const { revision, backendPath, backendParts } = route;
  const base = revision.backend.basePath;
  if (backendParts !== undefined) return base + fill(backendParts, path, suffixStart);
  if (backendPath !== undefined) return base + backendPath;
  if (!revision.stripGatewayPath) return base + path;
  if (suffixStart === path.length) return `${base}/`;
  return suffixStart === 0 ? base + path : base + path.slice(suffixStart);
}

/** Values come from a canonical path: they are encoded as they must be, and encoding them again would be wrong. */
function fill(parts: readonly (string | number)[], path: string, suffixStart: number): string {
  let filled = '';
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] as string | number;
    if (typeof part === 'string') filled += part;
    else if (part >= 0) filled += segmentAt(path, suffixStart, part);
    else filled += path.slice(segmentStart(path, suffixStart, -part - 1));
  }
  return filled;
}

function segmentAt(path: string, suffixStart: number, index: number): string {
  const start = segmentStart(path, suffixStart, index);
  const end = path.indexOf('/', start);
  return path.slice(start, end < 0 ? path.length : end);
}
