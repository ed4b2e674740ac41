/**
 * Brings together what requests need. The parts of a large configuration lie where compiling and collections of
 * garbage have left them: those of one route on some thirty pages of memory, and a request that comes to a route for
 * the first time in a while waits for each. So a version is made anew when a request first asks for it, and a route
 * when it is first matched: what is in use then lies on few pages, whatever else is configured.
 *
 * The copy replaces the original before it is published, and says the same. Owns nothing; who
 * keeps versions puts the copy in place.
 */
import { ownText } from '../http/latin1.ts';
import type { PathTrie } from './path-trie.ts';
import type { CompiledRevision, CompiledRoute, CompiledVersion } from './types.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Larger tries are taken over as they are: copying would take longer than it saves. */
const ENTRIES_COPIED_MAX = 64;

/**
 * The version with all that a request to it reads, but for its routes and policies, in memory next to each other. Its
 * routes are of the copy from now on.
 */
export function versionForUse<P>(version: CompiledVersion<P>): CompiledVersion<P> {
  const copy: Mutable<CompiledVersion<P>> = { ...version, isInUse: true };
  copy.gatewayPath = ownText(version.gatewayPath);
  copy.revisions = version.revisions.map((revision) => revisionForUse(copy, revision));
  return copy;
}

function revisionForUse<P>(version: CompiledVersion<P>, revision: CompiledRevision<P>): CompiledRevision<P> {
  const copy: Mutable<CompiledRevision<P>> = { ...revision };
  copy.backend = { ...revision.backend };
  copy.endpoints = trieForUse(revision.endpoints);
  const take = (route: Mutable<CompiledRoute<P>>): void => {
    route.version = version;
    route.revision = copy;
  };
  copy.endpoints.entries.forEach(take);
  if (copy.fallback !== undefined) take(copy.fallback);
  return copy;
}

function trieForUse<T extends { readonly method: string }>(trie: PathTrie<T>): PathTrie<T> {
  const { nodes, text, entries } = trie;
  if (entries.length === 0 || entries.length > ENTRIES_COPIED_MAX) return trie;
  return { ...trie, nodes: nodes.slice(), text: ownText(text), entries: entries.slice() };
}

/**
 * The route itself when it is in use already, else a copy that is in its place from now on.
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
