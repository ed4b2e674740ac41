/**
 * Where secrets lie inside of policies, as the schemas of the parts say (`writeOnly: true`). Storage seals these
 * values, and the management API masks them.
 */
import type { JsonSchema } from '../model/json-schema.ts';
import { jsonSchema } from '../model/json-schema.ts';
import type { SecretPlaces } from '../model/policy.ts';
import type { PolicyPart } from './part.ts';
import { PARTS } from './registry.ts';

export const SECRET_PLACES: SecretPlaces = secretPlaces(PARTS);

export function secretPlaces(parts: readonly PolicyPart[]): SecretPlaces {
  return parts.flatMap(({ name, schema }) => placesIn(jsonSchema(schema), [name]));
}

/** Objects alone: a secret in a list or under a free name could not be told from its neighbours. */
function placesIn({ writeOnly, properties, anyOf }: JsonSchema, place: readonly string[]): SecretPlaces {
  if (writeOnly === true) return [place];
  return [
    ...Object.entries(properties ?? {}).flatMap(([name, schema]) => placesIn(schema, [...place, name])),
    ...(anyOf ?? []).flatMap((schema) => placesIn(schema, place)),
  ];
}
