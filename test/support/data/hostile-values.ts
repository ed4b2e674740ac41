/**
 * Values of a JSON schema that have a given text in one place each: in a field, a list, a map, or an object below.
 * They are merge patches (RFC 7396): what else an object must have is only there in items of lists, which are replaced
 * whole.
 */
export interface TextSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly TextSchema[];
  readonly oneOf?: readonly TextSchema[];
  readonly pattern?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, TextSchema>>;
  readonly required?: readonly string[];
  readonly items?: TextSchema;
  readonly additionalProperties?: TextSchema | boolean;
  readonly patternProperties?: Readonly<Record<string, TextSchema>>;
}

/** By name, as in `components.schemas` of an OpenAPI document. */
export type NamedSchemas = Readonly<Record<string, TextSchema>>;

const DEPTH_MAX = 8;
const NAME = 'x';

/** As far as the schema itself takes the text. */
export function valuesWith(
  text: string,
  schema: TextSchema,
  named: NamedSchemas,
  { depth = 0, isItem = false } = {},
): unknown[] {
  if (depth > DEPTH_MAX) return [];
  const within = (below: TextSchema, asItem = isItem): unknown[] =>
    valuesWith(text, below, named, { depth: depth + 1, isItem: asItem });
  const meant = resolved(schema, named);
  const choices = meant.anyOf ?? meant.oneOf;
  if (choices !== undefined) return choices.flatMap((choice) => within(choice));
  if (meant.items !== undefined) return within(meant.items, true).map((value) => [value]);
  if (takes(text, meant)) return [text];
  const ofFields = Object.entries(meant.properties ?? {}).flatMap(([name, field]) =>
    within(field).map((value) => ({ ...(isItem && smallest(meant, named)), [name]: value })),
  );
  const ofMaps = [meant.additionalProperties, ...Object.values(meant.patternProperties ?? {})].flatMap(
    (entry) => (typeof entry === 'object' ? within(entry).map((value) => ({ [NAME]: value })) : []),
  );
  return [...ofFields, ...ofMaps];
}

function takes(text: string, schema: TextSchema): boolean {
  return (
    schema.type === 'string' &&
    schema.enum === undefined &&
    schema.const === undefined &&
    text.length <= (schema.maxLength ?? Infinity) &&
    (schema.pattern === undefined || new RegExp(schema.pattern, 'u').test(text))
  );
}

function resolved(schema: TextSchema, named: NamedSchemas): TextSchema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (named[name] ?? {});
}

/** With the fields that it must have, each as the first that its schema allows. */
function smallest(schema: TextSchema, named: NamedSchemas): Record<string, unknown> {
  const { required = [], properties = {} } = schema;
  return Object.fromEntries(required.map((name) => [name, first(properties[name] ?? {}, named)]));
}

function first(schema: TextSchema, named: NamedSchemas): unknown {
  const meant = resolved(schema, named);
  const choices = meant.anyOf ?? meant.oneOf;
  if (choices?.[0] !== undefined) return first(choices[0], named);
  if (meant.const !== undefined) return meant.const;
  if (meant.enum !== undefined) return meant.enum[0];
  if (meant.items !== undefined) return [first(meant.items, named)];
  if (meant.type === 'boolean') return true;
  if (meant.type === 'integer' || meant.type === 'number') return meant.minimum ?? 1;
  return meant.type === 'string' ? NAME : smallest(meant, named);
}
