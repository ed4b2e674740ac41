import { describe, expect, it } from 'vitest';
import { LABEL_PATTERN } from '../../src/model/patterns.ts';
import type { JsonSchema } from '../../src/model/json-schema.ts';
import { fieldsOf, typeOf } from './schema-fields.ts';

describe('a type in words', () => {
  it.each<[JsonSchema, string]>([
    [{ type: 'boolean' }, 'boolean'],
    [{ type: 'integer', minimum: 1, maximum: 5 }, 'integer, 1 to 5'],
    [{ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, 'integer, at least 0'],
    [{ type: 'string', minLength: 1, maxLength: 20 }, 'string, 1 to 20 characters'],
    [{ type: 'string', format: 'date-time' }, 'RFC 3339 time'],
    [{ anyOf: [{ const: 'a' }, { const: 'b' }, { type: 'null' }] }, '`a`, `b` or null'],
    [
      { type: 'array', items: { type: 'string', maxLength: 9 }, maxItems: 3 },
      'array of string (at most 9 characters), at most 3 items',
    ],
    [{ type: 'array', items: { type: 'object' }, minItems: 1 }, 'array of object, at least 1 item'],
    [
      { type: 'object', patternProperties: { '^': { type: 'integer' } }, maxProperties: 2 },
      'map of integer, at most 2 entries',
    ],
    [{ type: 'object', title: 'Policy', properties: {} }, '[policy](policy-fields.md)'],
    [{}, 'any JSON value'],
  ])('%j is "%s"', (schema, words) => {
    expect(typeOf(schema)).toBe(words);
  });
});

describe('the fields of an object', () => {
  it('are listed at every depth, with default, access and meaning', () => {
    const inner: JsonSchema = {
      type: 'object',
      required: ['at'],
      properties: { at: { type: 'string', readOnly: true } },
    };
    const schema: JsonSchema = {
      type: 'object',
      required: ['label'],
      properties: {
        label: { type: 'string', pattern: LABEL_PATTERN, description: 'The label.' },
        count: { anyOf: [{ type: 'integer', default: 5, description: 'How many.' }, { type: 'null' }] },
        list: { type: 'array', items: inner },
        map: { type: 'object', patternProperties: { '^': inner } },
        secret: { type: 'string', writeOnly: true },
      },
    };
    expect(
      fieldsOf(schema).map(({ path, isRequired, default: value, access }) => [
        path,
        isRequired,
        value,
        access,
      ]),
    ).toEqual([
      ['label', true, '', 'read-write'],
      ['count', false, '`5`', 'read-write'],
      ['list', false, '', 'read-write'],
      ['list[].at', true, '', 'read-only'],
      ['map', false, '', 'read-write'],
      ['map.*.at', true, '', 'read-only'],
      ['secret', false, '', 'write-only'],
    ]);
    expect(
      fieldsOf(schema)
        .slice(0, 2)
        .map(({ description }) => description),
    ).toEqual(['The label. Must be 1 to 64 letters, digits and ._~- and neither "." nor "..".', 'How many.']);
  });
});
