/**
 * References of an operation to answers of earlier operations in its transaction: `${app.id}` is the field `id` of
 * the record in the answer of the operation `app`; `${app.labels.team}` goes deeper. `$${` stands for the text `${`,
 * so that every text can be written. A text that is a single reference becomes the value itself, of any type; within
 * a longer text the value must be a text, a number or a boolean. Names of members are never references.
 */
import { isObject } from '../../lib/is-object.ts';
import { escapeToken } from '../../lib/text/json-pointer.ts';
import type { FieldError } from '../../model/errors.ts';

interface Reference {
  readonly id: string;
  readonly fields: readonly string[];
  /** The reference as written. */
  readonly text: string;
}

interface ParsedText {
  /** Texts and references in order. */
  readonly parts: readonly (string | Reference)[];
  /** What is wrong with it; undefined when it is valid. */
  readonly error: string | undefined;
}

const TOKEN = /\$\$\{|\$\{([^{}]*)\}?/g;
const NAMED = /^([A-Za-z][A-Za-z0-9_-]{0,63})((?:\.[^.]+)+)$/;
const INDEX = /^(?:0|[1-9]\d{0,8})$/;
/** Limit of an operation's body after its references are replaced, which could make it grow without bound. */
const RESOLVED_CHARS_MAX = 1_048_576;
/** Limit of a text shown in an error. */
const SHOWN_CHARS_MAX = 100;

/** The records that operations answered, by the ids of the operations. */
export type AnsweredRecords = ReadonlyMap<string, unknown>;

/** Whether references may use an id; otherwise what is wrong with it. */
export type IdCheck = (id: string) => string | undefined;

/** Errors of the references in a value, with pointers that begin at it. Reads no answer. */
export function referenceErrors(value: unknown, check: IdCheck): FieldError[] {
  const errors: FieldError[] = [];
  mapTexts(value, '', (text, pointer) => {
    const { parts, error } = parse(text);
    if (error !== undefined) errors.push({ pointer, detail: error });
    for (const part of parts) {
      const wrong = typeof part === 'string' ? undefined : check(part.id);
      if (wrong !== undefined) errors.push({ pointer, detail: wrong });
    }
    return text;
  });
  return errors;
}

/** A copy in which references are values. Errors have pointers that begin at the value. */
export function resolveBody(
  value: unknown,
  records: AnsweredRecords,
): { readonly value: unknown } | { readonly errors: readonly FieldError[] } {
  const errors: FieldError[] = [];
  let characters = 0;
  const resolved = mapTexts(value, '', (text, pointer) => {
    if (characters > RESOLVED_CHARS_MAX) return null;
    const found = resolveText(text, records, 'whole');
    if ('error' in found) {
      errors.push({ pointer, detail: found.error });
      return null;
    }
    if (found.value === text) return text;
    characters += JSON.stringify(found.value).length;
    if (characters > RESOLVED_CHARS_MAX) {
      const detail = `has references that make the body longer than ${RESOLVED_CHARS_MAX} characters`;
      errors.push({ pointer, detail });
    }
    return found.value;
  });
  return errors.length > 0 ? { errors } : { value: resolved };
}

/** A path in which references are percent-encoded values: none can add a segment or a parameter. */
export function resolvePath(
  path: string,
  records: AnsweredRecords,
): { readonly value: string } | { readonly error: string } {
  const found = resolveText(path, records, 'encoded');
  return 'error' in found ? found : { value: String(found.value) };
}

/** @param mode `whole`: a single reference gives its value; `encoded`: values are percent-encoded */
function resolveText(
  text: string,
  records: AnsweredRecords,
  mode: 'whole' | 'encoded',
): { readonly value: unknown } | { readonly error: string } {
  if (!text.includes('${')) return { value: text };
  const { parts, error } = parse(text);
  if (error !== undefined) return { error };
  let joined = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      joined += part;
      continue;
    }
    const found = valueOf(part, records);
    if ('error' in found) return found;
    const { value } = found;
    if (mode === 'whole' && parts.length === 1) return { value };
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      const what = value === null ? 'null' : 'not a plain value';
      return { error: `has ${part.text} within a text, but its value is ${what}` };
    }
    joined += mode === 'encoded' ? encodeURIComponent(value) : String(value);
    if (joined.length > RESOLVED_CHARS_MAX) {
      return { error: `has references that make it longer than ${RESOLVED_CHARS_MAX} characters` };
    }
  }
  return { value: joined };
}

function valueOf(
  { id, fields, text }: Reference,
  records: AnsweredRecords,
): { readonly value: unknown } | { readonly error: string } {
  let value = records.get(id);
  for (const [index, field] of fields.entries()) {
    if (index === 0 && field === 'token') {
      return { error: `has ${text}: the value of a key is only in the answer, and references cannot use it` };
    }
    const isMember = Array.isArray(value)
      ? INDEX.test(field) && Object.hasOwn(value, field)
      : isObject(value) && Object.hasOwn(value, field);
    if (!isMember) return { error: `has ${text}, but the answer of "${id}" has no such field` };
    value = (value as Record<string, unknown>)[field];
  }
  return { value };
}

function parse(text: string): ParsedText {
  const parts: (string | Reference)[] = [];
  let literal = '';
  let end = 0;
  let error: string | undefined;
  for (const match of text.matchAll(TOKEN)) {
    literal += text.slice(end, match.index);
    end = match.index + match[0].length;
    if (match[0] === '$${') {
      literal += '${';
      continue;
    }
    const [, id, path] = (match[0].endsWith('}') && NAMED.exec(match[1] ?? '')) || [];
    if (id === undefined || path === undefined) {
      const shown = match[0].slice(0, SHOWN_CHARS_MAX);
      error ??= `has "${shown}", which is not a reference such as \${app.id}; $\${ stands for the text \${`;
      continue;
    }
    if (literal !== '') parts.push(literal);
    literal = '';
    parts.push({ id, fields: path.slice(1).split('.'), text: match[0].slice(0, SHOWN_CHARS_MAX) });
  }
  literal += text.slice(end);
  if (literal !== '') parts.push(literal);
  return { parts, error };
}

/** A copy in which each text is what `map` makes of it. Bodies have a bounded depth. */
function mapTexts(value: unknown, pointer: string, map: (text: string, pointer: string) => unknown): unknown {
  if (typeof value === 'string') return map(value, pointer);
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, `${pointer}/${index}`, map));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      mapTexts(member, `${pointer}/${escapeToken(name)}`, map),
    ]),
  );
}
