/** The parts of JSON Schema (2020-12) in the gateway's schemas that the console reads. Pure. */
export interface JsonSchema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly uniqueItems?: boolean;
  readonly writeOnly?: boolean;
}

/** The alternatives of a schema, without null. */
export function variantsOf(schema: JsonSchema | undefined): readonly JsonSchema[] {
  if (schema === undefined) return [];
  const variants = schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(variantsOf);
  return variants.filter(({ type }) => type !== 'null');
}

/** The schema without the alternative null; keywords of both apply. */
export function plainOf(schema: JsonSchema): JsonSchema {
  const variants = variantsOf(schema);
  const [only] = variants;
  if (only === undefined || variants.length > 1) return schema;
  const { anyOf: _, ...outer } = schema;
  return { ...only, ...outer };
}

/** The texts that a value may be, where the schema lists them. */
export function literalsOf(schema: JsonSchema | undefined): readonly string[] | undefined {
  const values = variantsOf(schema).flatMap((variant) => variant.enum ?? [variant.const]);
  return values.length > 0 && values.every((value) => typeof value === 'string') ? values : undefined;
}

/** The schema of a member of an object. */
export function memberOf(schema: JsonSchema | undefined, name: string): JsonSchema | undefined {
  for (const variant of variantsOf(schema)) {
    if (variant.properties !== undefined && Object.hasOwn(variant.properties, name))
      return variant.properties[name];
    for (const [pattern, member] of Object.entries(variant.patternProperties ?? {})) {
      if (matches(pattern, name)) return member;
    }
    if (typeof variant.additionalProperties === 'object') return variant.additionalProperties;
  }
  return undefined;
}

export function itemOf(schema: JsonSchema | undefined): JsonSchema | undefined {
  return variantsOf(schema).find(({ items }) => items !== undefined)?.items;
}

/** The schema at a place: names of members, and indexes of items. */
export function schemaAt(
  schema: JsonSchema | undefined,
  path: readonly (string | number)[],
): JsonSchema | undefined {
  return path.reduce<JsonSchema | undefined>(
    (at, step) => (typeof step === 'number' ? itemOf(at) : memberOf(at, step)),
    schema,
  );
}

/** The first schema with a title, at any depth. */
export function schemaTitled(schema: unknown, title: string): JsonSchema | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  if ((schema as JsonSchema).title === title) return schema;
  for (const below of Object.values(schema)) {
    const found = schemaTitled(below, title);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A pattern that this browser cannot read says nothing. */
export function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true;
  }
}
