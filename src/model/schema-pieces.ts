/** Parts of schemas that policies, explain and the management API share. */
import { Type, type TLiteral, type TSchema, type TUnion } from 'typebox';

/** Options of a schema whose objects have no other fields. */
export const closed = { additionalProperties: false } as const;

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

type Literals<T extends readonly string[]> = { -readonly [K in keyof T]: TLiteral<T[K]> };

/** One of the given texts; the type keeps them as literals. */
export const oneOf = <const T extends readonly string[]>(
  texts: T,
  options: { readonly title?: string; readonly description?: string; readonly default?: T[number] } = {},
): TUnion<Literals<T>> =>
  Type.Union(
    texts.map((text) => Type.Literal(text)),
    options,
  ) as TSchema as TUnion<Literals<T>>;

export const dateTime = (description: string) => Type.String({ format: 'date-time', description });
