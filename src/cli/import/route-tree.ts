/**
 * Builds versions, revisions and endpoints from the routes of another gateway. Each literal prefix becomes a
 * version, each route and backend a revision of it, each method and pattern an endpoint.
 *
 * Other gateways try their routes in order, and the first match serves the request. This gateway selects the longest
 * version, and then all revisions with a matching endpoint. So a version also gets the routes of shorter prefixes
 * that could match in it, and a revision gets disabled endpoints for the requests of routes before it. A route that
 * never gets a request is left out and reported.
 */
import { REVISIONS_MAX } from '../../config/weights.ts';
import type { Entry, ImportedPattern, ImportedRoute, Item } from './imported-route.ts';
import { below, isLiteral, literalPrefix, pathOf, type Segments } from './route-patterns.ts';
import { endpointsOf, type Endpoints } from './route-overlaps.ts';
import type { SourceNode } from './source.ts';
import { withLabel } from './record-labels.ts';

/** Limit of exact paths that become endpoints of the version above them; with more, each becomes a version. */
const EXACT_PER_MOUNT_MAX = 100;

/** Versions by label. Patterns that get no request or cannot be imported are reported. */
export function versionsOf(routes: readonly ImportedRoute[]): Record<string, Item> {
  const mounts = mountsOf(routes);
  const versions: Record<string, Item> = {};
  const used = new Set<SourceNode>();
  for (const [path, own] of [...mounts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const mount = segmentsOf(path);
    const endpoints = endpointsOf([...entriesOf(own, mount), ...inherited(mounts, mount)]);
    const revisions = revisionsOf(endpoints, mount, used);
    if (Object.keys(revisions).length === 0) continue;
    const label = withLabel(versions, path === '/' ? 'root' : mount.join('-'));
    versions[label] = { gateway_path: path, revisions };
  }
  for (const { patterns } of routes) {
    for (const { node } of patterns) {
      if (!used.has(node)) {
        node.lost(
          'gets no request here: another path, of this or another route, comes first, because routes are chosen only by path and method',
          'another path, or a gateway of its own',
        );
      }
    }
  }
  return versions;
}

type Mounts = Map<string, (readonly [ImportedRoute, ImportedPattern])[]>;

function mountsOf(routes: readonly ImportedRoute[]): Mounts {
  const exact = new Map<string, number>();
  const all = routes.flatMap((route) => route.patterns.map((pattern) => [route, pattern] as const));
  for (const [, { segments }] of all) {
    if (!segments.every(isLiteral) || segments.length === 0) continue;
    const parent = pathOf(segments.slice(0, -1));
    exact.set(parent, (exact.get(parent) ?? 0) + 1);
  }
  const mounts: Mounts = new Map();
  for (const placed of all) {
    const [, { segments, node }] = placed;
    let prefix = literalPrefix(segments);
    if (prefix.length === segments.length && prefix.length > 0) {
      if ((exact.get(pathOf(prefix.slice(0, -1))) ?? 0) <= EXACT_PER_MOUNT_MAX) prefix = prefix.slice(0, -1);
      else node.changed('is also answered with a trailing slash');
    }
    // A trailing slash belongs to the part below.
    while (prefix.at(-1) === '') prefix = prefix.slice(0, -1);
    const path = pathOf(prefix);
    const own = mounts.get(path);
    if (own === undefined) mounts.set(path, [placed]);
    else own.push(placed);
  }
  return mounts;
}

function segmentsOf(path: string): Segments {
  return path === '/' ? [] : path.slice(1).split('/');
}

function entriesOf(placed: readonly (readonly [ImportedRoute, ImportedPattern])[], mount: Segments): Entry[] {
  return placed.flatMap(([route, pattern]) => {
    const rest = below(pattern.segments, mount);
    if (rest === undefined) return [];
    // At the mount itself, "/*" also matches the bare mount.
    const isPrefix = rest.length > 1 && rest.at(-1) === '*';
    const ways = isPrefix ? [rest, rest.slice(0, -1)] : [rest];
    return route.methods.flatMap((method) => ways.map((segments) => ({ route, pattern, method, segments })));
  });
}

/** The entries of shorter prefixes that match below the mount. */
function inherited(mounts: Mounts, mount: Segments): Entry[] {
  const entries: Entry[] = [];
  for (let length = mount.length - 1; length >= 0; length--) {
    entries.push(...entriesOf(mounts.get(pathOf(mount.slice(0, length))) ?? [], mount));
  }
  return entries;
}

function revisionsOf(
  routes: ReadonlyMap<ImportedRoute, Endpoints>,
  mount: Segments,
  used: Set<SourceNode>,
): Record<string, Item> {
  const revisions: Record<string, Item> = {};
  let count = 0;
  for (const [route, endpoints] of routes) {
    const kept = endpoints.flatMap(({ entry }) => entry ?? []);
    if (kept.length === 0) continue;
    if (count + route.backends.length > REVISIONS_MAX) {
      for (const { pattern } of kept) {
        pattern.node.lost(`does not fit: a version has at most ${REVISIONS_MAX} revisions`, 'longer paths');
        used.add(pattern.node);
      }
      continue;
    }
    count += route.backends.length;
    for (const { pattern } of kept) used.add(pattern.node);
    const strips = mount.length > 0 && kept.some(({ pattern }) => pattern.drop > 0);
    const written = endpointItems(endpoints, mount, strips);
    for (const backend of route.backends) {
      const suffix = route.backends.length === 1 ? '' : `-${backend.label}`;
      const label = withLabel(revisions, `${route.label}${suffix}`);
      revisions[label] = {
        ...backend.fields,
        // Without stripping, the backend gets the path unchanged, even without a trailing slash.
        ...(!strips && mount.length > 0 && { strip_gateway_path: false }),
        ...route.revision,
        ...(route.isCurrent && { is_current: true }),
        endpoints: written,
      };
    }
  }
  return revisions;
}

const DISABLED: Item = { is_active: false };

function endpointItems(endpoints: Endpoints, mount: Segments, strips: boolean): Record<string, Item> {
  const items: Record<string, Item> = {};
  for (const { label, entry } of endpoints) {
    items[label] = entry === undefined ? DISABLED : endpointItem(entry, mount, strips);
  }
  const whole = endpoints.filter(({ label }) => label.endsWith(' /*'));
  if (!strips || !whole.some(({ entry }) => entry !== undefined && entry.pattern.drop < mount.length))
    return items;
  // "/*" would add a slash to the bare mount that the request does not have.
  for (const { label, entry } of whole) {
    const bare = label.slice(0, -1);
    items[bare] ??=
      entry === undefined ? DISABLED : endpointItem({ ...entry, segments: [''] }, mount, strips);
  }
  return items;
}

function endpointItem({ pattern, segments }: Entry, mount: Segments, strips: boolean): Item {
  const dropped = strips ? mount.length : 0;
  if (pattern.drop === dropped) return {};
  const isBare = segments.length === 1 && segments[0] === '' && pattern.segments.at(-1) !== '';
  const whole = isBare ? mount : [...mount, ...segments];
  return { backend_path: pathOf(whole.slice(pattern.drop)) };
}
