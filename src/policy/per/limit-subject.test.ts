/** Who shares a counter: callers of one name that are known in different ways do not. */
import { expect, it } from 'vitest';
import { ANONYMOUS } from '../caller.ts';
import type { Caller, Evaluation } from '../stage.ts';
import { testFacts } from '../test-fixtures.ts';
import { subjectOf } from './limit-subject.ts';

it('per caller, one name known by key, token, certificate and address is four callers', () => {
  const subject = subjectOf('api_key', 64);
  const facts = testFacts({});
  const of = (caller: Partial<Caller>): string =>
    subject(facts, { caller: { ...ANONYMOUS, ...caller } } as Evaluation);
  const id = facts.clientIp;
  const subjects = (['api_key', 'jwt', 'mtls'] as const).map((kind) => of({ kind, id }));
  expect(new Set([...subjects, of({})]).size).toBe(4);
});
