/**
 * The endpoints of one revision by path and method. One node per pattern segment; at each segment a literal child
 * beats the `{name}` child, which beats a final `*`, from left to right. A pattern that has nothing for the
 * method does not hide a less specific one that has. Among the entries of one pattern the exact method beats
 * `*`; HEAD is served by GET (RFC 9110 section 9.3.2) unless something is registered for HEAD itself.
 *
 * Work is bounded: a node has one parent and so is visited at most once per lookup, and the path is split once,
 * down to the depth of the trie. A lookup never costs more than the number of nodes plus the length of the path,
 * whatever the path; there is no exponential backtracking.
 *
 * Immutable once built. Disabled endpoints are entries like others: the caller looks at what it gets.
 */
import { PATH_SEGMENTS_MAX } from './path-patterns.ts';

interface Node<T> {
  /** Literal children: parallel arrays while there are few, a map when there are many. */
  literals: string[];
  children: Node<T>[];
  byLiteral: Map<string, Node<T>> | undefined;
  parameter: Node<T> | undefined;
  /** Entries of patterns that end here, by method. */
  ending: T[];
  /** Entries of patterns that end with `*` in place of this node's next segment. */
  wildcard: T[];
}

export interface PathTrie<T extends { readonly method: string }> {
  readonly root: Node<T>;
  /** Most segments of any pattern; 0 when there are none. */
  readonly depth: number;
}

export interface PathTrieEntry<T> {
  /** As `parseEndpointPath` gives them, at most PATH_SEGMENTS_MAX. */
  readonly segments: readonly string[];
  readonly value: T;
}

/** Two entries for the same method and for patterns that match the same paths. */
export interface PathConflict<T> {
  readonly first: T;
  readonly second: T;
}

/** From here on a map is faster than comparing one by one. */
const LITERALS_SCANNED_MAX = 8;
const NONE: never[] = Object.freeze([]) as unknown as never[];
const EMPTY: PathTrie<never> = Object.freeze({ root: createNode<never>(), depth: 0 });

function createNode<T>(): Node<T> {
  return {
    literals: NONE,
    children: NONE,
    byLiteral: undefined,
    parameter: undefined,
    ending: NONE,
    wildcard: NONE,
  };
}

/** Builds the trie, or tells which two entries are in each other's way. */
export function buildPathTrie<T extends { readonly method: string }>(
  entries: readonly PathTrieEntry<T>[],
): PathTrie<T> | PathConflict<T> {
  if (entries.length === 0) return EMPTY;
  const root = createNode<T>();
  let depth = 0;
  for (const { segments, value } of entries) {
    depth = Math.max(depth, segments.length);
    let node = root;
    let wildcard = false;
    for (const segment of segments) {
      if (segment === '*') wildcard = true;
      else
        node = segment.startsWith('{') ? (node.parameter ??= createNode<T>()) : literalChild(node, segment);
    }
    const list = wildcard ? node.wildcard : node.ending;
    const first = list.find((other) => other.method === value.method);
    if (first !== undefined) return { first, second: value };
    // `NONE` is shared and frozen: a list of one is a new array.
    const grown = [...list, value];
    if (wildcard) node.wildcard = grown;
    else node.ending = grown;
  }
  return { root, depth };
}

function literalChild<T>(node: Node<T>, literal: string): Node<T> {
  const found = node.byLiteral?.get(literal) ?? node.children[node.literals.indexOf(literal)];
  if (found !== undefined) return found;
  const child = createNode<T>();
  if (node.byLiteral !== undefined) {
    node.byLiteral.set(literal, child);
  } else if (node.literals.length < LITERALS_SCANNED_MAX) {
    node.literals = [...node.literals, literal];
    node.children = [...node.children, child];
  } else {
    node.byLiteral = new Map(node.literals.map((key, index) => [key, node.children[index] as Node<T>]));
    node.byLiteral.set(literal, child);
    node.literals = NONE;
    node.children = NONE;
  }
  return child;
}

// Segments of the path that is being looked up: where each begins and ends. Filled and read within one lookup.
const starts = new Int32Array(PATH_SEGMENTS_MAX + 1);
const ends = new Int32Array(PATH_SEGMENTS_MAX + 1);

/**
 * The entry that serves the method at the path, or undefined.
 * @param path canonical
 * @param from where the part to look up begins: at a slash, or at the end of the path, which is looked up as `/`
 */
export function findRoute<T extends { readonly method: string }>(
  trie: PathTrie<T>,
  path: string,
  from: number,
  method: string,
): T | undefined {
  if (trie.depth === 0) return undefined;
  return walk(trie.root, 0, splitSegments(path, from, trie.depth), path, method);
}

/** Index at which segment `index` (from 0) of the part after `from` begins; the path must have that many. */
export function segmentStart(path: string, from: number, index: number): number {
  let start = from === path.length ? from : from + 1;
  for (let passed = 0; passed < index; passed++) start = path.indexOf('/', start) + 1;
  return start;
}

/** Fills `starts` and `ends` for up to `depth` + 1 segments and returns how many there are, up to that. */
function splitSegments(path: string, from: number, depth: number): number {
  let start = from === path.length ? from : from + 1;
  let count = 0;
  while (count <= depth) {
    let end = path.indexOf('/', start);
    if (end < 0) end = path.length;
    starts[count] = start;
    ends[count] = end;
    count++;
    if (end === path.length) break;
    start = end + 1;
  }
  return count;
}

function walk<T extends { readonly method: string }>(
  node: Node<T>,
  index: number,
  count: number,
  path: string,
  method: string,
): T | undefined {
  if (index === count) return entryFor(node.ending, method);
  const start = starts[index] as number;
  const end = ends[index] as number;
  const literal = findLiteral(node, path, start, end);
  if (literal !== undefined) {
    const found = walk(literal, index + 1, count, path, method);
    if (found !== undefined) return found;
  }
  if (node.parameter !== undefined && end > start) {
    const found = walk(node.parameter, index + 1, count, path, method);
    if (found !== undefined) return found;
  }
  return entryFor(node.wildcard, method);
}

function findLiteral<T>(node: Node<T>, path: string, start: number, end: number): Node<T> | undefined {
  if (node.byLiteral !== undefined) return node.byLiteral.get(path.slice(start, end));
  const { literals } = node;
  for (let index = 0; index < literals.length; index++) {
    const literal = literals[index] as string;
    if (literal.length === end - start && path.startsWith(literal, start)) return node.children[index];
  }
  return undefined;
}

function entryFor<T extends { readonly method: string }>(
  entries: readonly T[],
  method: string,
): T | undefined {
  let any: T | undefined;
  let get: T | undefined;
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index] as T;
    if (entry.method === method) return entry;
    if (entry.method === '*') any = entry;
    else if (entry.method === 'GET') get = entry;
  }
  return method === 'HEAD' && get !== undefined ? get : any;
}
