/**
 * Checks a JSON value against a schema and says for each wrong field what was expected, in words for people. It
 * understands the keywords of model/schemas/json-schema.ts, changes nothing in the value, fills in no defaults and
 * converts no types. A test compares its verdicts with TypeBox's own compiler on random values.
 */
import { Format } from 'typebox/format';
import type { FieldError } from '../model/errors.ts';
import type { JsonSchema } from '../model/schemas/json-schema.ts';

/** More errors than these are not reported. */
export const FIELD_ERRORS_MAX = 50;

const FORMATS: Readonly<Record<string, { check: (text: string) => boolean; expected: string }>> = {
  uri: { check: Format.IsUri, expected: 'must be an absolute URI' },
  uuid: { check: Format.IsUuid, expected: 'must be a UUID' },
  'date-time': {
    check: Format.IsDateTime,
    expected: 'must be an RFC 3339 date and time such as 2030-01-31T12:00:00Z',
  },
};

const patterns = new Map<string, RegExp>();

/** @returns one entry per wrong field in the order of the schema, at most `FIELD_ERRORS_MAX`; empty when valid */
export function validate(schema: JsonSchema, value: unknown): FieldError[] {
  const errors: FieldError[] = [];
  check(schema, value, '', errors);
  return errors.slice(0, FIELD_ERRORS_MAX);
}

function check(schema: JsonSchema, value: unknown, pointer: string, errors: FieldError[]): void {
  if (errors.length >= FIELD_ERRORS_MAX) return;
  if (schema.anyOf !== undefined) return checkAnyOf(schema.anyOf, value, pointer, errors);
  if (schema.const !== undefined) {
    if (value !== schema.const) errors.push({ pointer, detail: `must be ${JSON.stringify(schema.const)}` });
    return;
  }
  if (schema.type === undefined) return;
  if (!hasType(schema.type, value)) {
    errors.push({ pointer, detail: `must be ${typeName(schema)}` });
  } else if (typeof value === 'string') {
    checkString(schema, value, pointer, errors);
  } else if (typeof value === 'number') {
    checkNumber(schema, value, pointer, errors);
  } else if (Array.isArray(value)) {
    checkArray(schema, value, pointer, errors);
  } else if (typeof value === 'object' && value !== null) {
    checkObject(schema, value as Record<string, unknown>, pointer, errors);
  }
}

/** Reports on the one alternative that was meant, as far as that can be told; `null` is only ever an extra. */
function checkAnyOf(
  branches: readonly JsonSchema[],
  value: unknown,
  pointer: string,
  errors: FieldError[],
): void {
  const perBranch: FieldError[][] = [];
  for (const branch of branches) {
    const found: FieldError[] = [];
    check(branch, value, pointer, found);
    if (found.length === 0) return;
    if (branch.type !== 'null') perBranch.push(found);
  }
  const orNull = perBranch.length < branches.length ? ' or null' : '';
  const constants = branches.filter((branch) => branch.type !== 'null').flatMap(constantsOf);
  if (constants.length > 0) {
    errors.push({ pointer, detail: `must be one of ${constants.join(', ')}${orNull}` });
    return;
  }
  for (const error of perBranch[0] ?? []) {
    errors.push(error.pointer === pointer ? { pointer, detail: error.detail + orNull } : error);
  }
}

function constantsOf(schema: JsonSchema): string[] {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap(constantsOf);
  return schema.const === undefined ? [] : [JSON.stringify(schema.const)];
}

function hasType(type: NonNullable<JsonSchema['type']>, value: unknown): boolean {
  switch (type) {
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'array':
      return Array.isArray(value);
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

function typeName(schema: JsonSchema): string {
  switch (schema.type) {
    case 'object':
      return 'an object';
    case 'array':
      return 'an array';
    case 'integer':
      return `an integer${range(schema)}`;
    case 'number':
      return `a number${range(schema)}`;
    case 'null':
      return 'null';
    default:
      return `a ${schema.type}`;
  }
}

function range({ minimum, maximum }: JsonSchema): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? '' : ` of at most ${maximum}`;
}

function checkNumber(schema: JsonSchema, value: number, pointer: string, errors: FieldError[]): void {
  const tooSmall = schema.minimum !== undefined && value < schema.minimum;
  const tooLarge = schema.maximum !== undefined && value > schema.maximum;
  if (tooSmall || tooLarge) errors.push({ pointer, detail: `must be ${typeName(schema)}` });
}

function checkString(schema: JsonSchema, value: string, pointer: string, errors: FieldError[]): void {
  const { minLength = 0, maxLength = Infinity, pattern, format } = schema;
  // JSON Schema counts characters, not UTF-16 units.
  const length = value.length > maxLength || minLength > 1 ? Array.from(value).length : value.length;
  if (length < minLength) {
    const detail = minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters`;
    errors.push({ pointer, detail });
  } else if (length > maxLength) {
    errors.push({ pointer, detail: `must have at most ${maxLength} characters` });
  } else if (pattern !== undefined && !compiled(pattern).test(value)) {
    errors.push({ pointer, detail: patternDetail(pattern) });
  } else if (format !== undefined && FORMATS[format]?.check(value) === false) {
    errors.push({ pointer, detail: FORMATS[format].expected });
  }
}

function patternDetail(pattern: string): string {
  return pattern === '^/' ? 'must start with "/"' : `must match ${pattern}`;
}

function checkArray(
  schema: JsonSchema,
  value: readonly unknown[],
  pointer: string,
  errors: FieldError[],
): void {
  if (value.length < (schema.minItems ?? 0)) {
    errors.push({ pointer, detail: `must have at least ${schema.minItems} items` });
  } else if (value.length > (schema.maxItems ?? Infinity)) {
    errors.push({ pointer, detail: `must have at most ${schema.maxItems} items` });
    return;
  }
  const { items } = schema;
  if (items !== undefined) value.forEach((item, index) => check(items, item, `${pointer}/${index}`, errors));
  if (schema.uniqueItems !== true) return;
  const seen = new Set<string>();
  value.forEach((item, index) => {
    const key = JSON.stringify(item) ?? '';
    if (seen.has(key)) errors.push({ pointer: `${pointer}/${index}`, detail: 'must not appear twice' });
    seen.add(key);
  });
}

function checkObject(
  schema: JsonSchema,
  value: Record<string, unknown>,
  pointer: string,
  errors: FieldError[],
): void {
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) errors.push({ pointer: at(pointer, name), detail: 'is required' });
  }
  if (Object.keys(value).length > (schema.maxProperties ?? Infinity)) {
    errors.push({ pointer, detail: `must have at most ${schema.maxProperties} members` });
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    const known = propertySchema(schema, name);
    if (known !== undefined) check(known, member, at(pointer, name), errors);
    else if (schema.additionalProperties === false) {
      const detail = schema.properties === undefined ? 'is not an allowed key' : 'is not a known field';
      errors.push({ pointer: at(pointer, name), detail });
    }
  }
}

function propertySchema(schema: JsonSchema, name: string): JsonSchema | undefined {
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, name))
    return schema.properties[name];
  for (const [pattern, member] of Object.entries(schema.patternProperties ?? {})) {
    if (compiled(pattern).test(name)) return member;
  }
  return undefined;
}

/** One reference token more on an RFC 6901 pointer. */
function at(pointer: string, name: string): string {
  return `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Patterns come from schemas only, never from a request, so the map is as small as they are. */
function compiled(pattern: string): RegExp {
  let expression = patterns.get(pattern);
  if (expression === undefined) patterns.set(pattern, (expression = new RegExp(pattern, 'u')));
  return expression;
}
