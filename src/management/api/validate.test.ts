import fc from 'fast-check';
import { Type, type TSchema } from 'typebox';
import { describe, expect, it } from 'vitest';
import { ApiKeyInputSchema } from '../schemas/api-key.ts';
import { AppInputSchema } from '../schemas/app.ts';
import { EndpointInputSchema } from '../schemas/endpoint.ts';
import { jsonSchema, patchSchema, requireOneOf, type JsonSchema } from '../../model/json-schema.ts';
import { REQUEST_PATH_PATTERN } from '../../model/patterns.ts';
import { RevisionInputSchema } from '../schemas/revision.ts';
import { VersionInputSchema } from '../schemas/version.ts';
import { FIELD_ERRORS_MAX, validate } from './validate.ts';

const closed = { additionalProperties: false };

describe('validate', () => {
  it.each<[string, TSchema, unknown, string, string]>([
    ['wrong type', Type.String(), 1, '', 'must be a string'],
    ['integer', Type.Integer({ minimum: 1 }), '5', '', 'must be an integer of at least 1, not a string'],
    ['fraction', Type.Integer({ minimum: 1, maximum: 9 }), 1.5, '', 'must be an integer from 1 to 9'],
    ['too small', Type.Integer({ minimum: 1 }), 0, '', 'must be an integer of at least 1'],
    ['too large', Type.Integer({ maximum: 9 }), 10, '', 'must be an integer of at most 9'],
    ['boolean', Type.Boolean(), 'true', '', 'must be a boolean, not a string'],
    ['no boolean', Type.Boolean(), 1, '', 'must be a boolean'],
    ['empty text', Type.String({ minLength: 1 }), '', '', 'must not be empty'],
    ['short text', Type.String({ minLength: 3 }), 'ab', '', 'must have at least 3 characters'],
    ['long text', Type.String({ maxLength: 2 }), 'abc', '', 'must have at most 2 characters'],
    ['pattern', Type.String({ pattern: '^a$' }), 'b', '', 'must match ^a$'],
    ['path', Type.String({ pattern: '^/' }), 'b', '', 'must start with "/"'],
    ['format', Type.String({ format: 'uri' }), 'b', '', 'must be an absolute URI'],
    ['literal', Type.Union([Type.Literal('a'), Type.Literal('b')]), 'c', '', 'must be one of "a", "b"'],
    [
      'literal or null',
      Type.Union([Type.Union([Type.Literal('a'), Type.Literal('b')]), Type.Null()]),
      1,
      '',
      'must be one of "a", "b" or null',
    ],
    [
      'pattern or null, in several clauses',
      Type.Union([Type.String({ pattern: REQUEST_PATH_PATTERN }), Type.Null()]),
      'health',
      '',
      'must start with "/" and contain only visible ASCII characters except "#"; others must be percent-encoded; null is allowed, too',
    ],
    [
      'object or null',
      Type.Union([Type.Object({}), Type.Null()]),
      [],
      '',
      'must be an object or null, not an array',
    ],
    ['array', Type.Array(Type.String()), {}, '', 'must be an array'],
    ['no array', Type.Array(Type.String()), 'a', '', 'must be an array, not a string'],
    [
      'string inside',
      Type.Object({ 'a/b': Type.Array(Type.Integer()) }),
      { 'a/b': [1, '2'] },
      '/a~1b/1',
      'must be an integer, not a string',
    ],
    ['item', Type.Array(Type.String()), ['a', 1], '/1', 'must be a string'],
    ['few items', Type.Array(Type.String(), { minItems: 1 }), [], '', 'must have at least 1 item'],
    ['many items', Type.Array(Type.String(), { maxItems: 1 }), ['a', 'b'], '', 'must have at most 1 item'],
    [
      'twice',
      Type.Array(Type.String(), { uniqueItems: true }),
      ['a', 'b', 'a'],
      '/2',
      'must not appear twice',
    ],
    ['missing', Type.Object({ a: Type.String() }), {}, '/a', 'is required'],
    ['unknown', Type.Object({}, closed), { 'a/b~c': 1 }, '/a~1b~0c', 'is not a known field'],
    [
      'misspelt',
      Type.Object({ rate_limit: Type.Optional(Type.String()), cors: Type.Optional(Type.String()) }, closed),
      { ratelimit: '' },
      '/ratelimit',
      'is not a known field; did you mean "rate_limit"?',
    ],
    [
      'something else',
      Type.Object({ cors: Type.Optional(Type.String()) }, closed),
      { cats: '' },
      '/cats',
      'is not a known field; expected only "cors"',
    ],
    [
      'something else than any of several',
      Type.Object({ request: Type.Optional(Type.String()), response: Type.Optional(Type.String()) }, closed),
      { set: '' },
      '/set',
      'is not a known field; expected one of "request", "response"',
    ],
    [
      'something else than any of too many',
      Type.Object(
        Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`f${at}`, Type.Optional(Type.String())])),
        closed,
      ),
      { set: '' },
      '/set',
      'is not a known field',
    ],
    [
      'with one of its words only',
      Type.Object({ default_policy: Type.Optional(Type.String()) }, closed),
      { policy: '' },
      '/policy',
      'is not a known field; did you mean "default_policy"?',
    ],
    [
      'with a word of several',
      Type.Object(
        { backend_host: Type.Optional(Type.String()), preserve_host: Type.Optional(Type.String()) },
        closed,
      ),
      { host: '' },
      '/host',
      'is not a known field; did you mean "backend_host" or "preserve_host"?',
    ],
    [
      'at another level',
      Type.Object(
        { policy: Type.Optional(Type.Union([Type.Object({ auth: Type.String() }), Type.Null()])) },
        closed,
      ),
      { auth: '' },
      '/auth',
      'is not a known field; did you mean "policy/auth"?',
    ],
    ['inherited', Type.Object({}, closed), { toString: 1 }, '/toString', 'is not a known field'],
    [
      'key',
      Type.Record(Type.String({ pattern: '^a$' }), Type.String(), closed),
      { b: '' },
      '/b',
      'is not an allowed key: it must match ^a$',
    ],
    ['value', Type.Record(Type.String(), Type.String()), { b: 1 }, '/b', 'must be a string'],
    [
      'members',
      Type.Record(Type.String(), Type.String(), { maxProperties: 0 }),
      { b: '' },
      '',
      'must have at most 0 members',
    ],
  ])('says what is wrong: %s', (_what, schema, value, pointer, detail) => {
    expect(validate(jsonSchema(schema), value)).toEqual([{ pointer, detail }]);
  });

  it('points into a nested field behind a nullable one', () => {
    const value = { version: 'v1', name: 'x', slug: 'x', gateway_path: '/x' };
    const policy = { rate_limit: { requests: 0, per: 7 }, cors: {} };
    expect(validate(jsonSchema(AppInputSchema), { ...value, default_policy: policy })).toEqual([
      {
        pointer: '/version',
        detail: expect.stringMatching(
          /^is not a known field; expected one of "name", "slug", .*, "allow_encoded_slashes"$/,
        ),
      },
      { pointer: '/default_policy/rate_limit/requests', detail: 'must be an integer from 1 to 1000000000' },
      { pointer: '/default_policy/rate_limit/per', detail: 'must be a string' },
      { pointer: '/default_policy/cors/allowed_origins', detail: 'is required' },
    ]);
  });

  it('names all fields of which one is required', () => {
    const one = Type.Optional(Type.String());
    const schema = requireOneOf(jsonSchema(Type.Object({ a: one, b: one, c: one })), ['a', 'b', 'c']);
    expect(validate(schema, {})).toEqual([{ pointer: '/a', detail: 'is required, unless b or c is given' }]);
    expect(validate(schema, { c: '' })).toEqual([]);
  });

  it('counts characters, not UTF-16 units', () => {
    expect(validate(jsonSchema(Type.String({ maxLength: 2 })), '😀😀')).toEqual([]);
    expect(validate(jsonSchema(Type.String({ minLength: 2 })), '😀')).toHaveLength(1);
  });

  it('reports a bounded number of errors', () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field${index}`, 0]));
    expect(validate(jsonSchema(Type.Object({}, closed)), many)).toHaveLength(FIELD_ERRORS_MAX);
  });

  it('does not take long over a body of the greatest size', () => {
    const scopes = Array.from({ length: 250_000 }, () => 'a');
    const schema = jsonSchema(Type.Object({ scopes: ApiKeyInputSchema.properties.scopes }));
    const errors = validate(schema, { scopes });
    expect(errors[0]).toEqual({ pointer: '/scopes', detail: 'must have at most 200 items' });
    expect(errors).toHaveLength(FIELD_ERRORS_MAX);
  });

  it('names the bound of a list that may be long, and a wrong item far down in it', () => {
    const list = Type.Array(Type.String(), { maxItems: 10_000 });
    const schema = jsonSchema(
      Type.Object({ policy: Type.Union([Type.Object({ deny: list }), Type.Null()]) }),
    );
    const deny = Array.from({ length: 10_001 }, () => '10.0.0.1');
    const pointer = '/policy/deny';
    const detail = 'must have at most 10000 items';
    expect(validate(schema, { policy: { deny } })).toEqual([{ pointer, detail }]);
    const wrong = deny.slice(1).with(9_000, 7 as never);
    expect(validate(schema, { policy: { deny: wrong } })).toEqual([
      { pointer: `${pointer}/9000`, detail: 'must be a string' },
    ]);
  });

  it('reports on the alternative of a union that has members, and on no other', () => {
    const schema = Type.Union([Type.Object({ a: Type.Integer() }, closed), Type.Null(), Type.String()]);
    expect(validate(jsonSchema(schema), { a: 'x', b: 1 })).toEqual([
      { pointer: '/b', detail: 'is not a known field; expected only "a"' },
      { pointer: '/a', detail: 'must be an integer, not a string' },
    ]);
    expect(validate(jsonSchema(schema), 7)).toEqual([{ pointer: '', detail: 'must be an object or null' }]);
  });
});

/** Values that are often almost right: right names, values from small sets of good and bad ones. */
function almost(schema: JsonSchema): fc.Arbitrary<unknown> {
  const bad = fc.constantFrom<unknown>(null, 0, -1, 1.5, '', 'x', '/x', true, [], {}, ['x', 'x'], { x: 1 });
  return fc.oneof({ arbitrary: good(schema), weight: 6 }, { arbitrary: bad, weight: 1 });
}

function good(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(almost));
  if (schema.const !== undefined) return fc.constant(schema.const);
  switch (schema.type) {
    case 'object': {
      const members = Object.entries(schema.properties ?? {}).map(
        ([name, part]) => [name, almost(part)] as const,
      );
      const requiredKeys = [...(schema.required ?? [])];
      return fc.record(Object.fromEntries(members), { requiredKeys });
    }
    case 'array':
      return fc.array(almost(schema.items ?? {}), { maxLength: 3 });
    case 'integer':
      return fc.constantFrom(schema.minimum ?? 0, schema.maximum ?? 9, 1, 443);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return fc.constantFrom(
        'a',
        '/a',
        'https://a.test/',
        '2030-01-01T00:00:00Z',
        'x-y',
        'GET',
        '*',
        'ip',
        '\0',
      );
  }
}

/** The value that a pointer leads to, and whether there is one. */
function follow(value: unknown, pointer: string): { readonly found: boolean; readonly value: unknown } {
  let node = value;
  for (const token of pointer.split('/').slice(1)) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, token)) {
      return { found: false, value: undefined };
    }
    node = (node as Record<string, unknown>)[token];
  }
  return { found: true, value: node };
}

describe('every error of a value that is almost right', () => {
  it.each([
    ['app', AppInputSchema],
    ['version', VersionInputSchema],
    ['revision', RevisionInputSchema],
    ['patch of a revision', patchSchema(jsonSchema(RevisionInputSchema), 'RevisionPatch')],
    ['endpoint', EndpointInputSchema],
  ])('names one field of it and says what was expected: %s', (_name, schema) => {
    let bad = 0;
    fc.assert(
      fc.property(almost(jsonSchema(schema)), (value) => {
        const errors = validate(jsonSchema(schema), value);
        if (errors.length > 0) bad++;
        const pointers = errors.map((error) => error.pointer);
        expect(new Set(pointers).size).toBe(pointers.length);
        for (const { pointer, detail } of errors) {
          expect(detail).toMatch(
            /^(?:must (?!be (?:undefined|a undefined))|is required(?:$|, unless )|is not a(?:n| known) )/,
          );
          const parent = follow(value, pointer.slice(0, Math.max(0, pointer.lastIndexOf('/'))));
          expect(parent.found, pointer).toBe(true);
          expect(follow(value, pointer).found, pointer).toBe(!detail.startsWith('is required'));
        }
      }),
      { numRuns: 500 },
    );
    expect(bad).toBeGreaterThan(50);
  });
});

describe('patchSchema', () => {
  const schema = patchSchema(jsonSchema(RevisionInputSchema), 'RevisionPatch');

  it('requires nothing and allows null for every field', () => {
    const nulls = Object.fromEntries(Object.keys(RevisionInputSchema.properties).map((name) => [name, null]));
    expect(validate(schema, {})).toEqual([]);
    expect(validate(schema, nulls)).toEqual([]);
    expect(validate(schema, { backend_tls: { verify: null } })).toEqual([]);
  });

  it('still refuses unknown fields, at every depth, also when they are null', () => {
    expect(validate(schema, { x: null, backend_tls: { y: null }, default_policy: { z: null } })).toEqual([
      { pointer: '/x', detail: expect.stringContaining('is not a known field') },
      { pointer: '/default_policy/z', detail: expect.stringContaining('is not a known field') },
      { pointer: '/backend_tls/y', detail: expect.stringContaining('is not a known field') },
    ]);
  });

  it('takes single fields of a policy, and null for each of them', () => {
    expect(validate(schema, { default_policy: { rate_limit: { requests: null } } })).toEqual([]);
    expect(validate(schema, { default_policy: { cors: { max_age_secs: 5 } } })).toEqual([]);
    expect(validate(schema, { default_policy: { rate_limit: { requests: 0 } } })).toHaveLength(1);
  });

  it('leaves the items of arrays unchanged: arrays are replaced whole', () => {
    expect(validate(schema, { default_policy: { required_scopes: [null] } })).toHaveLength(1);
  });
});
