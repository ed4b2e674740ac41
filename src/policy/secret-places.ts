/**
 * Where policies contain secrets, as the parts declare it. Storage seals those that a schema marks (`writeOnly:
 * true`). The management API masks them, and what a part lists in `masked`.
 */
import type { JsonSchema } from '../model/json-schema.ts';
import { jsonSchema } from '../model/json-schema.ts';
import type { MaskedPlace, SecretPlaces } from '../model/policy.ts';
import type { PolicyPart } from './part.ts';
import { PARTS } from './registry.ts';

export const SECRET_PLACES: SecretPlaces = secretPlaces(PARTS);
export const MASKED_PLACES: readonly MaskedPlace[] = maskedPlaces(PARTS);

export function secretPlaces(parts: readonly PolicyPart[]): SecretPlaces {
  return parts.flatMap(({ name, schema }) => placesIn(jsonSchema(schema), [name]));
}

function maskedPlaces(parts: readonly PolicyPart[]): readonly MaskedPlace[] {
  return [
    ...secretPlaces(parts),
    ...parts.flatMap(({ name, masked = [] }) => masked.map((place) => [name, ...place])),
  ];
}

/** Objects only: a secret in a list or under a free name could not be distinguished from its neighbours. */
function placesIn({ writeOnly, properties, anyOf }: JsonSchema, place: readonly string[]): SecretPlaces {
  if (writeOnly === true) return [place];
  return [
    ...Object.entries(properties ?? {}).flatMap(([name, schema]) => placesIn(schema, [...place, name])),
    ...(anyOf ?? []).flatMap((schema) => placesIn(schema, place)),
  ];
}
