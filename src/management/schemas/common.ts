/**
 * Pieces that the schemas of several resources share. A schema with a `title` becomes a component of that name in the
 * OpenAPI document. Rules that a schema cannot express (canonical paths, uniqueness) are in management/write/rules.
 */
import { Type } from 'typebox';
import {
  LABEL_PATTERN,
  NO_CONTROL_CHARACTERS_PATTERN,
  NO_NUL_PATTERN,
  PATH_PATTERN,
} from '../../model/patterns.ts';
import { closed } from '../../model/schema-pieces.ts';
import { RateLimitSchema } from '../../policy/parts/rate-limit/schema.ts';

/** Maximum length of a page, and the default length. */
export const PAGE_LIMIT_MAX = 500;
export const PAGE_LIMIT_DEFAULT = 50;

export const NamedRateLimitSchema = Type.Object(RateLimitSchema.properties, {
  ...closed,
  title: 'RateLimit',
  description: 'A request limit: `requests` per `window_seconds`, if `enabled` is true.',
});

export const id = (description: string) => Type.String({ format: 'uuid', description, readOnly: true });

export const recordFields = {
  id: id('Id of the record, a UUIDv7.'),
  created_at: Type.String({
    format: 'date-time',
    readOnly: true,
    description: 'When the record was created, in UTC.',
  }),
  updated_at: Type.String({
    format: 'date-time',
    readOnly: true,
    description: 'When the record was last changed, in UTC.',
  }),
} as const;

export const displayName = (description: string) =>
  Type.String({ minLength: 1, maxLength: 200, pattern: NO_CONTROL_CHARACTERS_PATTERN, description });

export const label = (description: string) => Type.String({ pattern: LABEL_PATTERN, description });

/** Text for people: anything but NUL, which databases do not store. */
export const freeText = (description: string) =>
  Type.String({ maxLength: 4096, pattern: NO_NUL_PATTERN, description });

export const labelsMap = Type.Record(
  Type.String({ pattern: '^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$' }),
  Type.String({ maxLength: 256, pattern: NO_CONTROL_CHARACTERS_PATTERN }),
  {
    ...closed,
    maxProperties: 64,
    description: 'Key-value pairs for the operator’s own use. Keys: 1 to 63 of A-Z a-z 0-9 . _ / -',
  },
);

export const path = (description: string) =>
  Type.String({ minLength: 1, maxLength: 1024, pattern: PATH_PATTERN, description });
