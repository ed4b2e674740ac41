/**
 * Copies what requests need into neighbouring memory. In a large configuration, compilation and garbage collection
 * scatter the parts of one route over about thirty memory pages, and the first request to a route after a while waits
 * for each. A version is therefore copied when a request first asks for it, and a route when it is first matched: what
 * is in use then lies on few pages, however large the configuration is.
 *
 * The copy replaces the original before it is published, and has equal content; backends that are equal become one
 * object. The holder stores the copies. Owns the backends that were last made so, to find equal ones.
 */
import { ownText } from '../http/latin1.ts';
import { packedNodes, type PathTrie } from './path-trie.ts';
import type { CompiledBackend, CompiledRevision, CompiledRoute, CompiledVersion, Mutable } from './types.ts';

/** Larger tries are not copied: that would take longer than it saves. */
const ENTRIES_COPIED_MAX = 64;
const BACKENDS_MAX = 1_024;

/** By pool key. */
const backends = new Map<string, CompiledBackend>();

/**
 * A copy of the version with everything that a request to it reads, except its routes and policies, in neighbouring
 * memory. Its routes belong to the copy from now on.
 */
export function versionForUse<P>(version: CompiledVersion<P>): CompiledVersion<P> {
  const copy: Mutable<CompiledVersion<P>> = { ...version, isInUse: true };
  copy.gatewayPath = ownText(version.gatewayPath);
  copy.revisions = version.revisions.map((revision) => revisionForUse(copy, revision));
  if (copy.revisions.length === 1) copy.only = copy.revisions[0];
  return copy;
}

function revisionForUse<P>(version: CompiledVersion<P>, revision: CompiledRevision<P>): CompiledRevision<P> {
  const copy: Mutable<CompiledRevision<P>> = { ...revision };
  copy.backend = backendForUse(revision.backend);
  copy.endpoints = trieForUse(revision.endpoints);
  const take = (route: Mutable<CompiledRoute<P>>): void => {
    route.version = version;
    route.revision = copy;
  };
  copy.endpoints.entries.forEach(take);
  if (copy.fallback !== undefined) take(copy.fallback);
  return copy;
}

function backendForUse(backend: CompiledBackend): CompiledBackend {
  const known = backends.get(backend.poolKey);
  if (known !== undefined && isSame(known, backend)) return known;
  if (backends.size >= BACKENDS_MAX) backends.clear();
  const copy = { ...backend };
  backends.set(copy.poolKey, copy);
  return copy;
}

function isSame(a: CompiledBackend, b: CompiledBackend): boolean {
  return (Object.keys(a) as (keyof CompiledBackend)[]).every((name) => a[name] === b[name]);
}

function trieForUse<T extends { readonly method: string }>(trie: PathTrie<T>): PathTrie<T> {
  const { nodes, text, entries } = trie;
  if (entries.length === 0 || entries.length > ENTRIES_COPIED_MAX) return trie;
  return { ...trie, nodes: packedNodes(nodes), text: ownText(text), entries: entries.slice() };
}

/**
 * Returns the route itself when it is in use already, else a copy that replaces it.
 * @param route of a version that is in use
 */
export function routeForUse<P>(route: CompiledRoute<P>): CompiledRoute<P> {
  if (route.isInUse) return route;
  const revision: Mutable<CompiledRevision<P>> = route.revision;
  const copy: CompiledRoute<P> = { ...route, isInUse: true };
  if (revision.fallback === route) revision.fallback = copy;
  else {
    const entries = revision.endpoints.entries as CompiledRoute<P>[];
    const index = entries.indexOf(route);
    if (index < 0) return route;
    entries[index] = copy;
  }
  return copy;
}
