/**
 * Paths on the way to a backend: the path that the backend gets for a route, and the parts of the request's path
 * that go into it. Paths are canonical (http/paths/canonical-path.ts), so that the part after the backend's base
 * path contains no dot segments. Pure functions.
 */
import { segmentStart } from '../config/path-trie.ts';
import type { CompiledRoute } from '../config/types.ts';

/**
 * The values of the endpoint's `{name}` segments, still percent-encoded as in the canonical path. Forwarding needs them
 * only where a policy, or the balancing of a revision, names one.
 * @param suffixStart of the match that returned the route
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
 * Index in `path` of the part after the gateway path, if the match used its comparable spelling, where that index is
 * `suffixStart`. Segments correspond one to one, so counting slashes is enough.
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
 * The path that the upstream gets, without the query. It is always below the backend's base path, because the
 * canonical rest contains no dot segments.
 *
 * - `backend_path`, if the endpoint has one: `{name}`s are filled in, and a final `*` stands for what the
 * endpoint's own `*` matched.
 * - Otherwise the path after the gateway path, `/` when there is none; with `strip_gateway_path: false` the
 * full path.
 */
export function upstreamPath<P>(route: CompiledRoute<P>, path: string, suffixStart: number): string {
  const { revision, backendPath, backendParts } = route;
  const base = revision.backend.basePath;
  if (backendParts !== undefined) return base + fillBackendPath(backendParts, path, suffixStart);
  if (backendPath !== undefined) return base + backendPath;
  if (!revision.stripGatewayPath) return base + path;
  if (suffixStart === path.length) return `${base}/`;
  return suffixStart === 0 ? base + path : base + path.slice(suffixStart);
}

/** Values come from a canonical path: they are already encoded, and must not be encoded again. */
export function fillBackendPath(
  parts: readonly (string | number)[],
  path: string,
  suffixStart: number,
): string {
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
