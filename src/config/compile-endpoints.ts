/**
 * Compiles single endpoints into a version that is already compiled, so that changing one costs the same in a version
 * of ten endpoints and of ten thousand. Returns new tries and changes nothing itself: the holder publishes them. A
 * version changed in this way behaves like one that is compiled from all of its records.
 */
import type { Steps } from './changes/slices.ts';
import type { EndpointChange } from '../model/config.ts';
import { RevisionPolicy, compileEndpoint, sameRequests } from './compile.ts';
import type { AppContext } from './compile.ts';
import { readingsAfter, readInAdvance } from './lookup/lenient-readings.ts';
import { parseEndpointPath } from './path-patterns.ts';
import { addEntry, removeEntry, replaceEntry } from './path-trie-patch.ts';
import { buildPathTrie } from './path-trie.ts';
import type { PathTrie, PathTrieEntry } from './path-trie.ts';
import type { CompiledRevision, CompiledRoute, CompiledVersion, PolicyCompiler } from './types.ts';

type RouteTrie<P> = PathTrie<CompiledRoute<P>>;

/** A trie with fewer removed entries is not rebuilt, whatever its size. */
const REMOVED_MIN = 64;

/**
 * The tries that replace those of their revisions, in steps. Ignores changes of revisions that are not current. Throws
 * CompileError.
 * @param version in use: requests do not replace it meanwhile (in-use.ts)
 */
export function* compileEndpointChanges<P>(
  app: AppContext<P>,
  version: CompiledVersion<P>,
  changes: readonly EndpointChange[],
  compilePolicy: PolicyCompiler<P>,
): Steps<Map<CompiledRevision<P>, RouteTrie<P>>> {
  const tries = new Map<CompiledRevision<P>, RouteTrie<P>>();
  for (const change of changes) {
    const revision = version.revisions.find(({ id }) => id === change.revision.id);
    if (revision === undefined) continue;
    const base = new RevisionPolicy(app, change.revision, compilePolicy, revision.inherited);
    const route = change.endpoint && compileEndpoint(version, revision, change.endpoint, base);
    revision.inherited = base.known;
    const trie = tries.get(revision) ?? revision.endpoints;
    const next = compacted(version, changed(trie, change, route));
    if (next !== trie && next.entries.length > 0) {
      next.lenient = readingsAfter(trie.lenient, change.endpoint?.path);
    }
    tries.set(revision, next);
    yield;
  }
  for (const [revision, trie] of tries) {
    yield* readInAdvance(trie, revision.fallback);
  }
  return tries;
}

function changed<P>(
  trie: RouteTrie<P>,
  { endpointId, revision }: EndpointChange,
  entry: PathTrieEntry<CompiledRoute<P>> | undefined,
): RouteTrie<P> {
  const index = trie.entries.findIndex((route) => route.endpointId === endpointId);
  const old = trie.entries[index];
  if (entry === undefined) return old === undefined ? trie : removeEntry(trie, index);
  const { value } = entry;
  if (old?.template === value.template && old.method === value.method)
    return replaceEntry(trie, index, value);
  const added = addEntry(old === undefined ? trie : removeEntry(trie, index), entry);
  if ('first' in added) throw sameRequests(added, revision);
  return added;
}

/** Rebuilds the trie when many of its nodes lead to no entry. */
function compacted<P>(version: CompiledVersion<P>, trie: RouteTrie<P>): RouteTrie<P> {
  if (trie.removed <= Math.max(REMOVED_MIN, trie.entries.length)) return trie;
  const entries = trie.entries.map((value) => {
    const pattern = parseEndpointPath(value.template.slice(version.gatewayPath.length));
    return { segments: 'error' in pattern ? [] : pattern.segments, value };
  });
  const built = buildPathTrie(entries);
  return 'first' in built ? trie : built;
}
