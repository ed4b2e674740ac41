/** The fields of a JSON schema as rows for tables: path, type with its bounds, default and meaning. Pure. */
import { PATTERN_WORDS } from '../../src/model/patterns.ts';
import type { JsonSchema } from '../../src/model/json-schema.ts';
import { code, sentence } from './markdown.ts';

export interface Field {
  /** `probe.interval_ms`; `days[].date` inside an array; `by_part.*` inside a map. */
  readonly path: string;
  readonly type: string;
  /** '' without a default. */
  readonly default: string;
  readonly isRequired: boolean;
  readonly access: 'read-only' | 'write-only' | 'read-write';
  readonly description: string;
}

/** Objects with a page or section of their own: fields of this type link there and are not expanded. */
const LINKS: Readonly<Record<string, string>> = {
  Policy: '[policy](policy-fields.md)',
  RateLimit: '[rate limit](policy-fields.md#rate_limit)',
  ErrorCode: '[error code](errors.md)',
  WarningCode: '[warning code](warnings.md)',
};

/** The fields of an object, at every depth. */
export function fieldsOf(schema: JsonSchema, prefix = ''): Field[] {
  const { properties = {}, required = [] } = withoutNull(schema);
  return Object.entries(properties).flatMap(([name, inner]) => [
    fieldOf(`${prefix}${name}`, inner, required.includes(name)),
    ...innerFields(`${prefix}${name}`, inner),
  ]);
}

/** What a field holds, in words: `integer, 1 to 100`. */
export function typeOf(schema: JsonSchema): string {
  const link = LINKS[schema.title ?? ''];
  if (link !== undefined) return link;
  if (schema.anyOf !== undefined) return alternatives(schema.anyOf);
  if (schema.const !== undefined) return code(String(schema.const));
  switch (schema.type) {
    case 'string':
      return [textType(schema), range(schema.minLength, schema.maxLength, 'character')]
        .filter(Boolean)
        .join(', ');
    case 'integer':
    case 'number':
      return [schema.type, range(schema.minimum, schema.maximum)].filter(Boolean).join(', ');
    case 'array': {
      const bounds = range(schema.minItems, schema.maxItems, 'item');
      const unique = schema.uniqueItems === true ? 'no item twice' : '';
      return [`array of ${innerType(schema.items ?? {})}`, bounds, unique].filter(Boolean).join(', ');
    }
    case 'object':
      return objectType(schema);
    default:
      return schema.type ?? 'any JSON value';
  }
}

function fieldOf(path: string, schema: JsonSchema, isRequired: boolean): Field {
  const bare = withoutNull(schema);
  const { default: value } = schema.default === undefined ? bare : schema;
  const readOnly = schema.readOnly ?? bare.readOnly;
  const writeOnly = schema.writeOnly ?? bare.writeOnly;
  return {
    path,
    type: typeOf(schema),
    default: value === undefined ? '' : code(JSON.stringify(value)),
    isRequired,
    access: readOnly === true ? 'read-only' : writeOnly === true ? 'write-only' : 'read-write',
    description: [schema.description ?? bare.description, patternWords(bare)].filter(Boolean).join(' '),
  };
}

function innerFields(path: string, schema: JsonSchema): Field[] {
  const bare = withoutNull(schema);
  if (LINKS[bare.title ?? ''] !== undefined) return [];
  if (bare.properties !== undefined) return fieldsOf(bare, `${path}.`);
  if (bare.items !== undefined) return innerFields(`${path}[]`, bare.items);
  const [value] = Object.values(bare.patternProperties ?? {});
  return value === undefined ? [] : innerFields(`${path}.*`, value);
}

/** The schema itself where null is one of two alternatives. */
function withoutNull(schema: JsonSchema): JsonSchema {
  const branches = schema.anyOf?.filter(({ type }) => type !== 'null') ?? [];
  const [only] = branches;
  return branches.length === 1 && only !== undefined ? withoutNull(only) : schema;
}

function alternatives(anyOf: readonly JsonSchema[]): string {
  const texts = anyOf.map((branch) => (branch.type === 'null' ? 'null' : typeOf(branch)));
  return texts.length > 2 ? `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}` : texts.join(' or ');
}

/** The type of an item, with its bounds in brackets: those of the array follow. */
function innerType(schema: JsonSchema): string {
  const [type = '', ...bounds] = typeOf(schema).split(/, (?=\d|at )/);
  return bounds.length === 0 ? type : `${type} (${bounds.join(', ')})`;
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'RFC 3339 time',
  uuid: 'UUID',
  uri: 'URI',
};

const textType = ({ format = '' }: JsonSchema): string => FORMATS[format] ?? 'string';

function objectType(schema: JsonSchema): string {
  const [value] = Object.values(schema.patternProperties ?? {});
  if (value === undefined) return 'object';
  return [`map of ${innerType(value)}`, range(undefined, schema.maxProperties, 'entry')]
    .filter(Boolean)
    .join(', ');
}

function range(min: number | undefined, max: number | undefined, unit = ''): string {
  const bound = max === Number.MAX_SAFE_INTEGER ? undefined : max;
  const isOne = bound === undefined ? min === 1 : bound === 1;
  const units = unit === '' ? '' : isOne ? ` ${unit}` : ` ${unit.replace(/y$/, 'ie')}s`;
  if (min === undefined && bound === undefined) return '';
  if (bound === undefined) return min === 0 && unit !== '' ? '' : `at least ${min}${units}`;
  return min === undefined ? `at most ${bound}${units}` : `${min} to ${bound}${units}`;
}

function patternWords({ pattern, items }: JsonSchema): string {
  const words = PATTERN_WORDS[pattern ?? ''];
  if (words !== undefined) return sentence(words);
  const ofItems = PATTERN_WORDS[items?.pattern ?? ''];
  return ofItems === undefined ? '' : sentence(`each ${ofItems}`);
}
