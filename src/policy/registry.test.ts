import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { partError } from '../model/errors.ts';
import type { JsonSchema } from '../model/json-schema.ts';
import { jsonSchema } from '../model/json-schema.ts';
import type { ReasonKind } from '../model/reason.ts';
import { createPolicyCompiler } from './compile-policy.ts';
import { errorsOf } from './error-table.ts';
import { definePart, type PolicyPart } from './part.ts';
import { PHASES, stageNames } from './pipeline.ts';
import { PARTS, policySchema, SHADOW_PART_NAMES } from './registry.ts';
import { secretPlaces } from './secret-places.ts';
import { effective, NOW_MS, run, testApp, testFacts, testGateway } from './test-fixtures.ts';
import { newEvaluation } from './evaluate.ts';

/** Fields of objects, at any depth, that no description explains. */
function undescribed({ properties, anyOf }: JsonSchema, path: string): string[] {
  return [
    ...Object.entries(properties ?? {}).flatMap(([name, schema]) => [
      ...(schema.description === undefined && name !== 'keys' ? [`${path}.${name}`] : []),
      ...undescribed(schema, `${path}.${name}`),
    ]),
    ...(anyOf ?? []).flatMap((schema) => undescribed(schema, path)),
  ];
}

describe.each(PARTS.map((part) => [part.name, part] as const))('the part %s', (name, part) => {
  const context = { policy: {}, pointer: `/${name}`, globals: undefined };

  it('describes itself and each of its fields', () => {
    const schema = jsonSchema(part.schema);
    expect(schema.description).toMatch(/\S/);
    expect(undescribed(schema, name)).toEqual([]);
    expect(part.docs.summary).toMatch(/\S/);
  });

  it('has an example that a policy may have', () => {
    expect(Value.Check(part.schema, part.docs.example)).toBe(true);
    expect(part.rules?.(part.docs.example, context) ?? []).toEqual([]);
    expect(part.off?.is(part.docs.example) ?? false).toBe(false);
  });

  it('adds no stage of its own when it is off', () => {
    if (part.off === undefined) return;
    const { example } = part.off;
    expect(Value.Check(part.schema, example)).toBe(true);
    expect(part.rules?.(example, context) ?? []).toEqual([]);
    expect(part.off.is(example)).toBe(true);
    const compile = createPolicyCompiler(testGateway().dependencies);
    const { stages } = compile(effective({ [name]: example }), testApp());
    expect(stages.map((stage) => stage.part)).not.toContain(name);
  });

  it('declares stages where it may run in shadow', () => {
    expect(SHADOW_PART_NAMES.includes(name)).toBe(part.mayShadow);
    if (part.mayShadow) expect(part.stages?.map((stage) => stage.name)).toContain(name);
  });
});

const TESTED = partError('tested', {
  status: 418,
  title: 'The test part refuses',
  source: 'downstream',
  retry: 'never',
});
const REFUSED: ReasonKind<string> = { code: TESTED.code, detail: (value) => `Refused by ${value}` };

/** A part as a new one would be: not in the registry, and given to everything that goes over it. */
const TEST_PART = definePart({
  name: 'tested',
  schema: Type.Object(
    { address: Type.String(), password: Type.Optional(Type.String({ writeOnly: true })) },
    { additionalProperties: false, description: 'Refuses one address.' },
  ),
  docs: { summary: 'a test', example: { address: '192.0.2.1' } },
  mayShadow: true,
  stages: [{ name: 'tested', phase: 'address' }],
  errors: [TESTED],
  compile: (value, { inShadow }) =>
    value && {
      stages: [
        {
          part: 'tested',
          shadow: inShadow,
          run: ({ clientIp }) =>
            clientIp === value.address ? { kind: REFUSED, data: value.address } : undefined,
        },
      ],
      requestFields: {
        nameOf: (name) => (name.toLowerCase() === 'x-old' ? 'X-New' : undefined),
        lines: (of) => `X-Trace: ${of.requestId}-${of.pathParameter('id')}\r\n`,
      },
    },
});
const WITH_TEST: readonly PolicyPart[] = [...PARTS, TEST_PART];

describe('a part that is added', () => {
  const gateway = testGateway();
  const compile = createPolicyCompiler(gateway.dependencies, WITH_TEST);
  const given = { tested: { address: '192.0.2.1' }, auth: { auth_type: 'api_key' } };
  const compiled = compile({ policy: given, sources: {} }, testApp());

  it('runs in its phase: before authentication, whatever its line', async () => {
    expect(compiled.stages.map(({ part }) => part)).toEqual(['tested', 'auth', 'rate_limit']);
    const stages = stageNames(WITH_TEST);
    expect(stages.indexOf('tested')).toBeLessThan(stages.indexOf('cors'));
    expect(PHASES[0]).toBe('address');
    expect((await run(compiled, testFacts())).denial).toEqual({
      code: 'tested',
      detail: 'Refused by 192.0.2.1',
      headerLines: '',
    });
    const other = await run(compiled, testFacts({}, { clientIp: '192.0.2.2' }));
    expect(other.denial?.code).toBe('credentials_missing');
  });

  it('lets the request pass in shadow mode, and notes what it would have denied', async () => {
    const policy = { tested: { address: '192.0.2.1' }, shadow: ['tested'] };
    const { denial, evaluation } = await run(compile({ policy, sources: {} }, testApp()), testFacts());
    expect(denial).toBeUndefined();
    expect(evaluation.shadowDenials).toMatchObject([{ part: 'tested', denial: { data: '192.0.2.1' } }]);
  });

  it('has its error in the table, its field in the schema, and its secret among the places', () => {
    expect(errorsOf(WITH_TEST)['tested']).toMatchObject({ status: 418, title: 'The test part refuses' });
    expect(Value.Check(policySchema(WITH_TEST), given)).toBe(true);
    expect(Value.Check(policySchema(PARTS), given)).toBe(false);
    expect(secretPlaces(WITH_TEST)).toEqual([
      ['auth', 'jwt', 'secret'],
      ['tested', 'password'],
    ]);
  });

  it('edits fields, and costs a route without it nothing', () => {
    const subject = { ...testFacts(), requestId: 'r1', evaluation: newEvaluation(), nowMs: NOW_MS };
    const editor = compiled.requestFields;
    expect(editor?.nameOf('X-OLD')).toBe('X-New');
    expect(editor?.nameOf('Accept')).toBeUndefined();
    const own = { combinedPassing: () => undefined, pathParameter: () => '7' };
    expect(editor?.lines({ ...subject, ...own })).toBe('X-Trace: r1-7\r\n');
    const plain = compile({ policy: {}, sources: {} }, testApp());
    expect(plain).toMatchObject({ stages: [], requestFields: undefined, responseFields: undefined });
  });
});
