/**
 * Describes what a schema expects, in words that follow the name of a field: "must be an integer from 1 to 9".
 * Names what was probably meant instead of an unknown name. Pure.
 */
import { namesMeant } from '../../lib/nearest.ts';
import { PATTERN_WORDS } from '../../model/patterns.ts';
import type { JsonSchema } from '../../model/json-schema.ts';
import { counted } from '../../lib/text/counted.ts';

/** A longer list of names would hide what is wrong. The policy of an app has room for all its parts. */
const NAMES_LISTED_MAX = 20;

const FORMATS: Readonly<Record<string, string>> = {
  uri: 'must be an absolute URI',
  uuid: 'must be a UUID',
  'date-time': 'must be an RFC 3339 date and time such as 2030-01-31T12:00:00Z',
};

/** @param keyword the keyword of JSON Schema that the value violates */
export function expectation(schema: JsonSchema, keyword: string): string {
  switch (keyword) {
    case 'minLength':
      return schema.minLength === 1
        ? 'must not be empty'
        : `must have at least ${counted(schema.minLength ?? 0, 'character')}`;
    case 'maxLength':
      return `must have at most ${counted(schema.maxLength ?? 0, 'character')}`;
    case 'pattern':
      return PATTERN_WORDS[schema.pattern ?? ''] ?? `must match ${schema.pattern}`;
    case 'format':
      return FORMATS[schema.format ?? ''] ?? `must be a ${schema.format}`;
    case 'minItems':
      return `must have at least ${counted(schema.minItems ?? 0, 'item')}`;
    case 'maxItems':
      return `must have at most ${counted(schema.maxItems ?? 0, 'item')}`;
    case 'maxProperties':
      return `must have at most ${counted(schema.maxProperties ?? 0, 'member')}`;
    case 'const':
      return `must be ${JSON.stringify(schema.const)}`;
    default:
      return `must be ${typeName(schema)}`;
  }
}

/** What a union with constants expects as a whole; undefined for other unions. */
export function unionExpectation(union: JsonSchema): string | undefined {
  const constants = constantsOf(union);
  if (constants.length === 0) return undefined;
  const orNull = union.anyOf?.some((branch) => branch.type === 'null') === true ? ' or null' : '';
  return `must be one of ${constants.join(', ')}${orNull}`;
}

/**
 * What was given, for a value of another type that looks right when it is read: `"80"` for a number, a list for an
 * object. Empty otherwise.
 */
export function insteadOf({ type }: JsonSchema, value: unknown): string {
  if (type === 'object') return Array.isArray(value) ? ', not an array' : '';
  return typeof value === 'string' && ['integer', 'number', 'boolean', 'array'].includes(type ?? '')
    ? ', not a string'
    : '';
}

/** Says that a member is not allowed, and which name was probably meant or what names must be like. */
export function unknownMember(name: string, schema: JsonSchema): string {
  const { properties, patternProperties = {} } = schema;
  if (properties === undefined) {
    const [pattern, ...others] = Object.keys(patternProperties);
    if (pattern === undefined || others.length > 0) return 'is not an allowed key';
    return `is not an allowed key: it ${expectation({ pattern }, 'pattern')}`;
  }
  const known = Object.keys(properties);
  const near = namesMeant(name, known);
  const meant = near.length > 0 ? near : onlyInside(name, properties);
  if (meant.length === 0 && known.length > 0 && known.length <= NAMES_LISTED_MAX)
    return `is not a known field; expected ${known.length === 1 ? 'only' : 'one of'} ${known.map((each) => `"${each}"`).join(', ')}`;
  if (meant.length === 0) return 'is not a known field';
  return `is not a known field; did you mean ${meant.map((each) => `"${each}"`).join(' or ')}?`;
}

/** For example `default_policy/auth` for `auth`, if no other member has a field of that name. */
function onlyInside(name: string, properties: Readonly<Record<string, JsonSchema>>): readonly string[] {
  const having = Object.keys(properties).filter((outer) => hasMember(properties[outer] ?? {}, name));
  return having.length === 1 ? [`${having[0]}/${name}`] : [];
}

function hasMember({ properties = {}, anyOf = [] }: JsonSchema, name: string): boolean {
  return Object.hasOwn(properties, name) || anyOf.some((branch) => hasMember(branch, name));
}

function constantsOf(schema: JsonSchema): string[] {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap(constantsOf);
  return schema.const === undefined ? [] : [JSON.stringify(schema.const)];
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
