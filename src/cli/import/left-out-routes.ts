/**
 * Keeps what was left out from opening anything. A route whose condition cannot be expressed here would leave its
 * requests to a wider route, which may let them pass without the plugins that keep them out. Such a route is imported
 * at all paths that it may match, and is not switched on. Of two routes for other hosts, which are served under every
 * name here, the one that keeps requests out comes first. Prefixes that are texts in the other gateway, and whole
 * segments here, are reported where that makes the same difference.
 */
import { isDeepStrictEqual } from 'node:util';
import { PARTS } from '../../policy/registry.ts';
import type { ImportedPattern, ImportedRoute, Item } from './imported-route.ts';
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
}

/**
 * Those that are carried over, and those that are left out as far as they keep requests out.
 * @param hosts of the app: without them, hosts of routes are no condition
 */
export function withoutOpenings(routes: readonly ImportedRoute[], hosts: readonly string[]): ImportedRoute[] {
  const openings = new Openings(routes);
  openings.reportPrefixes();
  return routes.flatMap((route) => {
    if (route.isLeftOut === true) return openings.closed(route);
    return [hosts.length > 0 ? route : openings.comingFirst(route)];
  });
}

class Openings {
  /** In the order in which they are tried. */
  readonly #carried: readonly Placed[];
  /** The same by their literal beginnings. */
  readonly #byBeginning = new Map<string, Placed[]>();

  constructor(routes: readonly ImportedRoute[]) {
    this.#carried = routes
      .filter(({ isLeftOut }) => isLeftOut !== true)
      .flatMap((route) => route.patterns.map((pattern) => ({ route, pattern })))
      .sort(byPriority);
    for (const placed of this.#carried) {
      const beginning = pathOf(literalPrefix(placed.pattern.segments));
      const known = this.#byBeginning.get(beginning);
      if (known === undefined) this.#byBeginning.set(beginning, [placed]);
      else known.push(placed);
    }
  }

  /** A route that is left out, at the paths where another one would open it. */
  closed(route: ImportedRoute): ImportedRoute[] {
    const patterns = route.patterns.flatMap((pattern): ImportedPattern[] => {
      const opening = this.#first(
        pattern.segments,
        (wider) => isOpened(pattern.segments, wider.pattern.segments) && opens(wider.route, route),
      );
      if (opening === undefined) return [];
      pattern.node.changed(
        `is not switched on at ${pathOf(pattern.segments)}, and neither is another route there: ${opening.route.label} would let its requests pass without what keeps them out`,
        'a path of its own, and then `activate` of its revisions',
      );
      // Routes with longer paths go on as they are.
      return [{ ...pattern, priority: [...opening.pattern.priority, 1] }];
    });
    return patterns.length === 0 ? [] : [{ ...route, patterns, isCurrent: false }];
  }

  /** The route, before routes to the same backend that would open it when its host is no condition. */
  comingFirst(route: ImportedRoute): ImportedRoute {
    const patterns = route.patterns.map((pattern): ImportedPattern => {
      const opening = this.#first(
        pattern.segments,
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

  /** `/shop` also matches `/shopping` in the other gateway. */
  reportPrefixes(): void {
    for (const { route, pattern } of this.#carried) {
      const { segments, node } = pattern;
      const last = segments.length - 2;
      const name = segments[last];
      if (pattern.isTextPrefix !== true || name === undefined || !isLiteral(name)) continue;
      const longer = [...segments.slice(0, last), '{name}', '*'];
      const opening = this.#firstOf(segments.slice(0, last), (other) => {
        const both = intersection(longer, other.pattern.segments)?.[last];
        return other.route !== route && both !== undefined && isParameter(both) && opens(other.route, route);
      });
      if (opening !== undefined)
        node.changed(
          `matches whole segments here: a path that only begins like it reaches ${opening.route.label}, which would let it pass without what keeps it out`,
          'a path for each of them',
        );
    }
  }

  /** The first that takes requests of a path. One that takes only a part of it begins with it. */
  #first(path: Segments, isMeant: (placed: Placed) => boolean): Placed | undefined {
    const beginning = literalPrefix(path);
    const isPlain = path.slice(beginning.length).every((segment) => segment === '*');
    return isPlain ? this.#firstOf(beginning, isMeant) : this.#carried.find(isMeant);
  }

  /** The first of those whose literal beginning is that of the path, or a part of it. */
  #firstOf(literals: Segments, isMeant: (placed: Placed) => boolean): Placed | undefined {
    let first: Placed | undefined;
    for (let length = 0; length <= literals.length; length++) {
      const found = this.#byBeginning.get(pathOf(literals.slice(0, length)))?.find(isMeant);
      if (found !== undefined && (first === undefined || byPriority(found, first) < 0)) first = found;
    }
    return first;
  }
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

function hasSameBackend(one: ImportedRoute, other: ImportedRoute): boolean {
  const places = new Set(one.backends.map(({ fields }) => placeOf(fields)));
  return other.backends.some(({ fields }) => places.has(placeOf(fields)));
}

function placeOf({ backend_host: host, backend_port: port }: Item): string {
  return `${String(host)} ${String(port)}`;
}
