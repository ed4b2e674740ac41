/**
 * Checks a JSON value against a schema and describes for each wrong field what was expected, in words for people.
 * TypeBox does the checking, with a function compiled once per schema; this file only converts its errors into field
 * errors: one per field, and for a union only the alternative that was probably meant. Changes nothing in the value,
 * fills in no defaults and converts no types. Owns the compiled functions, and sets TypeBox's limit of errors for the
 * process.
 */
import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { Settings } from 'typebox/system';
import { escapeToken, tokensOf, valueAt } from '../../lib/text/json-pointer.ts';
import type { FieldError } from '../../model/errors.ts';
import { alternativesOf, type JsonSchema } from '../../model/json-schema.ts';
import { expectation, insteadOf, unionExpectation, unknownMember } from './expectations.ts';

/** Limit of reported errors. */
export const FIELD_ERRORS_MAX = 50;
/** Limit of TypeBox errors that are read; one field may have several. */
const RAW_ERRORS_MAX = 1_000;
/**
 * TypeBox takes quadratic time to find duplicates. No schema that forbids them allows this many items, so an
 * array that is too long stays too long when it is cut here.
 */
const ITEMS_EXPLAINED_MAX = 1_001;

Settings.Set({ maxErrors: RAW_ERRORS_MAX });

/** Schemas are created when the program starts, so their number is that of operations and query parameters. */
const validators = new WeakMap<JsonSchema, Validator>();

/**
 * @param source in a query every value is text, so that its type says nothing
 * @returns one entry per wrong field in the order of the schema, at most `FIELD_ERRORS_MAX`; empty when valid
 */
export function validate(
  schema: JsonSchema,
  value: unknown,
  source: 'json' | 'query' = 'json',
): FieldError[] {
  let validator = validators.get(schema);
  if (validator === undefined) validators.set(schema, (validator = Compile(schema as TSchema)));
  const missing = missingAlternatives(schema, value);
  if (validator.Check(value)) return missing;
  const byPointer = new Map<string, FieldError>();
  const explained = shortened(value, [schema]);
  for (const raw of validator.Errors(explained)) {
    for (const error of fieldErrors(schema, raw, source === 'json' ? explained : undefined)) {
      if (!byPointer.has(error.pointer)) byPointer.set(error.pointer, error);
    }
    if (byPointer.size >= FIELD_ERRORS_MAX) break;
  }
  for (const error of missing) byPointer.set(error.pointer, error);
  if (byPointer.size === 0) return [{ pointer: '', detail: 'is not valid' }];
  return [...byPointer.values()].slice(0, FIELD_ERRORS_MAX);
}

/**
 * One TypeBox error in words; empty when another error of the same field describes it better.
 * @param value the whole value, if its types say what was meant
 */
function fieldErrors(root: JsonSchema, raw: TLocalizedValidationError, value: unknown): FieldError[] {
  const found = locate(root, raw);
  if (found === undefined) return [];
  const { schema, union } = found;
  const pointer = raw.instancePath;
  const wanted = union && unionExpectation(union);
  if (wanted !== undefined) return [{ pointer, detail: wanted }];
  switch (raw.keyword) {
    case 'required':
      return raw.params.requiredProperties.map((name) => ({
        pointer: `${pointer}/${escapeToken(name)}`,
        detail: 'is required',
      }));
    case 'boolean': {
      // Additional members have the schema `false`.
      return [{ pointer, detail: unknownMember(lastToken(pointer), schema) }];
    }
    case 'uniqueItems':
      return raw.params.duplicateItems.map((index) => ({
        pointer: `${pointer}/${index}`,
        detail: 'must not appear twice',
      }));
    case 'additionalProperties':
    case 'anyOf':
      return [];
    default: {
      const wanted = expectation(schema, raw.keyword);
      const orNull =
        union?.anyOf?.some((branch) => branch.type === 'null') === true ? orNullAfter(wanted) : '';
      const instead = raw.keyword === 'type' ? insteadOf(schema, valueAt(value, pointer)) : '';
      return [{ pointer, detail: wanted + orNull + instead }];
    }
  }
}

/** Where "or null" at the end would belong to the last words only. */
function orNullAfter(wanted: string): string {
  return /;|^must not | neither /.test(wanted) ? '; null is allowed, too' : ' or null';
}

interface Found {
  /** The schema where the error arose; for an additional member, the schema of the object. */
  readonly schema: JsonSchema;
  /** The outermost union around it for the same value, if there is one. */
  readonly union: JsonSchema | undefined;
}

/**
 * Follows an error's path through the schema. Undefined when it leads into an alternative that was not meant:
 * in a union, the first alternative except `null` is meant, and unions of constants are described as a whole.
 */
function locate(
  root: JsonSchema,
  { schemaPath, instancePath }: TLocalizedValidationError,
): Found | undefined {
  const depth = instancePath.split('/').length;
  let schema = root;
  let union: JsonSchema | undefined;
  let schemaDepth = 1;
  const steps = tokensOf(schemaPath);
  for (let index = 0; index < steps.length; index++) {
    const keyword = steps[index];
    if (keyword === 'additionalProperties') break;
    if (keyword === 'anyOf') {
      if (schemaDepth === depth) union ??= schema;
      const branch = Number(steps[++index]);
      const branches = schema.anyOf ?? [];
      const isTold = unionExpectation(schema) !== undefined && schemaDepth === depth;
      if (!isTold && branch !== branches.findIndex(({ type }) => type !== 'null')) return undefined;
      schema = branches[branch] ?? schema;
      continue;
    }
    schemaDepth++;
    if (keyword === 'items') schema = schema.items ?? schema;
    else if (keyword === 'properties') schema = schema.properties?.[steps[++index] ?? ''] ?? schema;
    else schema = schema.patternProperties?.[steps[++index] ?? ''] ?? schema;
  }
  if (schema.anyOf !== undefined) union ??= schema;
  return { schema, union };
}

/**
 * A copy with arrays cut to the length that is worth explaining. Arrays whose items may repeat stay whole,
 * because explaining them is fast.
 * @param schemas schemas of the value and of its alternatives; empty for a value that no schema describes
 */
function shortened(value: unknown, schemas: readonly JsonSchema[]): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const known = schemas.flatMap(withAlternatives);
  if (Array.isArray(value)) {
    const arrays = known.filter(({ type }) => type === 'array');
    const isWhole = arrays.length > 0 && arrays.every(({ uniqueItems }) => uniqueItems !== true);
    const items = arrays.flatMap((schema) => schema.items ?? []);
    return value.slice(0, isWhole ? Infinity : ITEMS_EXPLAINED_MAX).map((item) => shortened(item, items));
  }
  const ofMember = (name: string): JsonSchema[] =>
    known.flatMap(({ properties, patternProperties = {} }) =>
      properties !== undefined && Object.hasOwn(properties, name)
        ? (properties[name] ?? [])
        : Object.values(patternProperties),
    );
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, shortened(member, ofMember(name))]),
  );
}

function withAlternatives(schema: JsonSchema): JsonSchema[] {
  return [schema, ...(schema.anyOf ?? []).flatMap(withAlternatives)];
}

/** Whether a schema or one inside it requires one field of several. */
const withChoice = new WeakMap<JsonSchema, boolean>();

/** An error for each object in `value` that has none of the fields of which at least one is required. */
function missingAlternatives(schema: JsonSchema, value: unknown, pointer = ''): FieldError[] {
  if (typeof value !== 'object' || value === null || !hasChoice(schema)) return [];
  const inside = Object.entries(value).flatMap(([name, member]) =>
    membersOf(schema, name).flatMap((each) =>
      missingAlternatives(each, member, `${pointer}/${escapeToken(name)}`),
    ),
  );
  const names = alternativesOf(schema);
  if (names === undefined || names.some((name) => Object.hasOwn(value, name))) return inside;
  const [first = '', ...others] = names;
  return [
    { pointer: `${pointer}/${first}`, detail: `is required, unless ${others.join(' or ')} is given` },
    ...inside,
  ];
}

function hasChoice(schema: JsonSchema): boolean {
  let found = withChoice.get(schema);
  if (found !== undefined) return found;
  found = alternativesOf(schema) !== undefined || insideOf(schema).some(hasChoice);
  withChoice.set(schema, found);
  return found;
}

function insideOf({ properties, patternProperties, items, anyOf = [] }: JsonSchema): JsonSchema[] {
  const members = [...Object.values(properties ?? {}), ...Object.values(patternProperties ?? {})];
  return [...members, ...(items === undefined ? [] : [items]), ...anyOf];
}

function membersOf(schema: JsonSchema, name: string): JsonSchema[] {
  const { properties, patternProperties = {}, items, anyOf = [] } = schema;
  const own = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
  const all = own === undefined ? [...Object.values(patternProperties), ...(items ? [items] : [])] : [own];
  return [...all, ...anyOf.flatMap((branch) => membersOf(branch, name))];
}

function lastToken(pointer: string): string {
  return tokensOf(pointer).at(-1) ?? '';
}
