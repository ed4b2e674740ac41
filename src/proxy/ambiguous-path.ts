/**
 * Ambiguous paths: paths that a backend with a lenient reader (http/paths/lenient-path.ts) could read as another path.
 * The gateway applies the policy of the route that it has matched. If a wildcard, a parameter or the fallback of
 * pass-through mode matched another spelling of a stricter endpoint's path, a lenient backend would answer for that
 * endpoint under the looser policy. So a path is refused when its lenient reading belongs to another route with another
 * policy, to a disabled route, or to another version; see docs/explanation/decisions/ambiguous-paths.md. A path that is
 * registered as it is, without parameter or wildcard, is never refused.
 */
import { canonicalHost, entryFor } from '../http/fields/host-name.ts';
import { isPlainPath, lenientPath } from '../http/paths/lenient-path.ts';
import { inOneTurn } from '../config/changes/slices.ts';
import { lenientReadings, UNIFORM } from '../config/lookup/lenient-readings.ts';
import { findRoute, type LenientReadings } from '../config/path-trie.ts';
import type { CompiledRoute, Snapshot } from '../config/types.ts';

/**
 * The other route that a backend could read the path as, as the end of a sentence; undefined if the path is not
 * ambiguous.
 * @param route that was matched
 * @param path in its comparable spelling
 * @param suffixStart where the part after the gateway path begins
 * @param isPlainAlready the path is known to be plain
 * @param authority of the request
 */
export function ambiguousWith<P>(
  snapshot: Snapshot<P>,
  route: CompiledRoute<P>,
  path: string,
  suffixStart: number,
  method: string,
  isPlainAlready = false,
  authority = '',
): string | undefined {
  if (route.isLiteral) return undefined;
  const { endpoints } = route.revision;
  const isPlain = (isPlainAlready || isPlainPath(path)) && !hasLowerCase(method);
  const { isUniform, byLenientPath } = endpoints.depth > 0 ? readingsOf(route) : UNIFORM;
  if (!isUniform && !(isPlain && byLenientPath === undefined)) {
    const rest = lenientPath(path.slice(suffixStart));
    const asked = method.toUpperCase();
    const alike =
      byLenientPath === undefined
        ? findRoute(endpoints, rest, 0, asked)
        : findRoute(byLenientPath, rest, 0, asked)?.entries.find((each) => differs(each, route));
    if (alike !== undefined && differs(alike, route)) return endpointText(alike);
  }
  return isPlain ? undefined : otherVersion(snapshot, route, path, authority);
}

const HAS_LOWER_CASE = /[a-z]/;

function hasLowerCase(method: string): boolean {
  return method !== 'GET' && method !== 'POST' && HAS_LOWER_CASE.test(method);
}

/** An endpoint overrides a wildcard above it for all of its matches. */
function differs<P>(alike: CompiledRoute<P>, route: CompiledRoute<P>): boolean {
  if (alike.effective === route.effective && alike.active) return false;
  const isAbove = alike.template.endsWith('/*') && route.template.startsWith(alike.template.slice(0, -1));
  return route.endpointId === undefined || !isAbove;
}

function endpointText({ method, template, active }: CompiledRoute<unknown>): string {
  return `endpoint ${method} ${template}, which ${active ? 'has another policy' : 'is disabled'}`;
}

/**
 * A version that comes before this one, by its path or by its hosts. Only that version may reveal what it allows or
 * that it is retired.
 */
function otherVersion<P>(
  snapshot: Snapshot<P>,
  { version }: CompiledRoute<P>,
  path: string,
  authority: string,
): string | undefined {
  const other = snapshot.findVersion(lenientPath(path), authority);
  if (other === undefined || other.id === version.id) return undefined;
  const isDeeper = other.gatewayPath.length > version.gatewayPath.length;
  if (!isDeeper && !namesHostBetter(other.app.hosts, version.app.hosts, authority)) return undefined;
  return `version ${other.label} of ${other.app.slug}`;
}

/** Whether the first of two apps comes before the second for a host; see config/lookup/host-index.ts. */
function namesHostBetter(first: readonly string[], second: readonly string[], authority: string): boolean {
  if (first.length === 0) return false;
  const host = canonicalHost(authority);
  const [entry, other] = [entryFor(first, host), entryFor(second, host)];
  if (entry === undefined || entry === other) return false;
  return other === undefined || entry === host || (other !== host && entry.length > other.length);
}

function readingsOf<P>({ revision }: CompiledRoute<P>): LenientReadings<CompiledRoute<P>> {
  const { endpoints, fallback } = revision;
  return (endpoints.lenient ??= inOneTurn(lenientReadings(endpoints.entries, fallback)));
}
