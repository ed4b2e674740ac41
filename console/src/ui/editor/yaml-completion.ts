/**
 * Completions at a place of a YAML text, by the schema. Uses indentation, so it works in text that is not valid YAML
 * yet. Pure.
 */
import { literalsOf, plainOf, schemaAt, variantsOf, type JsonSchema } from './json-schema.ts';

interface Suggestion {
  readonly label: string;
  readonly insert: string;
  readonly detail: string;
  readonly info: string;
}

export interface Suggestions {
  /** The start of the word that is being typed. */
  readonly from: number;
  readonly options: readonly Suggestion[];
}

const LINE = /^(\s*)((?:-\s+)*)(?:(?:"([^"]*)"|'([^']*)'|([^\s:#'"-][^:#]*?))\s*:(?=\s|$))?/;

interface Line {
  /** The indent of the name, after dashes. */
  readonly indent: number;
  readonly dashes: number;
  readonly name: string | undefined;
}

export function suggestionsAt(text: string, at: number, schema: JsonSchema): Suggestions | undefined {
  const start = text.slice(0, at).lastIndexOf('\n') + 1;
  const line = text.slice(start, at);
  const above = text.slice(0, start).split('\n').slice(0, -1);
  const value = /:\s+(?:\[(?:.*,\s*)?)?([\w.-]*)$/.exec(line);
  if (value !== null) {
    const { name = '' } = readLine(line);
    const found = schemaAt(schema, [...pathOf(above, readLine(line)), name]);
    return listed(at - (value[1] ?? '').length, valuesOf(found));
  }
  const word = /^(\s*(?:-\s+)*)([\w.$-]*)$/.exec(line);
  if (word === null) return undefined;
  const typed = word[2] ?? '';
  const place: Line = {
    indent: (word[1] ?? '').length,
    dashes: (line.match(/-\s+/g) ?? []).length,
    name: undefined,
  };
  const here = schemaAt(schema, pathOf(above, place));
  const present = siblingsOf(text, start, place.indent);
  const options = [...namesOf(here).filter(({ label }) => !present.has(label)), ...valuesOf(here)];
  return listed(at - typed.length, options);
}

function listed(from: number, options: readonly Suggestion[]): Suggestions | undefined {
  return options.length === 0 ? undefined : { from, options };
}

function readLine(line: string): Line {
  const match = LINE.exec(line);
  const dashes = match?.[2] ?? '';
  return {
    indent: (match?.[1] ?? '').length + dashes.length,
    dashes: (dashes.match(/-/g) ?? []).length,
    name: match?.[3] ?? match?.[4] ?? match?.[5],
  };
}

/** The names that lead to a line: those of less indented lines above it. */
function pathOf(above: readonly string[], place: Line): (string | number)[] {
  const path: (string | number)[] = [];
  let limit = place.indent;
  if (place.dashes > 0) path.unshift(0);
  for (const text of above.toReversed()) {
    if (limit === 0) break;
    if (/^\s*(?:#.*)?$/.test(text)) continue;
    const line = readLine(text);
    const outer = line.indent - (line.dashes > 0 ? 2 : 0);
    // An item of a list may have the same indent as the name of the list.
    const isParent =
      line.name !== undefined && (line.indent < limit || (place.dashes > 0 && line.indent <= limit - 2));
    if (line.dashes > 0 && line.indent === limit && place.dashes === 0) {
      path.unshift(0);
      limit = outer + 1;
      continue;
    }
    if (!isParent) continue;
    path.unshift(line.name ?? '');
    limit = line.indent;
    if (line.dashes > 0) {
      path.unshift(0);
      limit = outer;
    }
  }
  return path;
}

/** Names that the object at a line has already. */
function siblingsOf(text: string, start: number, indent: number): ReadonlySet<string> {
  const names = new Set<string>();
  const collect = (lines: readonly string[]): void => {
    for (const one of lines) {
      if (/^\s*(?:#.*)?$/.test(one)) continue;
      const line = readLine(one);
      if (line.indent < indent) return;
      if (line.indent === indent && line.name !== undefined) names.add(line.name);
    }
  };
  const end = text.indexOf('\n', start);
  collect(text.slice(0, start).split('\n').toReversed());
  if (end >= 0) collect(text.slice(end + 1).split('\n'));
  return names;
}

function namesOf(schema: JsonSchema | undefined): Suggestion[] {
  return variantsOf(schema).flatMap(({ properties, required }) =>
    Object.entries(properties ?? {}).map(([label, member]) => {
      const plain = plainOf(member);
      const isNested = variantsOf(plain).some(({ type }) => type === 'object');
      return {
        label,
        insert: isNested ? `${label}:` : `${label}: `,
        detail: required?.includes(label) === true ? 'required' : typeText(plain),
        info: plain.description ?? '',
      };
    }),
  );
}

function valuesOf(schema: JsonSchema | undefined): Suggestion[] {
  const item = variantsOf(schema).find(({ items }) => items !== undefined)?.items;
  const literals = literalsOf(schema) ?? literalsOf(item);
  const isFlag = variantsOf(schema).some(({ type }) => type === 'boolean');
  return (literals ?? (isFlag ? ['true', 'false'] : [])).map((label) => ({
    label,
    insert: label,
    detail: '',
    info: '',
  }));
}

function typeText(schema: JsonSchema): string {
  return literalsOf(schema)?.join(' | ') ?? variantsOf(schema).map(({ type }) => type ?? '')[0] ?? '';
}
