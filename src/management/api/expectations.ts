/**
 * Describes what a schema expects, in words that follow the name of a field: "must be an integer from 1 to 9".
 * Pure.
 */
import { PATTERN_WORDS } from '../../model/patterns.ts';
import type { JsonSchema } from '../../model/json-schema.ts';
import { counted } from '../../lib/text/counted.ts';

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
