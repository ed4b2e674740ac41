/**
 * The endpoints of one revision by path and method, with one node per pattern segment. At each segment, from left to
 * right, a literal child is preferred to the `{name}` child, which is preferred to a final `*`. A pattern without an
 * entry for the method does not hide a less specific pattern that has one. Among the entries of one pattern the exact
 * method is preferred to `*`; GET serves HEAD (RFC 9110 section 9.3.2) unless HEAD itself is registered.
 *
 * Work is bounded: a node has one parent and is visited at most once per lookup, and the path is split once, down to
 * the depth of the trie. A lookup costs at most the number of nodes plus the length of the path; there is no
 * exponential backtracking.
 *
 * The whole trie is three flat objects: in a configuration with ten thousand tries a lookup mostly waits for memory,
 * and one object per node would take twice the space. Immutable once built. Disabled endpoints are ordinary entries:
 * the caller checks the entry that it gets.
 */
import { inOneTurn, type Steps } from './changes/slices.ts';
import { PATH_SEGMENTS_MAX } from './path-patterns.ts';

export interface PathTrie<T extends { readonly method: string }> {
  /**
   * Nodes one after the other, the root first. Each node has: the index of its first entry, the number of entries that
   * end here, the number of entries that end with `*` here, its `{name}` child (0: none), the number of literal
   * children, and for each literal child, sorted by `compareLiteral`: start and length of its literal in `text`, and
   * its node. In a small trie that is in use, the character codes of a text, which takes an eighth of the memory.
   */
  readonly nodes: readonly number[] | string;
  readonly text: string;
  readonly entries: readonly T[];
  /** No pattern has more segments; 0 when there were never any patterns. */
  readonly depth: number;
  /** The number of entries removed since the trie was built (path-trie-patch.ts). */
  readonly removed: number;
  /** See lenient-readings.ts; undefined: found out on first use. */
  lenient: LenientReadings<T> | undefined;
}

/** What a backend that reads paths leniently could take the paths of a trie for. */
export interface LenientReadings<T> {
  /** It makes no difference which entry such a backend serves. */
  readonly isUniform: boolean;
  /** By lenient path; undefined if every path is its own lenient reading. */
  readonly byLenientPath: PathTrie<Alike<T>> | undefined;
}

/** The entries that have the same lenient path and method. */
export interface Alike<T> {
  readonly method: string;
  readonly entries: T[];
}

export const FIRST_ENTRY = 0;
export const ENDING_COUNT = 1;
export const WILDCARD_COUNT = 2;
export const PARAMETER = 3;
export const LITERAL_COUNT = 4;
export const LITERALS = 5;
/** Numbers per literal child. */
export const LITERAL_SIZE = 3;

const CODE_MAX = 0xffff;

// Where each segment of the current path begins and ends; written and read within one lookup.
const starts = new Int32Array(PATH_SEGMENTS_MAX + 1);
const ends = new Int32Array(PATH_SEGMENTS_MAX + 1);

/**
 * The entry that serves the method at the path, or undefined.
 * @param path canonical
 * @param from start of the part to look up: at a slash, or at the end of the path, which is looked up as `/`
 */
export function findRoute<T extends { readonly method: string }>(
  trie: PathTrie<T>,
  path: string,
  from: number,
  method: string,
): T | undefined {
  if (trie.depth === 0) return undefined;
  return walk(trie, 0, 0, splitSegments(path, from, trie.depth), path, method);
}

/**
 * The index at which segment `index` (from 0) of the part after `from` begins. The path must have that many segments.
 */
export function segmentStart(path: string, from: number, index: number): number {
  let start = from === path.length ? from : from + 1;
  for (let passed = 0; passed < index; passed++) start = path.indexOf('/', start) + 1;
  return start;
}

/** The nodes as a text, if their numbers are small enough. */
export function packedNodes(nodes: readonly number[] | string): readonly number[] | string {
  if (typeof nodes === 'string') return nodes;
  return nodes.some((number) => number > CODE_MAX) ? nodes.slice() : String.fromCharCode(...nodes);
}

export function unpackedNodes(nodes: readonly number[] | string): number[] {
  if (typeof nodes !== 'string') return nodes.slice();
  return Array.from({ length: nodes.length }, (_, index) => nodes.charCodeAt(index));
}

/** Fills `starts` and `ends` for up to `depth` + 1 segments and returns their number, up to that limit. */
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

function numberAt(nodes: readonly number[] | string, index: number): number {
  return typeof nodes === 'string' ? nodes.charCodeAt(index) : (nodes[index] as number);
}

function walk<T extends { readonly method: string }>(
  trie: PathTrie<T>,
  node: number,
  index: number,
  count: number,
  path: string,
  method: string,
): T | undefined {
  const { nodes } = trie;
  const first = numberAt(nodes, node + FIRST_ENTRY);
  const wildcards = first + numberAt(nodes, node + ENDING_COUNT);
  if (index === count) return entryFor(trie.entries, first, wildcards, method);
  const start = starts[index] as number;
  const end = ends[index] as number;
  const literal = findLiteral(trie, node, path, start, end);
  if (literal !== 0) {
    const found = walk(trie, literal, index + 1, count, path, method);
    if (found !== undefined) return found;
  }
  const parameter = numberAt(nodes, node + PARAMETER);
  if (parameter !== 0 && end > start) {
    const found = walk(trie, parameter, index + 1, count, path, method);
    if (found !== undefined) return found;
  }
  const wildcardCount = numberAt(nodes, node + WILDCARD_COUNT);
  return wildcardCount === 0
    ? undefined
    : entryFor(trie.entries, wildcards, wildcards + wildcardCount, method);
}

/** The literal child for `path` from `start` to `end`, by binary search; 0 when there is none. */
function findLiteral<T extends { readonly method: string }>(
  trie: PathTrie<T>,
  node: number,
  path: string,
  start: number,
  end: number,
): number {
  const { nodes, text } = trie;
  let low = 0;
  let high = numberAt(nodes, node + LITERAL_COUNT);
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = node + LITERALS + middle * LITERAL_SIZE;
    const order = compareLiteral(
      text,
      numberAt(nodes, at),
      numberAt(nodes, at + 1),
      path,
      start,
      end - start,
    );
    if (order === 0) return numberAt(nodes, at + 2);
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return 0;
}

/** The order of literals: by length, then by code units. Negative when the first literal comes first. */
export function compareLiteral(
  first: string,
  firstStart: number,
  firstLength: number,
  second: string,
  secondStart: number,
  secondLength: number,
): number {
  if (firstLength !== secondLength) return firstLength - secondLength;
  for (let index = 0; index < firstLength; index++) {
    const difference = first.charCodeAt(firstStart + index) - second.charCodeAt(secondStart + index);
    if (difference !== 0) return difference;
  }
  return 0;
}

function entryFor<T extends { readonly method: string }>(
  entries: readonly T[],
  from: number,
  to: number,
  method: string,
): T | undefined {
  let any: T | undefined;
  let get: T | undefined;
  for (let index = from; index < to; index++) {
    const entry = entries[index] as T;
    const own = entry.method;
    if (own === method) return entry;
    if (own === '*') any = entry;
    else if (own === 'GET') get = entry;
  }
  return method === 'HEAD' && get !== undefined ? get : any;
}

export interface PathTrieEntry<T> {
  /** As returned by `parseEndpointPath`, at most PATH_SEGMENTS_MAX. */
  readonly segments: readonly string[];
  readonly value: T;
}

/** Two entries for the same method and for patterns that match the same paths. */
export interface PathConflict<T> {
  readonly first: T;
  readonly second: T;
}

/** A node under construction. Most nodes have only one of the four fields, so each is created when it is needed. */
interface Draft<T> {
  literals: Map<string, Draft<T>> | undefined;
  parameter: Draft<T> | undefined;
  ending: T[] | undefined;
  wildcard: T[] | undefined;
}

const EMPTY: PathTrie<never> = Object.freeze({
  nodes: [],
  text: '',
  entries: [],
  depth: 0,
  removed: 0,
  lenient: undefined,
});

/** Builds the trie, or returns two entries that conflict. */
export function buildPathTrie<T extends { readonly method: string }>(
  drafted: readonly PathTrieEntry<T>[],
): PathTrie<T> | PathConflict<T> {
  return inOneTurn(pathTrieSteps(drafted));
}

/** As `buildPathTrie`, in steps. */
export function* pathTrieSteps<T extends { readonly method: string }>(
  drafted: readonly PathTrieEntry<T>[],
): Steps<PathTrie<T> | PathConflict<T>> {
  if (drafted.length === 0) return EMPTY;
  const root = createDraft<T>();
  let depth = 0;
  for (const { segments, value } of drafted) {
    depth = Math.max(depth, segments.length);
    const list = listAt(root, segments);
    const first = list.find((other) => other.method === value.method);
    if (first !== undefined) return { first, second: value };
    list.push(value);
    yield;
  }
  const nodes: number[] = [];
  const entries: T[] = [];
  const text = new TextPool();
  yield* layOut(root, nodes, entries, text);
  return {
    nodes: nodes.slice(),
    text: text.take(),
    entries: entries.slice(),
    depth,
    removed: 0,
    lenient: undefined,
  };
}

function createDraft<T>(): Draft<T> {
  return { literals: undefined, parameter: undefined, ending: undefined, wildcard: undefined };
}

/** The list that entries of a pattern belong to; creates the nodes on the way. */
function listAt<T>(root: Draft<T>, segments: readonly string[]): T[] {
  let node = root;
  for (const segment of segments) {
    if (segment === '*') return (node.wildcard ??= []);
    if (segment.startsWith('{')) {
      node = node.parameter ??= createDraft();
    } else {
      const literals: Map<string, Draft<T>> = (node.literals ??= new Map());
      let child = literals.get(segment);
      if (child === undefined) literals.set(segment, (child = createDraft()));
      node = child;
    }
  }
  return (node.ending ??= []);
}

const NONE: readonly never[] = [];
/** Takes half a millisecond. */
const SORTED_AT_ONCE_MAX = 1_000;

/** Writes a node and its descendants; returns its index. Recursion is as deep as the patterns. */
function* layOut<T>(draft: Draft<T>, nodes: number[], entries: T[], text: TextPool): Steps<number> {
  yield;
  const node = nodes.length;
  const { ending = NONE, wildcard = NONE, literals: children } = draft;
  const literals = children === undefined ? NONE : yield* sorted([...children.keys()]);
  nodes.push(entries.length, ending.length, wildcard.length, 0, literals.length);
  for (const entry of ending) entries.push(entry);
  for (const entry of wildcard) entries.push(entry);
  for (const literal of literals) {
    nodes.push(text.placeOf(literal), literal.length, 0);
    yield;
  }
  for (const [index, literal] of literals.entries()) {
    const child = children?.get(literal) as Draft<T>;
    nodes[node + LITERALS + index * LITERAL_SIZE + 2] = yield* layOut(child, nodes, entries, text);
  }
  if (draft.parameter !== undefined) {
    nodes[node + PARAMETER] = yield* layOut(draft.parameter, nodes, entries, text);
  }
  return node;
}

/** Sorts literals; long lists by merging sorted halves, since `sort` cannot be interrupted. */
function* sorted(literals: readonly string[]): Steps<readonly string[]> {
  if (literals.length <= SORTED_AT_ONCE_MAX) return literals.toSorted(byLengthThenText);
  const middle = literals.length >>> 1;
  const first = yield* sorted(literals.slice(0, middle));
  yield;
  const second = yield* sorted(literals.slice(middle));
  const merged: string[] = [];
  let taken = 0;
  for (const literal of first) {
    while (taken < second.length && byLengthThenText(second[taken] as string, literal) < 0) {
      merged.push(second[taken++] as string);
      yield;
    }
    merged.push(literal);
    yield;
  }
  for (; taken < second.length; taken++) merged.push(second[taken] as string);
  return merged;
}

/** The order of `compareLiteral`: by length, then by code units, as `<` compares. */
function byLengthThenText(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Collects the literals of a trie into one text, each literal once. */
class TextPool {
  readonly #parts: string[] = [];
  readonly #places = new Map<string, number>();
  #length = 0;

  placeOf(literal: string): number {
    let place = this.#places.get(literal);
    if (place === undefined) {
      place = this.#length;
      this.#places.set(literal, place);
      this.#parts.push(literal);
      this.#length += literal.length;
    }
    return place;
  }

  take(): string {
    return this.#parts.join('');
  }
}
