/**
 * Compiles single endpoints into a version that is compiled already, so that a change of one costs the same in a
 * version of ten and of ten thousand. Gives new tries and changes nothing: the holder puts them in place. A version
 * that was changed in this way does what one would that is compiled from all of its records.
 */
import type { EndpointChange } from '../model/config.ts';
import { RevisionPolicy, compileEndpoint, sameRequests } from './compile.ts';
import type { AppContext } from './compile.ts';
import { parseEndpointPath } from './path-patterns.ts';
import { addEntry, removeEntry, replaceEntry } from './path-trie-patch.ts';
import { buildPathTrie } from './path-trie.ts';
import type { PathTrie, PathTrieEntry } from './path-trie.ts';
import type { CompiledRevision, CompiledRoute, CompiledVersion, PolicyCompiler } from './types.ts';

type RouteTrie<P> = PathTrie<CompiledRoute<P>>;

/** Entries that may be missing from a trie before it is built anew, whatever its size. */
const REMOVED_MIN = 64;

/**
 * The tries that are to take the places of those of their revisions. Changes of revisions that are not current are
 * passed over. Throws CompileError.
 */
export function compileEndpointChanges<P>(
  app: AppContext<P>,
  version: CompiledVersion<P>,
  changes: readonly EndpointChange[],
  compilePolicy: PolicyCompiler<P>,
): Map<CompiledRevision<P>, RouteTrie<P>> {
  const tries = new Map<CompiledRevision<P>, RouteTrie<P>>();
  for (const change of changes) {
    const revision = version.revisions.find(({ id }) => id === change.revision.id);
    if (revision === undefined) continue;
    const base = new RevisionPolicy(app, change.revision, compilePolicy, revision.inherited);
    const route = change.endpoint && compileEndpoint(version, revision, change.endpoint, base);
    revision.inherited = base.known;
    const trie = tries.get(revision) ?? revision.endpoints;
    tries.set(revision, compacted(version, changed(trie, change, route)));
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

/** Without the nodes that lead to nothing, once they are many. */
function compacted<P>(version: CompiledVersion<P>, trie: RouteTrie<P>): RouteTrie<P> {
  if (trie.removed <= Math.max(REMOVED_MIN, trie.entries.length)) return trie;
  const entries = trie.entries.map((value) => {
    const pattern = parseEndpointPath(value.template.slice(version.gatewayPath.length));
    return { segments: 'error' in pattern ? [] : pattern.segments, value };
  });
  const built = buildPathTrie(entries);
  return 'first' in built ? trie : built;
}
