import Type from 'typebox';
import { describe, expect, it } from 'vitest';
import type { EffectivePolicy } from '../model/policy.ts';
import { createPolicyCompilers } from './compile-policy.ts';
import { definePart } from './part.ts';
import { preparedOf } from './prepared.ts';
import { PARTS } from './registry.ts';
import { effective, testApp, testGateway } from './test-fixtures.ts';

/** A part that counts what it makes, and depends on `methods` of the same policy. */
function countingPart() {
  const made: string[] = [];
  const part = definePart({
    name: 'counting',
    schema: Type.Object({ text: Type.String() }),
    docs: { summary: 'a test', example: { text: 'a' } },
    mayShadow: false,
    prepared: {
      variantOf: ({ policy }: EffectivePolicy) => String(policy['allowed_methods']),
      make: ({ text }: { text: string }, variant: string) => {
        made.push(`${text} ${variant}`);
        return text.length;
      },
    },
    compile: (_value, { prepared }) => ({ data: { maxBodyBytes: prepared ?? -1 } }),
  });
  return { part, made };
}

const given = (value: unknown, method: string): EffectivePolicy => ({
  ...effective({ allowed_methods: [method] }),
  policy: { allowed_methods: [method], counting: value },
});

describe('what a part prepares of a value', () => {
  it('is made once for all routes that inherit the value, and for explanations', () => {
    const { part, made } = countingPart();
    const { dependencies } = testGateway();
    const compilers = createPolicyCompilers(dependencies, [...PARTS, part]);
    const value = { text: 'four' };
    const policies = Array.from({ length: 100 }, () => compilers.compile(given(value, 'GET'), testApp()));
    expect(policies.map(({ maxBodyBytes }) => maxBodyBytes)).toEqual(policies.map(() => 4));
    compilers.readOnly({ limits: [], caps: [] })(given(value, 'GET'), testApp());
    expect(made).toEqual(['four GET']);
  });

  it('is made again for an equal value of another record, and where it depends on more', () => {
    const { part, made } = countingPart();
    const value = { text: 'four' };
    for (const each of [given(value, 'GET'), given({ ...value }, 'GET'), given(value, 'PUT')])
      expect(preparedOf(part, each)).toBe(4);
    expect(made).toEqual(['four GET', 'four GET', 'four PUT']);
  });

  it('is kept for few variants of a value, so that changes of others do not pile up', () => {
    const { part, made } = countingPart();
    const value = { text: 'four' };
    const methods = Array.from({ length: 40 }, (_, index) => `M${index}`);
    for (const method of methods) preparedOf(part, given(value, method));
    preparedOf(part, given(value, 'M39'));
    expect(made).toHaveLength(40);
    preparedOf(part, given(value, 'M0'));
    expect(made).toHaveLength(41);
  });

  it('is undefined where no level has the part', () => {
    const { part, made } = countingPart();
    expect(preparedOf(part, effective({}))).toBeUndefined();
    expect(made).toEqual([]);
  });
});
