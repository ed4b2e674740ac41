/**
 * Keeps what was left out from opening anything. A route whose condition cannot be expressed here would leave its
 * requests to a wider route, which may let them pass without the plugins that keep them out. Such a route is imported
 * at all paths that it may match, and is not switched on. Of two routes for other hosts, which are served under every
 * name here, the one that keeps requests out comes first. Prefixes of texts, which are whole segments here, are reported
 * where that makes the same difference.
 */
import { isDeepStrictEqual } from 'node:util';
import { PARTS } from '../../policy/registry.ts';
import type { ImportedPattern, ImportedRoute } from './imported-route.ts';
import { HOSTS_ELSEWHERE } from './route-hosts.ts';
import { byPriority } from './route-overlaps.ts';
import {
  intersection,
  isLiteral,
  isParameter,
  literalPrefix,
  pathOf,
  shapeOf,
  type Segments,
} from './route-patterns.ts';

const PROTECTIVE = PARTS.filter(({ isProtective }) => isProtective === true).map(({ name }) => name);

interface Placed {
  readonly route: ImportedRoute;
  readonly pattern: ImportedPattern;
  /** Number of literal segments before the first other one. */
  readonly literals: number;
}

/**
 * Those that are carried over, and those that are left out as far as they keep requests out.
 * @param hosts of the app: without them, hosts of routes are no condition
 */
export function withoutOpenings(routes: readonly ImportedRoute[], hosts: readonly string[]): ImportedRoute[] {
  const carried = routes
    .filter(({ isLeftOut }) => isLeftOut !== true)
    .flatMap((route) => route.patterns.map((pattern): Placed => placed(route, pattern)))
    .sort(byPriority);
  for (const { route, pattern } of carried) if (pattern.isTextPrefix) reportPrefix(route, pattern, carried);
  const ofHosts = hosts.length > 0 ? [] : carried;
  return routes.flatMap((route) =>
    route.isLeftOut === true ? closed(route, carried) : [beforeOpenings(route, ofHosts)],
  );
}

/** The route, before routes to the same backend that would open it when its host is no condition. */
function beforeOpenings(route: ImportedRoute, carried: readonly Placed[]): ImportedRoute {
  const patterns = route.patterns.map((pattern): ImportedPattern => {
    const opening = carried.find(
      (other) =>
        (other.route.hasHosts === true || route.hasHosts === true) &&
        byPriority(other, { pattern }) < 0 &&
        isOpened(pattern.segments, other.pattern.segments) &&
        hasSameBackend(other.route, route) &&
        opens(other.route, route),
    );
    if (opening === undefined) return pattern;
    pattern.node.changed(
      `comes before ${opening.route.label}, which would let its requests pass without what keeps them out: both are served under every name`,
      HOSTS_ELSEWHERE,
    );
    return { ...pattern, priority: [...opening.pattern.priority, 1] };
  });
  return { ...route, patterns };
}

function hasSameBackend(one: ImportedRoute, other: ImportedRoute): boolean {
  const places = new Set(one.backends.map(({ fields }) => placeOf(fields)));
  return other.backends.some(({ fields }) => places.has(placeOf(fields)));
}

function placeOf({ backend_host: host, backend_port: port }: ImportedRoute['revision']): string {
  return `${String(host)} ${String(port)}`;
}

function placed(route: ImportedRoute, pattern: ImportedPattern): Placed {
  return { route, pattern, literals: literalPrefix(pattern.segments).length };
}

function closed(route: ImportedRoute, carried: readonly Placed[]): ImportedRoute[] {
  const patterns = route.patterns.flatMap((pattern): ImportedPattern[] => {
    const path = pattern.segments;
    const opening = carried.find(
      (wider) => isOpened(path, wider.pattern.segments) && opens(wider.route, route),
    );
    if (opening === undefined) return [];
    pattern.node.changed(
      `is not switched on at ${pathOf(path)}, and neither is another route there: ${opening.route.label} would let its requests pass without what keeps them out`,
      'a path of its own, and then `activate` of its revisions',
    );
    // Routes with longer paths go on as they are.
    return [{ ...pattern, priority: [...opening.pattern.priority, 1] }];
  });
  return patterns.length === 0 ? [] : [{ ...route, patterns, isCurrent: false }];
}

/** Whether a route would let requests of the other one pass that the other one keeps out. */
function opens(wider: ImportedRoute, { policy, isCurrent, methods }: ImportedRoute): boolean {
  if (policy === undefined || !wider.isCurrent) return false;
  const isMet = [wider.methods, methods].some((all) => all.includes('*'));
  if (!isMet && !wider.methods.some((method) => methods.includes(method))) return false;
  // Its protection could not be carried over in full.
  if (!isCurrent) return true;
  return PROTECTIVE.some(
    (part) => policy[part] !== undefined && !isDeepStrictEqual(policy[part], wider.policy?.[part]),
  );
}

/** Whether the wider path takes requests of the path, and is not just a part of it. */
function isOpened(path: Segments, wider: Segments): boolean {
  const both = intersection(wider, path);
  if (both === undefined) return false;
  return shapeOf(both) !== shapeOf(wider) || shapeOf(wider) === shapeOf(path);
}

/** `/shop` also matches `/shopping` in the other gateway. */
function reportPrefix(
  route: ImportedRoute,
  { segments, node }: ImportedPattern,
  carried: readonly Placed[],
): void {
  const last = segments.length - 2;
  const name = segments[last];
  if (name === undefined || !isLiteral(name)) return;
  const longer = [...segments.slice(0, last), '{name}', '*'];
  const opening = carried.find((other) => {
    if (other.literals > last) return false;
    const both = intersection(longer, other.pattern.segments)?.[last];
    return other.route !== route && both !== undefined && isParameter(both) && opens(other.route, route);
  });
  if (opening !== undefined)
    node.changed(
      `matches whole segments here: a path that only begins like it reaches ${opening.route.label}, which would let it pass without what keeps it out`,
      'a path for each of them',
    );
}
