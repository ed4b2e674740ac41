/**
 * The edits in the form of a record, and the smallest change that makes them. Fields are named by JSON pointer (RFC
 * 6901); fields that the form does not know are never sent, so they are never lost. Pure.
 */
import { apiTime, localMinute } from '../../../ui/controls/local-time.ts';
import { readTargets, targetLines, type TypedTarget } from './target-lines.ts';

export type FieldKind = 'text' | 'number' | 'flag' | 'list' | 'time' | 'labels' | 'targets' | 'variant';
/** A `variant` decides the kind of the object that contains it: without it, the object does not exist. */
export type FieldKinds = Readonly<Record<string, FieldKind>>;
export type Typed = string | boolean;
/** By pointer; of a form, only the fields that were changed by hand. */
export type Edits = Readonly<Record<string, Typed>>;
type Json = Readonly<Record<string, unknown>>;

/** The value of a record as a control shows it. */
export function shownValue(record: Json, pointer: string, kind: FieldKind): Typed {
  const value = valueAt(record, pointer);
  if (kind === 'flag') return value === true;
  if (value === null || value === undefined) return '';
  if (kind === 'list') return (value as readonly unknown[]).join(', ');
  if (kind === 'labels') return labelLines(value as Json);
  if (kind === 'targets') return targetLines(value as readonly TypedTarget[]);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return kind === 'time' ? shownTime(text) : text;
}

/** All fields of a form, by pointer, as its controls show them. */
export function shownFields(record: Json, kinds: FieldKinds): Edits {
  return Object.fromEntries(
    Object.entries(kinds).map(([pointer, kind]) => [pointer, shownValue(record, pointer, kind)]),
  );
}

/** Changes as a JSON Merge Patch (RFC 7396); undefined where nothing differs from the record. */
export function patchOf(record: Json, edits: Edits, kinds: FieldKinds): Json | undefined {
  const patch: Record<string, unknown> = {};
  for (const [pointer, typed] of Object.entries(edits)) {
    const kind = kinds[pointer] ?? 'text';
    if (typed === shownValue(record, pointer, kind)) continue;
    const value = kind === 'labels' ? labelPatch(record, pointer, String(typed)) : typedValue(typed, kind);
    setAt(patch, pointer, value);
  }
  removeEmptied(patch, kinds);
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/**
 * The body of a creation: the edits; empty fields take their default.
 * @param empty whether emptied fields are left out, or null, as in a merge patch over a body
 */
export function bodyOf(
  edits: Edits,
  kinds: FieldKinds,
  empty: 'without nulls' | 'with nulls' = 'without nulls',
): Json {
  const body: Record<string, unknown> = {};
  for (const [pointer, typed] of Object.entries(edits)) {
    const kind = kinds[pointer] ?? 'text';
    const value = kind === 'labels' ? readLabels(String(typed)) : typedValue(typed, kind);
    if (value !== null || empty === 'with nulls') setAt(body, pointer, value);
  }
  removeEmptied(body, kinds);
  return body;
}

/** Edits inside an object whose variant was emptied are dropped with it. */
function removeEmptied(changed: Record<string, unknown>, kinds: FieldKinds): void {
  for (const [pointer, kind] of Object.entries(kinds)) {
    if (kind === 'variant' && valueAt(changed, pointer) === null)
      setAt(changed, pointer.slice(0, pointer.lastIndexOf('/')), null);
  }
}

/**
 * Null resets a field to its default. Text in place of a number is sent unchanged, and the API says what is
 * wrong.
 */
function typedValue(typed: Typed, kind: FieldKind): unknown {
  if (typeof typed === 'boolean') return typed;
  const text = kind === 'text' ? typed : typed.trim();
  if (text === '') return null;
  if (kind === 'number') return numberOr(text);
  if (kind === 'targets') return readTargets(text);
  if (kind === 'list') return text.split(/[,\n]/).flatMap((part) => listItem(part.trim()));
  return kind === 'time' ? (apiTime(text) ?? text) : text;
}

/** Only as people write numbers: not `1e3` or `0x10`. */
function numberOr(text: string): number | string {
  return /^-?\d{1,15}(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

const listItem = (part: string): (number | string)[] =>
  part === '' ? [] : [/^\d+$/.test(part) ? Number(part) : part];

function shownTime(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : localMinute(at);
}

function labelLines(labels: Json): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join('\n');
}

/** One label per line; a line without "=" is a label without a value. */
export function readLabels(text: string): Record<string, string> {
  const lines = text.split('\n').map((line) => line.trim());
  const pairs = lines
    .filter((line) => line !== '')
    .map((line): [string, string] => {
      const at = line.indexOf('=');
      return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    });
  return Object.fromEntries(pairs);
}

function labelPatch(record: Json, pointer: string, text: string): Record<string, string | null> {
  const before = (valueAt(record, pointer) ?? {}) as Readonly<Record<string, string>>;
  const after = readLabels(text);
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  const changed = Object.entries(after).filter(([name, value]) => before[name] !== value);
  return Object.fromEntries([...gone.map((name): [string, null] => [name, null]), ...changed]);
}

function valueAt(record: Json, pointer: string): unknown {
  let value: unknown = record;
  for (const name of partsOf(pointer)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Json)[name];
  }
  return value;
}

function setAt(target: Record<string, unknown>, pointer: string, value: unknown): void {
  const parts = partsOf(pointer);
  const last = parts.pop() ?? '';
  let place = target;
  for (const name of parts) {
    place[name] ??= {};
    place = place[name] as Record<string, unknown>;
  }
  place[last] = value;
}

const partsOf = (pointer: string): string[] => pointer.split('/').slice(1);
