/**
 * Converts texts from references to numbers and booleans: `backend_port: ${env:PORT}` gives a text where the
 * schema requires a number.
 */
import { isObject } from '../../lib/is-object.ts';
import { escapeToken } from '../../lib/text/json-pointer.ts';
import type { JsonSchema } from '../../model/json-schema.ts';

/**
 * @param whole pointers of texts that each came from one reference
 * @returns the value, with those texts converted for which the schema requires another type that they represent
 */
export function coerceReferences(value: unknown, schema: JsonSchema, whole: ReadonlySet<string>): unknown {
  return whole.size === 0 ? value : coerce(value, schema, whole, '');
}

function coerce(
  value: unknown,
  schema: JsonSchema | undefined,
  whole: ReadonlySet<string>,
  pointer: string,
): unknown {
  if (schema?.anyOf !== undefined) {
    const meant = schema.anyOf.find(({ type }) => type !== 'null');
    return coerce(value, meant, whole, pointer);
  }
  if (typeof value === 'string') return whole.has(pointer) ? converted(value, schema) : value;
  if (Array.isArray(value)) {
    return value.map((item, index) => coerce(item, schema?.items, whole, `${pointer}/${index}`));
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      coerce(member, memberSchema(schema, name), whole, `${pointer}/${escapeToken(name)}`),
    ]),
  );
}

function memberSchema(schema: JsonSchema | undefined, name: string): JsonSchema | undefined {
  const own = schema?.properties;
  if (own !== undefined && Object.hasOwn(own, name)) return own[name];
  return Object.values(schema?.patternProperties ?? {})[0];
}

function converted(text: string, schema: JsonSchema | undefined): unknown {
  if (schema?.type === 'integer' && /^-?(?:0|[1-9]\d{0,14})$/.test(text)) return Number(text);
  if (schema?.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
