import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PATH_SEGMENTS_MAX, endpointShape, parseEndpointPath } from './path-patterns.ts';
import { buildPathTrie, findRoute, segmentStart } from './path-trie.ts';
import type { PathTrie, PathTrieEntry } from './path-trie.ts';

interface Entry {
  readonly method: string;
  readonly path: string;
}

function toEntry(text: string): PathTrieEntry<Entry> {
  const [method = '', path = ''] = text.split(' ');
  const pattern = parseEndpointPath(path);
  if ('error' in pattern) throw new Error(pattern.error);
  return { segments: pattern.segments, value: { method, path } };
}

function trieOf(...texts: string[]): PathTrie<Entry> {
  const trie = buildPathTrie(texts.map(toEntry));
  if ('first' in trie) throw new Error('conflict');
  return trie;
}

function find(trie: PathTrie<Entry>, method: string, path: string, from = 0): string | undefined {
  const found = findRoute(trie, path, from, method);
  return found === undefined ? undefined : `${found.method} ${found.path}`;
}

/**
 * How a pattern matches a path: one rank per segment (2 literal, 1 parameter, 0 the final `*`); undefined: no match.
 */
function ranksOf(pattern: string, path: string): number[] | undefined {
  const wanted = pattern.slice(1).split('/');
  const given = path === '' ? [''] : path.slice(1).split('/');
  const ranks: number[] = [];
  for (const [index, segment] of wanted.entries()) {
    const value = given[index];
    if (value === undefined) return undefined;
    if (segment === '*') return [...ranks, 0];
    if (segment.startsWith('{')) {
      if (value === '') return undefined;
      ranks.push(1);
    } else if (segment === value) ranks.push(2);
    else return undefined;
  }
  return given.length === wanted.length ? ranks : undefined;
}

/**
 * The slow, obvious implementation: matches every pattern, then picks the best by rank from left to right, then by
 * method.
 */
function slowFind(entries: readonly string[], method: string, path: string): string | undefined {
  const methodRank = (text: string): number => {
    const own = text.split(' ')[0];
    if (own === method) return 3;
    if (own === 'GET' && method === 'HEAD') return 2;
    return own === '*' ? 1 : 0;
  };
  const fitting = entries
    .map((text) => ({ text, ranks: ranksOf(text.split(' ')[1] as string, path), method: methodRank(text) }))
    .filter((each) => each.ranks !== undefined && each.method > 0);
  fitting.sort((a, b) => {
    const left = a.ranks as number[];
    const right = b.ranks as number[];
    for (let index = 0; index < Math.min(left.length, right.length); index++) {
      const difference = (right[index] as number) - (left[index] as number);
      if (difference !== 0) return difference;
    }
    return b.method - a.method;
  });
  return fitting[0]?.text;
}

describe('findRoute', () => {
  it.each<[string, string[], string, string, string | undefined]>([
    ['finds a literal path', ['GET /a/b'], 'GET', '/a/b', 'GET /a/b'],
    ['treats a trailing slash as part of the path', ['GET /a'], 'GET', '/a/', undefined],
    ['distinguishes paths with and without a trailing slash', ['GET /a', 'GET /a/'], 'GET', '/a/', 'GET /a/'],
    ['does not match a prefix', ['GET /a'], 'GET', '/a/b', undefined],
    ['does not match a longer pattern', ['GET /a/b'], 'GET', '/a', undefined],
    ['finds the root', ['GET /'], 'GET', '/', 'GET /'],
    ['looks up the empty path as the root', ['GET /'], 'GET', '', 'GET /'],
    ['matches a parameter', ['GET /a/{id}/c'], 'GET', '/a/7/c', 'GET /a/{id}/c'],
    ['does not match an empty parameter', ['GET /a/{id}'], 'GET', '/a/', undefined],
    ['does not match an empty first parameter', ['GET /{id}'], 'GET', '/', undefined],
    ['prefers the literal', ['GET /a/{id}', 'GET /a/b', 'GET /a/*'], 'GET', '/a/b', 'GET /a/b'],
    ['prefers the parameter to the wildcard', ['GET /a/*', 'GET /a/{id}'], 'GET', '/a/x', 'GET /a/{id}'],
    ['uses the wildcard for deeper paths', ['GET /a/*', 'GET /a/{id}'], 'GET', '/a/x/y', 'GET /a/*'],
    ['lets the wildcard match the empty rest', ['GET /a/*'], 'GET', '/a/', 'GET /a/*'],
    ['does not let the wildcard match a missing slash', ['GET /a/*'], 'GET', '/a', undefined],
    ['matches everything with a lone wildcard', ['GET /*'], 'GET', '', 'GET /*'],
    [
      'backtracks when a literal leads nowhere',
      ['GET /a/b/c', 'GET /a/{x}/d'],
      'GET',
      '/a/b/d',
      'GET /a/{x}/d',
    ],
    ['backtracks to a wildcard above', ['GET /a/b/c', 'GET /*'], 'GET', '/a/b/d', 'GET /*'],
    ['ranks from the left', ['GET /{x}/b', 'GET /a/{y}'], 'GET', '/a/b', 'GET /a/{y}'],
    ['prefers the exact method', ['* /a', 'GET /a'], 'GET', '/a', 'GET /a'],
    ['matches any method with *', ['* /a', 'GET /a'], 'PURGE', '/a', '* /a'],
    ['distinguishes methods', ['GET /a'], 'POST', '/a', undefined],
    ['does not fold the case of methods', ['GET /a'], 'get', '/a', undefined],
    ['serves HEAD by GET', ['GET /a'], 'HEAD', '/a', 'GET /a'],
    ['serves HEAD by GET before *', ['* /a', 'GET /a'], 'HEAD', '/a', 'GET /a'],
    ['serves HEAD by *', ['POST /a', '* /a'], 'HEAD', '/a', '* /a'],
    ['prefers the path to the method', ['* /a/b', 'GET /a/{x}'], 'GET', '/a/b', '* /a/b'],
    [
      'is not hidden by another method of a better path',
      ['POST /a/b', 'GET /a/{x}'],
      'GET',
      '/a/b',
      'GET /a/{x}',
    ],
    [
      'is not hidden by another method of a parameter',
      ['POST /a/{x}', 'GET /a/*'],
      'GET',
      '/a/b',
      'GET /a/*',
    ],
    ['finds nothing in an empty trie', [], 'GET', '/', undefined],
    ['does not find properties of objects', ['GET /a'], 'GET', '/constructor', undefined],
    ['matches an encoded slash inside a segment', ['GET /a/{x}'], 'GET', '/a/b%2Fc', 'GET /a/{x}'],
  ])('%s', (_name, entries, method, path, expected) => {
    expect(find(trieOf(...entries), method, path)).toBe(expected);
  });

  it('looks only at what follows the gateway path', () => {
    const trie = trieOf('GET /a/{id}', 'GET /');
    expect(find(trie, 'GET', '/app/v1/a/7', 7)).toBe('GET /a/{id}');
    expect(find(trie, 'GET', '/app/v1', 7)).toBe('GET /');
    expect(find(trie, 'GET', '/app/v1/', 7)).toBe('GET /');
  });

  it('finds each of many literal siblings', () => {
    const texts = Array.from({ length: 300 }, (_, n) => `GET /items/name-${n}/x`);
    const trie = trieOf(...texts, 'GET /items/{id}/x');
    for (const text of texts) expect(find(trie, 'GET', text.slice(4))).toBe(text);
    expect(find(trie, 'GET', '/items/name-300/x')).toBe('GET /items/{id}/x');
    expect(find(trie, 'GET', '/items/__proto__/x')).toBe('GET /items/{id}/x');
  });

  it('matches patterns of the greatest depth and paths beyond it', () => {
    const deep = '/a'.repeat(PATH_SEGMENTS_MAX);
    const trie = trieOf(`GET ${deep}`, `POST ${'/b'.repeat(PATH_SEGMENTS_MAX - 1)}/*`);
    expect(find(trie, 'GET', deep)).toBe(`GET ${deep}`);
    expect(find(trie, 'GET', `${deep}/a`)).toBeUndefined();
    expect(find(trie, 'POST', '/b'.repeat(4000))).toMatch(/^POST/);
  });

  it('agrees with a linear scan on random endpoints and paths', () => {
    const segment = fc.constantFrom('a', 'b', 'c', '{x}', '{y}');
    const pattern = fc
      .tuple(fc.array(segment, { maxLength: 4 }), fc.constantFrom('', '/', '/*'))
      .map(([segments, end]) => `${segments.map((each) => `/${each}`).join('')}${end}` || '/')
      .filter((path) => !('error' in parseEndpointPath(path)));
    const entry = fc
      .tuple(fc.constantFrom('GET', 'POST', '*'), pattern)
      .map(([method, path]) => `${method} ${path}`);
    const entries = fc.uniqueArray(entry, { selector: endpointShape, maxLength: 25 });
    const path = fc
      .tuple(fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 6 }), fc.boolean())
      .map(([segments, slash]) => `${segments.map((each) => `/${each}`).join('')}${slash ? '/' : ''}`);
    fc.assert(
      fc.property(entries, fc.constantFrom('GET', 'HEAD', 'POST', 'PUT'), path, (texts, method, wanted) => {
        expect(find(trieOf(...texts), method, wanted)).toBe(slowFind(texts, method, wanted));
      }),
      { numRuns: 3000 },
    );
  });

  it('visits no entry twice in the worst case', () => {
    // Each level offers a literal and a parameter, and only the method at the end decides: a matcher that retried what
    // it had seen would take exponential time. Reads of `method` count the visits.
    let reads = 0;
    const entries: PathTrieEntry<{ method: string }>[] = [];
    for (let bits = 0; bits < 1024; bits++) {
      let path = '';
      for (let level = 0; level < 10; level++) path += (bits >> level) & 1 ? '/a' : `/{p${level}}`;
      const value = {
        get method() {
          reads++;
          return 'POST';
        },
      };
      entries.push({ segments: toEntry(`POST ${path}`).segments, value });
    }
    const trie = buildPathTrie(entries) as PathTrie<{ method: string }>;
    reads = 0;
    expect(findRoute(trie, '/a'.repeat(10), 0, 'GET')).toBeUndefined();
    expect(reads).toBe(entries.length);
  });

  it('backtracks over many levels', () => {
    const texts = Array.from(
      { length: 60 },
      (_, level) => `GET ${'/a'.repeat(level)}/{x}${'/a'.repeat(62 - level)}/b`,
    );
    const trie = trieOf(...texts);
    expect(find(trie, 'GET', '/a'.repeat(64))).toBeUndefined();
    expect(find(trie, 'GET', `${'/a'.repeat(63)}/b`)).toBe(texts[59]);
    expect(find(trie, 'GET', `/z${'/a'.repeat(62)}/b`)).toBe(texts[0]);
  });
});

describe('buildPathTrie', () => {
  it.each([
    ['GET /a', 'GET /a'],
    ['GET /a/{x}', 'GET /a/{y}'],
    ['* /a/*', '* /a/*'],
  ])('reports that %s and %s conflict', (first, second) => {
    const trie = buildPathTrie([toEntry(first), toEntry('PUT /a'), toEntry(second)]);
    expect(trie).toEqual({ first: toEntry(first).value, second: toEntry(second).value });
  });

  it('accepts the same path with other methods', () => {
    expect(find(trieOf('GET /a/{x}', 'POST /a/{y}', '* /a/{z}'), 'POST', '/a/1')).toBe('POST /a/{y}');
  });
});

describe('segmentStart', () => {
  it.each([
    ['/a/b/c', 0, 0, 1],
    ['/a/b/c', 0, 2, 5],
    ['/app/b/c', 4, 1, 7],
    ['/app', 4, 0, 4],
    ['/app/', 4, 0, 5],
  ])('of %s after %d, segment %d is %d', (path, from, index, expected) => {
    expect(segmentStart(path, from, index)).toBe(expected);
  });
});
