/**
 * Turns `field=value` on a command line into a body of the management API. A dot leads into an object, and the
 * schema of a field decides the type of its value: `default_policy.rate_limit.requests=10` sets a number, `name=10`
 * a text. Pure, except for files that a value names.
 */
import { isObject } from '../../lib/is-object.ts';
import type { JsonSchema } from '../../model/json-schema.ts';
import { CliError, printable } from '../io.ts';

export interface FieldReader {
  /** Returns the content of the file that `field=@file` names; `-` is standard input. */
  readonly file: (path: string) => string;
}

type Fields = Record<string, unknown>;

/** `policy.` stands for the policy field of each kind of record. */
const POLICY_FIELDS = ['default_policy', 'policy_override'] as const;
/** Names that no field of a body has. */
const REFUSED = new Set(['__proto__', 'constructor', 'prototype']);

/** @throws CliError for a text that is not an assignment, and for a field that is given twice */
export function fieldsOf(assignments: readonly string[], schema: JsonSchema, reader: FieldReader): Fields {
  const fields: Fields = {};
  for (const assignment of assignments) {
    const equals = assignment.indexOf('=');
    if (equals < 1) {
      throw new CliError(`"${printable(assignment)}" is not ${assignmentForm(schema)}`);
    }
    const path = assignment.slice(0, equals).split('.');
    if (path.some((name) => name === '' || REFUSED.has(name))) {
      throw new CliError(`"${printable(assignment.slice(0, equals))}" is not the name of a field`);
    }
    const text = assignment.slice(equals + 1);
    if (isMap(schema) && /,.+=/.test(text)) {
      throw new CliError(`"${printable(assignment)}" has several weights; expected spaces between them`);
    }
    const given = text.startsWith('@') ? reader.file(text.slice(1)) : text;
    assign(fields, withPolicyName(path, schema), given, schema);
  }
  return fields;
}

function assignmentForm(schema: JsonSchema): string {
  return isMap(schema)
    ? 'name=value, such as stable=90'
    : 'field=value, such as description="An app"; a name with spaces needs quotes';
}

/** The weights of `traffic set`; bodies of records have named fields. */
const isMap = ({ properties }: JsonSchema): boolean => properties === undefined;

function withPolicyName(path: readonly string[], schema: JsonSchema): readonly string[] {
  if (path[0] !== 'policy') return path;
  const name = POLICY_FIELDS.find((field) => Object.hasOwn(schema.properties ?? {}, field));
  return name === undefined ? path : [name, ...path.slice(1)];
}

function assign(fields: Fields, path: readonly string[], text: string, schema: JsonSchema): void {
  let target = fields;
  let at: JsonSchema | undefined = schema;
  for (const [index, name] of path.entries()) {
    const rest = path.slice(index).join('.');
    const isLast = index === path.length - 1 || holdsScalars(at);
    // The keys of a map, such as labels, may have dots.
    const key: string = isLast ? rest : name;
    const isRequired = variantsOf(at).some(({ required }) => required?.includes(key));
    at = memberOf(at, key);
    if (!isLast) {
      target = objectAt(target, key, path);
      continue;
    }
    if (Object.hasOwn(target, key)) throw new CliError(`${printable(path.join('.'))} is given twice`);
    // In a merge patch, null restores the default. A text that must be there cannot be cleared.
    const isCleared = text === 'null' && !(isRequired && isText(at));
    target[key] = isCleared ? null : typed(text, at);
    return;
  }
}

function objectAt(target: Fields, key: string, path: readonly string[]): Fields {
  const known = Object.hasOwn(target, key) ? target[key] : undefined;
  if (known === undefined) {
    const made: Fields = {};
    target[key] = made;
    return made;
  }
  if (typeof known === 'object' && known !== null && !Array.isArray(known)) return known as Fields;
  throw new CliError(`${printable(path.join('.'))} is given twice`);
}

/** A map of texts or numbers. */
function holdsScalars(schema: JsonSchema | undefined): boolean {
  const object = variantsOf(schema).find(({ type }) => type === 'object');
  if (object?.patternProperties === undefined || object.properties !== undefined) return false;
  return Object.values(object.patternProperties).every((member) =>
    variantsOf(member).every(({ type }) => type !== 'object'),
  );
}

function memberOf(schema: JsonSchema | undefined, name: string): JsonSchema | undefined {
  for (const { properties, patternProperties } of variantsOf(schema)) {
    if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
    const [pattern] = Object.values(patternProperties ?? {});
    if (pattern !== undefined) return pattern;
  }
  return undefined;
}

function variantsOf(schema: JsonSchema | undefined): readonly JsonSchema[] {
  if (schema === undefined) return [];
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(variantsOf);
}

/** A value that has no allowed type stays text: the gateway then says what it expects. */
function typed(text: string, schema: JsonSchema | undefined): unknown {
  const variants = variantsOf(schema);
  const allows = (...types: readonly JsonSchema['type'][]): boolean =>
    variants.some(({ type }) => types.includes(type));
  if (text === 'null' && !isText(schema)) return null;
  if (allows('boolean') && /^(?:true|false)$/.test(text)) return text === 'true';
  if (allows('integer', 'number') && /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/.test(text)) return Number(text);
  if (allows('object') && text.startsWith('{')) return json(text);
  const list = variants.find(({ type }) => type === 'array');
  if (list === undefined) return text;
  if (text.startsWith('[')) return json(text);
  return text === '' ? [] : text.split(',').map((item) => typed(item.trim(), list.items));
}

/** Whether a field only accepts texts. */
function isText(schema: JsonSchema | undefined): boolean {
  const [first, ...others] = variantsOf(schema);
  return first?.type === 'string' && others.length === 0;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CliError('A value that begins with { or [ must be valid JSON');
  }
}

/** @returns the fields of both; where both have a field, the second one applies */
export function merged(first: Fields, second: Readonly<Fields>): Fields {
  const both: Fields = { ...first };
  for (const [name, value] of Object.entries(second)) {
    const known = both[name];
    both[name] = isObject(known) && isObject(value) ? merged(known, value) : value;
  }
  return both;
}
