/**
 * Ambiguous paths: paths that a backend with a lenient reader (http/paths/lenient-path.ts) could read as another path.
 * The gateway applies the policy of the route that it has matched. If a wildcard, a parameter or the fallback of
 * pass-through mode matched another spelling of a stricter endpoint's path, a lenient backend would answer for that
 * endpoint under the looser policy. So a path is refused when its lenient reading belongs to another route with another
 * policy, to a disabled route, or to another version; see docs/explanation/decisions/ambiguous-paths.md. A path that is
 * registered as it is, without parameter or wildcard, is never refused.
 *
 * Owns the lenient readings of a revision's endpoints, which their trie keeps (`lenient`).
 */
import { canonicalHost, entryFor } from '../http/fields/host-name.ts';
import { isPlainPath, lenientPath } from '../http/paths/lenient-path.ts';
import {
  buildPathTrie,
  findRoute,
  type Alike,
  type LenientReadings,
  type PathTrie,
  type PathTrieEntry,
} from '../config/path-trie.ts';
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
  const { isUniform, byLenientPath } = endpoints.depth > 0 ? endpointsOf(route) : UNIFORM;
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

/** Shared by all plain paths: a request to any of them needs no other memory. */
const UNIFORM: LenientReadings<never> = { isUniform: true, byLenientPath: undefined };

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

/** Uniform: all endpoints and the fallback are active and have the same policy. */
function endpointsOf<P>({ revision }: CompiledRoute<P>): LenientReadings<CompiledRoute<P>> {
  const { endpoints, fallback } = revision;
  if (endpoints.lenient !== undefined) return endpoints.lenient;
  const routes = fallback === undefined ? endpoints.entries : [...endpoints.entries, fallback];
  const isUniform = routes.every((each) => each.active && each.effective === routes[0]?.effective);
  return (endpoints.lenient = isUniform
    ? UNIFORM
    : { isUniform, byLenientPath: lenientTrie(endpoints.entries) });
}

/** undefined if every endpoint's path is its own lenient reading. */
function lenientTrie<P>(routes: readonly CompiledRoute<P>[]): PathTrie<Alike<CompiledRoute<P>>> | undefined {
  const paths = routes.map(({ template, version }) => template.slice(version.gatewayPath.length));
  if (paths.every((path) => isPlainPath(path.replaceAll(PARAMETER, 'x')))) return undefined;
  const byShape = new Map<string, PathTrieEntry<Alike<CompiledRoute<P>>>>();
  for (const [index, route] of routes.entries()) {
    const segments = lenientSegments(paths[index] ?? '/');
    const key = `${route.method} ${segments.join('/').replaceAll(PARAMETER, '{}')}`;
    const entry = byShape.get(key);
    if (entry === undefined)
      byShape.set(key, { segments, value: { method: route.method, entries: [route] } });
    else entry.value.entries.push(route);
  }
  const trie = buildPathTrie([...byShape.values()]);
  // No two entries have the same method and shape.
  return 'first' in trie ? undefined : trie;
}

const PARAMETER = /\{[^{}/]*\}/g;

/** Lenient reading of an endpoint's literal segments; parameters and a final "*" stay. */
function lenientSegments(path: string): string[] {
  const segments = path
    .slice(1)
    .split('/')
    .flatMap((segment) => {
      if (segment === '*' || segment.startsWith('{')) return [segment];
      const lenient = lenientPath(`/${segment}`).slice(1);
      return lenient === '' ? [] : lenient.split('/');
    });
  return segments.length === 0 ? [''] : segments;
}
