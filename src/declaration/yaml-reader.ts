/**
 * Reads one YAML 1.2 or JSON document of a configuration as plain data, with the place of every value in its file.
 * Where readers of YAML are known to disagree, it refuses instead of choosing: duplicate keys, `no` and `on` without
 * quotes, numbers such as `0777` and `1e3`, tags, merge keys, several documents. Bounds come first: bytes, depth, and
 * what aliases expand to. Map keys are always text, as they are written.
 *
 * Duplicates are found here and not by the library, which compares each key with all others of its map.
 */
import { fileProblem, type Place, type Problem } from './field-lines.ts';
import {
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
  type Node,
  type Pair,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { escapeToken, tokensOf } from '../lib/text/json-pointer.ts';

export type { Place, Problem } from './field-lines.ts';

/** Longest document, in bytes of UTF-8. */
export const DOCUMENT_BYTES_MAX = 10 * 1024 * 1024;
/** Deepest nesting; the configuration itself is some 15 levels deep. */
export const DEPTH_MAX = 64;
/** Limit of the values that all aliases of a document expand to. */
export const ALIASED_NODES_MAX = 100_000;
/** Reports at most this many problems of a document. */
const PROBLEMS_MAX = 50;

export interface DeclaredDocument {
  readonly file: string;
  readonly value: unknown;
  /** The place of a value, or undefined where the document has no such value. */
  locate(pointer: string): Place | undefined;
}

/**
 * @param file name of the document in problems
 * @param bytes its content
 * @param tokensMax limit of names, values and signs together: the time of parsing grows much more with them
 * than with bytes
 */
export function readDocument(
  file: string,
  bytes: Uint8Array,
  tokensMax = Infinity,
): DeclaredDocument | readonly Problem[] {
  const whole = (detail: string): readonly Problem[] => [fileProblem(file, detail)];
  if (bytes.byteLength > DOCUMENT_BYTES_MAX) {
    return whole(`has ${bytes.byteLength} bytes; at most ${DOCUMENT_BYTES_MAX} are read`);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return whole('is not UTF-8');
  }
  const excess = excessOf(text, tokensMax);
  if (excess !== undefined) return whole(excess);
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: '1.2',
    uniqueKeys: false,
    lineCounter: lines,
    prettyErrors: false,
  });
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const complaints = [...document.errors, ...document.warnings];
  if (complaints.length > 0) {
    // The library says the same of a place several times: once for each level that does not end there.
    const once = new Map(complaints.map((each) => [`${each.pos[0]} ${each.message}`, each]));
    return [...once.values()]
      .slice(0, PROBLEMS_MAX)
      .map(({ pos, code, message }) => ({ ...placeAt(pos[0]), pointer: '', detail: wording(code, message) }));
  }
  if (document.directives.yaml.version !== '1.2') {
    return whole(`declares YAML ${document.directives.yaml.version}; expected 1.2`);
  }
  const walk = new Walk(placeAt);
  const value = document.contents === null ? null : walk.valueOf(document.contents, '', 1);
  if (walk.problems.length > 0) return walk.problems;
  const index: PairIndex = new WeakMap();
  return {
    file,
    value,
    locate: (pointer) => locate(document.contents, pointer, walk.anchors, index, placeAt),
  };
}

/**
 * Why the parser must not get a text; undefined when it may. The parser recurses for each bracket, and for each
 * dash or question mark of a line. Nesting by indentation needs bytes that grow with its square, and is checked
 * later.
 */
function excessOf(text: string, tokensMax: number): string | undefined {
  let tokens = 0;
  let blanks = 0;
  let brackets = 0;
  let indicators = 0;
  for (const token of new Lexer().lex(text)) {
    if (token.charCodeAt(0) <= 0x20) blanks += 1;
    else tokens += 1;
    // A document needs at most two blanks for each other character.
    if (Math.max(tokens, blanks / 2) > tokensMax)
      return `has more than ${tokensMax} names, values and signs, or too many blank lines`;
    if (token === '[' || token === '{') brackets += 1;
    else if (token === ']' || token === '}') brackets -= 1;
    else if (token === '-' || token === '?') indicators += 1;
    else if (token.includes('\n')) indicators = 0;
    if (brackets > DEPTH_MAX || indicators > DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX} levels`;
  }
  return undefined;
}

function wording(code: string, message: string): string {
  return code === 'MULTIPLE_DOCS'
    ? 'holds several documents; write one per file'
    : `is not valid YAML: ${message}`;
}

/**
 * Turns nodes into data. Resolves aliases with a table of its own, because the library searches the whole
 * document for each.
 */
class Walk {
  readonly problems: Problem[] = [];
  readonly anchors = new Map<string, Node>();
  readonly #placeAt: (offset: number) => Place;
  #aliasDepth = 0;
  #aliasedNodes = 0;

  constructor(placeAt: (offset: number) => Place) {
    this.#placeAt = placeAt;
  }

  valueOf(node: Node | null, pointer: string, depth: number): unknown {
    if (node === null || this.problems.length >= PROBLEMS_MAX) return null;
    if (depth > DEPTH_MAX) return this.#refuse(node, pointer, `is nested deeper than ${DEPTH_MAX} levels`);
    if (this.#aliasDepth > 0 && ++this.#aliasedNodes > ALIASED_NODES_MAX) {
      if (this.#aliasedNodes > ALIASED_NODES_MAX + 1) return null;
      return this.#refuse(node, pointer, `repeats more than ${ALIASED_NODES_MAX} values by aliases`);
    }
    if (isAlias(node)) {
      const target = this.anchors.get(node.source);
      if (target === undefined)
        return this.#refuse(node, pointer, `names an unknown anchor "${node.source}"`);
      this.#aliasDepth += 1;
      const value = this.valueOf(target, pointer, depth + 1);
      this.#aliasDepth -= 1;
      return value;
    }
    if (isScalar(node) || isCollection(node)) {
      if (node.anchor !== undefined) this.anchors.set(node.anchor, node);
      if (node.tag !== undefined)
        return this.#refuse(node, pointer, `has the tag ${cut(node.tag)}; write it without`);
    }
    if (isScalar(node)) return this.#scalar(node, pointer);
    if (isMap(node)) return this.#map(node, pointer, depth);
    if (isSeq(node)) {
      return node.items.map((item, index) =>
        this.valueOf(item as Node | null, `${pointer}/${index}`, depth + 1),
      );
    }
    return this.#refuse(node, pointer, 'is of no kind that a configuration has');
  }

  #map(map: YAMLMap, pointer: string, depth: number): unknown {
    const value: Record<string, unknown> = {};
    const seen = new Map<string, Node>();
    for (const pair of map.items) {
      const key = pair.key as Node | null;
      const name = keyOf(pair);
      if (key === null || name === undefined) {
        this.#refuse(key ?? map, pointer, 'has a key that is not text');
        continue;
      }
      const below = `${pointer}/${escapeToken(name)}`;
      const first = seen.get(name);
      if (first !== undefined) {
        const { line } = this.#placeAt(offsetOf(first));
        this.#refuse(key, below, `is given twice; the first one is on line ${line}`);
        continue;
      }
      seen.set(name, key);
      const isMerge = name === '<<' && isScalar(key) && key.type === 'PLAIN';
      if (isMerge || name === '__proto__') {
        const why = isMerge
          ? 'merge keys are not part of YAML 1.2'
          : 'no part of a configuration has this name';
        this.#refuse(key, below, `is refused: ${why}`);
        continue;
      }
      value[name] = this.valueOf(pair.value as Node | null, below, depth + 1);
    }
    return value;
  }

  #scalar(node: Scalar, pointer: string): unknown {
    const { value, source = '' } = node;
    if (node.type !== 'PLAIN') return value;
    if (typeof value === 'string') {
      if (!/^(?:y|n|yes|no|on|off)$/i.test(value)) return value;
      return this.#refuse(
        node,
        pointer,
        `"${value}" is a boolean to some readers of YAML: quote it, or write true or false`,
      );
    }
    if (typeof value === 'number' || typeof value === 'bigint') {
      const isPlain = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(source) && Number.isFinite(value);
      if (!isPlain) {
        return this.#refuse(
          node,
          pointer,
          `${cut(source)} is a number that readers of YAML take differently: quote it, or write plain decimal digits`,
        );
      }
      if (Math.abs(Number(value)) > Number.MAX_SAFE_INTEGER) {
        return this.#refuse(
          node,
          pointer,
          `${cut(source)} is beyond the numbers that are kept exactly: quote it if it is text`,
        );
      }
    }
    return value;
  }

  #refuse(node: Node, pointer: string, detail: string): null {
    if (this.problems.length < PROBLEMS_MAX) {
      this.problems.push({ ...this.#placeAt(offsetOf(node)), pointer, detail });
    }
    return null;
  }
}

function cut(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 40)}…`;
}

function offsetOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

/** The key as it is written: `1.0` stays `1.0`. */
function keyOf({ key }: Pair): string | undefined {
  if (!isScalar(key)) return undefined;
  if (key.type === 'PLAIN') return key.source ?? '';
  return typeof key.value === 'string' ? key.value : undefined;
}

/** The pairs of each map by name; created when a place in the map is first looked up. */
type PairIndex = WeakMap<YAMLMap, ReadonlyMap<string, Pair>>;

function pairsOf(map: YAMLMap, index: PairIndex): ReadonlyMap<string, Pair> {
  let pairs = index.get(map);
  if (pairs === undefined) {
    pairs = new Map(map.items.map((pair) => [keyOf(pair) ?? '', pair]));
    index.set(map, pairs);
  }
  return pairs;
}

/** The place of the key of a member, or of an item itself. */
function locate(
  root: Node | null,
  pointer: string,
  anchors: ReadonlyMap<string, Node>,
  index: PairIndex,
  placeAt: (offset: number) => Place,
): Place | undefined {
  let node: unknown = root;
  let at: unknown = root;
  for (const token of tokensOf(pointer)) {
    for (let hops = 0; isAlias(node) && hops < DEPTH_MAX; hops++) node = anchors.get(node.source);
    if (isMap(node)) {
      const pair: unknown = pairsOf(node, index).get(token);
      if (!isPair(pair)) return undefined;
      at = pair.key;
      node = pair.value;
    } else if (isSeq(node)) {
      if (!/^\d+$/.test(token) || Number(token) >= node.items.length) return undefined;
      node = node.items[Number(token)];
      at = node;
    } else return undefined;
  }
  return placeAt(at === null || at === undefined ? 0 : offsetOf(at as Node));
}
