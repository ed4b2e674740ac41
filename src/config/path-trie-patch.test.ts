import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endpointShape, parseEndpointPath } from './path-patterns.ts';
import { addEntry, removeEntry, replaceEntry } from './path-trie-patch.ts';
import { buildPathTrie, findRoute, packedNodes } from './path-trie.ts';
import type { PathTrie, PathTrieEntry } from './path-trie.ts';

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly number: number;
}

function entryOf(method: string, path: string, number = 0): PathTrieEntry<Entry> {
  const pattern = parseEndpointPath(path);
  if ('error' in pattern) throw new Error(pattern.error);
  return { segments: pattern.segments, value: { method, path, number } };
}
function built(values: readonly Entry[]): PathTrie<Entry> {
  const trie = buildPathTrie(values.map(({ method, path, number }) => entryOf(method, path, number)));
  if ('first' in trie) throw new Error('conflict');
  return trie;
}

const segment = fc.constantFrom('a', 'b', 'bb', 'c', '{x}', '{y}');
const pattern = fc
  .tuple(fc.array(segment, { maxLength: 4 }), fc.constantFrom('', '/', '/*'))
  .map(([segments, end]) => `${segments.map((each) => `/${each}`).join('')}${end}` || '/')
  .filter((path) => !('error' in parseEndpointPath(path)));
const step = fc.oneof(
  fc.constant({ pack: true } as const),
  { weight: 3, arbitrary: fc.record({ add: fc.tuple(fc.constantFrom('GET', 'POST', '*'), pattern) }) },
  fc.record({ remove: fc.nat() }),
  fc.record({ replace: fc.nat() }),
);
const asked = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', 'bb', 'd'), { maxLength: 5 }), fc.boolean())
  .map(([segments, slash]) => `${segments.map((each) => `/${each}`).join('')}${slash ? '/' : ''}`);

describe('a trie that is changed step by step', () => {
  it('finds the same as a trie that is built from the remaining entries', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.array(asked, { maxLength: 20 }), (steps, paths) => {
        let trie: PathTrie<Entry> = built([]);
        let entries: Entry[] = [];
        for (const [number, each] of steps.entries()) {
          if ('pack' in each) trie = { ...trie, nodes: packedNodes(trie.nodes) };
          else if ('add' in each) {
            const [method, path] = each.add;
            const added = addEntry(trie, entryOf(method, path, number));
            const other = entries.find(
              (entry) => entry.method === method && endpointShape(entry.path) === endpointShape(path),
            );
            expect('first' in added ? added.first : undefined).toEqual(other);
            if ('first' in added) continue;
            trie = added;
            entries.push({ method, path, number });
          } else if (entries.length > 0) {
            const index = ('remove' in each ? each.remove : each.replace) % entries.length;
            const old = trie.entries[index] as Entry;
            const next = { ...old, number };
            trie = 'remove' in each ? removeEntry(trie, index) : replaceEntry(trie, index, next);
            entries = entries.filter((entry) => entry.number !== old.number);
            if ('replace' in each) entries.push(next);
          }
        }
        const scratch = built(entries);
        for (const path of paths) {
          for (const method of ['GET', 'HEAD', 'POST', 'PUT']) {
            expect(findRoute(trie, path, 0, method)).toEqual(findRoute(scratch, path, 0, method));
          }
        }
        expect([...trie.entries].sort((a, b) => a.number - b.number)).toEqual(
          entries.sort((a, b) => a.number - b.number),
        );
      }),
      { numRuns: 700 },
    );
  });

  it('does not change the previous trie', () => {
    const before = built([
      { method: 'GET', path: '/a/{x}', number: 1 },
      { method: 'GET', path: '/b/*', number: 2 },
    ]);
    const copy = structuredClone(before);
    addEntry(before, entryOf('POST', '/a/{x}'));
    addEntry(before, entryOf('GET', '/a/new/*'));
    removeEntry(before, 0);
    replaceEntry(before, 1, { method: 'GET', path: '/b/*', number: 3 });
    expect(before).toEqual(copy);
  });
});
