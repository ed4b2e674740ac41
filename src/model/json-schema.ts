/**
 * The part of JSON Schema (2020-12) that Headgate's schemas use, as plain data, and a function that derives the schema
 * of a PATCH body from the schema of a POST body.
 */
import type { TSchema } from 'typebox';

export interface JsonSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | 'null';
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly readOnly?: boolean;
  readonly writeOnly?: boolean;
  readonly const?: string | number | boolean;
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly maxProperties?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** A TypeBox schema is a JSON Schema; this only changes its type. */
export const jsonSchema = (schema: TSchema): JsonSchema => schema;

/**
 * The schema of a merge patch (RFC 7396) for what `input` describes: nothing is required, and every field, at every
 * depth, may be null, which restores its default. Arrays are replaced as a whole, so their items do not change. A named
 * schema inside gets a named patch schema: `Policy` is patched by a `PolicyPatch`.
 */
export function patchSchema(input: JsonSchema, title: string): JsonSchema {
  return { ...patchOf(input), title };
}

function patchOf(schema: JsonSchema): JsonSchema {
  if (schema.anyOf !== undefined) {
    const { anyOf, ...rest } = schema;
    return { ...rest, anyOf: anyOf.map(patchOf) };
  }
  if (schema.type !== 'object') return schema;
  const { required: _required, title, ...rest } = schema;
  return {
    ...rest,
    ...(title !== undefined && { title: `${title}Patch` }),
    ...(schema.properties && { properties: nullableValues(schema.properties) }),
    ...(schema.patternProperties && { patternProperties: nullableValues(schema.patternProperties) }),
  };
}

function nullableValues(schemas: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  const patched: Record<string, JsonSchema> = {};
  for (const [name, schema] of Object.entries(schemas)) patched[name] = orNull(patchOf(schema));
  return patched;
}

function orNull(schema: JsonSchema): JsonSchema {
  if (schema.anyOf?.some((branch) => branch.type === 'null') === true) return schema;
  if (schema.anyOf !== undefined) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] };
  return { anyOf: [schema, { type: 'null' }] };
}

const alternatives = new WeakMap<JsonSchema, readonly string[]>();

/**
 * Requires one of several fields of an object. `required` cannot express this, and generators of clients handle
 * `anyOf` badly. Stored by schema object.
 */
export function requireOneOf<T extends JsonSchema>(schema: T, names: readonly string[] | undefined): T {
  if (names !== undefined) alternatives.set(schema, names);
  return schema;
}

/** A value of the schema needs at least one of these fields; undefined when there is no such rule. */
export function alternativesOf(schema: JsonSchema): readonly string[] | undefined {
  return alternatives.get(schema);
}
