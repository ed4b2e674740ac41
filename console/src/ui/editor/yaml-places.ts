/** The place of the value at a pointer in a YAML text, and the errors of the text. Pure. */
import { isMap, isPair, isScalar, isSeq, parseDocument, type Document, type Node } from 'yaml';
import { stepsOf } from './check-value.ts';

export interface Place {
  readonly from: number;
  readonly to: number;
}

interface SyntaxProblem extends Place {
  readonly message: string;
}

export interface ReadYaml {
  readonly document: Document;
  readonly problems: readonly SyntaxProblem[];
}

/** From this length on, parsing takes so long that it waits until the reader pauses. */
export const LONG_CHARS = 100_000;
/** A longer text would block the page for seconds: it is parsed only on request. */
export const CHECKED_CHARS_MAX = 1_000_000;

let last: { readonly text: string; readonly read: ReadYaml } | undefined;

/** Caches the answer for the same text, which several callers ask for after each change. */
export function readYaml(text: string): ReadYaml {
  if (last?.text !== text) last = { text, read: parsed(text) };
  return last.read;
}

function parsed(text: string): ReadYaml {
  const document = parseDocument(text, { prettyErrors: true });
  const problems = document.errors.map(({ message, pos: [from, to] }) => ({
    from: Math.min(from, text.length),
    to: Math.min(Math.max(to, from + 1), text.length),
    // The further lines quote the text, which the editor shows anyway.
    message: (message.split('\n')[0] ?? '').replace(/:$/, ''),
  }));
  return { document, problems };
}

/** More aliases could make the text grow without end. */
const ALIASES_MAX = 100;

export interface ValueOfYaml {
  /** Absent when there is a problem; undefined for a text without content. */
  readonly value?: unknown;
  readonly problem?: string;
}

export function valueOfYaml(text: string): ValueOfYaml {
  const { document, problems } = readYaml(text);
  const [first] = problems;
  if (first !== undefined) return { problem: first.message };
  try {
    return { value: (document.toJS({ maxAliasCount: ALIASES_MAX }) as unknown) ?? undefined };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

/** The name of the member at a pointer, or the item; when there is none, the same of the nearest value above it. */
export function placeOf({ document }: ReadYaml, pointer: string): Place {
  let place: Place = { from: 0, to: 0 };
  let node: unknown = document.contents;
  for (const step of stepsOf(pointer)) {
    const found: { readonly at: Node; readonly value: unknown } | undefined = isMap(node)
      ? memberOf(node.items, step)
      : isSeq(node)
        ? itemOf(node.items, step)
        : undefined;
    if (found === undefined) break;
    const [from, to] = found.at.range ?? [place.from, place.to];
    place = { from, to };
    node = found.value;
  }
  return place;
}

function memberOf(
  items: readonly unknown[],
  name: string,
): { readonly at: Node; readonly value: unknown } | undefined {
  for (const pair of items) {
    if (isPair(pair) && isScalar(pair.key) && String(pair.key.value) === name)
      return { at: pair.key, value: pair.value };
  }
  return undefined;
}

function itemOf(
  items: readonly unknown[],
  step: string,
): { readonly at: Node; readonly value: unknown } | undefined {
  const item = items[Number(step)];
  return item === undefined ? undefined : { at: item as Node, value: item };
}
