/**
 * Keeps what was left out from opening anything. A route that cannot be carried over, for example for a condition that
 * cannot be expressed here, would leave its requests to a wider route, which may let them pass without the plugins that
 * keep them out. Such a route is imported at all paths that it may match, and is not switched on. A route that takes
 * more paths here is not switched on where these are paths of another one, which keeps them out. Of two routes for
 * other hosts or listeners, which are served everywhere here, the one that keeps requests out comes first. Prefixes
 * that are texts in the other gateway, and whole segments here, are reported where that makes the same difference.
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
  listed,
  literalPrefix,
  pathOf,
  shapeOf,
  waysOf,
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
    return [openings.comingFirst(route, hosts.length === 0), ...openings.closedWhereWider(route)];
  });
}

class Openings {
  /** In the order in which they are tried. */
  readonly #carried: readonly Placed[];
  /** The same by their literal beginnings. */
  readonly #byBeginning: ReadonlyMap<string, readonly Placed[]>;
  /** All, also those that are left out. */
  readonly #all: Places;
  /** Those that no pattern can express. */
  readonly #unexpressed: Places;

  constructor(routes: readonly ImportedRoute[]) {
    const all = routes
      .flatMap((route) => route.patterns.map((pattern) => ({ route, pattern })))
      .sort(byPriority);
    this.#all = new Places(all);
    this.#unexpressed = new Places(
      all.filter(({ route, pattern }) => route.isLeftOut === true && pattern.isWider === true),
    );
    this.#carried = all.filter(({ route }) => route.isLeftOut !== true);
    this.#byBeginning = Map.groupBy(this.#carried, beginningOf);
  }

  /** A route that is left out, at the paths where another one would open it. */
  closed(route: ImportedRoute): ImportedRoute[] {
    const patterns = route.patterns.flatMap((pattern): ImportedPattern[] => {
      const opening = this.#first(
        pattern.segments,
        (wider) => isOpened(pattern, wider.pattern) && opens(wider.route, route),
      );
      if (opening === undefined) return [];
      pattern.node.changed(
        `is not switched on at ${pathOf(pattern.segments)}, and neither is another route there: ${opening.route.label} would let its requests pass without what keeps them out`,
        'a path of its own, and then `activate` of its revisions',
      );
      // Routes with longer paths go on (closedWhereWider).
      return [{ ...pattern, priority: [...opening.pattern.priority, 1] }];
    });
    return patterns.length === 0 ? [] : [{ ...route, patterns, isCurrent: false }];
  }

  /** A copy of the route, not switched on, at the paths that it would take from a route that keeps them out. */
  closedWhereWider(route: ImportedRoute): ImportedRoute[] {
    const patterns = route.patterns.flatMap((pattern): ImportedPattern[] => {
      const byShape = new Map<string, { readonly segments: Segments; readonly kept: Placed }>();
      const others = pattern.isWider === true ? this.#all : this.#unexpressed;
      for (const kept of others.near(pattern.segments)) {
        for (const segments of takenFrom({ route, pattern }, kept))
          byShape.set(shapeOf(segments), { segments, kept });
      }
      const whole = byShape.get(shapeOf(pattern.segments));
      return (whole === undefined ? [...byShape.values()] : [whole]).map(({ segments, kept }) => {
        pattern.node.changed(
          `is not switched on at ${pathOf(segments)}: it would let requests of ${kept.route.label} pass without what keeps them out`,
          'a path of its own, and then `activate` of its revisions',
        );
        return { ...pattern, segments, priority: [...pattern.priority, 1] };
      });
    });
    return patterns.length === 0 ? [] : [{ ...route, patterns, isCurrent: false }];
  }

  /**
   * The route, before routes to the same backend that would open it when its host or listener is no condition.
   * @param isEveryHost whether hosts are no condition
   */
  comingFirst(route: ImportedRoute, isEveryHost: boolean): ImportedRoute {
    const patterns = route.patterns.map((pattern): ImportedPattern => {
      const opening = this.#first(
        pattern.segments,
        (other) =>
          isServedElsewhere(other.route, route, isEveryHost) &&
          byPriority(other, { pattern }) < 0 &&
          isOpened(pattern, other.pattern) &&
          hasSameBackend(other.route, route) &&
          opens(other.route, route),
      );
      if (opening === undefined) return pattern;
      pattern.node.changed(
        `comes before ${opening.route.label}, which would let its requests pass without what keeps them out: both are served under every name, on every listener`,
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
    if (isPlain) return this.#firstOf(beginning, isMeant);
    let first: Placed | undefined;
    for (const placed of this.#all.near(path)) {
      if (placed.route.isLeftOut === true || (first !== undefined && byPriority(placed, first) >= 0))
        continue;
      if (isMeant(placed)) first = placed;
    }
    return first;
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

/** Patterns by their literal beginnings, so that long documents stay quick. */
class Places {
  readonly #byBeginning: ReadonlyMap<string, readonly Placed[]>;
  /** Those that begin so and may go on. */
  readonly #below = new Map<string, Placed[]>();

  constructor(all: readonly Placed[]) {
    this.#byBeginning = Map.groupBy(all, beginningOf);
    for (const placed of all) {
      const beginning = literalPrefix(placed.pattern.segments);
      for (let length = 0; length <= beginning.length; length++) {
        const path = pathOf(beginning.slice(0, length));
        const known = this.#below.get(path);
        if (known === undefined) this.#below.set(path, [placed]);
        else known.push(placed);
      }
    }
  }

  /** Those that may share requests with the path. */
  *near(path: Segments): Iterable<Placed> {
    const beginning = literalPrefix(path);
    for (let length = 0; length < beginning.length; length++)
      yield* this.#byBeginning.get(pathOf(beginning.slice(0, length))) ?? [];
    yield* this.#below.get(pathOf(beginning)) ?? [];
  }
}

function beginningOf({ pattern }: Placed): string {
  return pathOf(literalPrefix(pattern.segments));
}

/** The paths of a route that keeps requests out, and that go to the other one here. */
function takenFrom(taking: Placed, { route, pattern }: Placed): Segments[] {
  const isFirst = byPriority(taking, { pattern }) < 0;
  const isTaken =
    route.isLeftOut === true
      ? taking.pattern.isWider === true || (pattern.isWider === true && !isFirst)
      : taking.pattern.isWider === true && isFirst;
  if (!isTaken || taking.route === route || !opens(taking.route, route)) return [];
  return waysOf(taking.pattern.segments)
    .flatMap((one) => waysOf(pattern.segments).flatMap((other) => listed(intersection(one, other))))
    .filter((path) => !isApart(pattern, path));
}

/** Whether one of the routes is for hosts or listeners that are not those of the other one. */
function isServedElsewhere(one: ImportedRoute, other: ImportedRoute, isEveryHost: boolean): boolean {
  if (isEveryHost && (one.hasHosts === true || other.hasHosts === true)) return true;
  return one.listeners?.join() !== other.listeners?.join();
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

/** Whether the wider pattern takes requests of the other one, and is not just a part of it. */
function isOpened(pattern: ImportedPattern, wider: ImportedPattern): boolean {
  return waysOf(wider.segments).some((way) => {
    const both = intersection(way, pattern.segments);
    if (both === undefined || isApart(pattern, both)) return false;
    return shapeOf(both) !== shapeOf(way) || shapeOf(way) === shapeOf(pattern.segments);
  });
}

/** Whether the pattern is known to be wider than its route at this path. */
function isApart({ matchers = [], excluded = [] }: ImportedPattern, path: Segments): boolean {
  return (
    path.some((segment, index) => isLiteral(segment) && matchers[index]?.test(segment) === false) ||
    excluded.some((one) => covers(one, path))
  );
}

/** Whether the first pattern takes all requests of the other one. */
function covers(one: Segments, path: Segments): boolean {
  return waysOf(path).every((way) =>
    waysOf(one).some((each) =>
      listed(intersection(each, way)).some((both) => shapeOf(both) === shapeOf(way)),
    ),
  );
}

function hasSameBackend(one: ImportedRoute, other: ImportedRoute): boolean {
  const places = new Set(one.backends.map(({ fields }) => placeOf(fields)));
  return other.backends.some(({ fields }) => places.has(placeOf(fields)));
}

function placeOf({ backend_host: host, backend_port: port }: Item): string {
  return `${String(host)} ${String(port)}`;
}
