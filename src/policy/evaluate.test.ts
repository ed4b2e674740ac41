import { describe, expect, it } from 'vitest';
import { plainReason } from '../model/reason.ts';
import { evaluate, newEvaluation } from './evaluate.ts';
import { DEFAULT_RETRIES } from './parts/retries/part.ts';
import type { CompiledPolicy, Denial, NamedStage, StageResult } from './stage.ts';
import { testFacts } from './test-fixtures.ts';

const DENIAL: Denial = plainReason({ code: 'rate_limited', detail: () => 'no' });

interface Recorded {
  readonly policy: CompiledPolicy;
  readonly ran: string[];
}

type Outcome = StageResult | Promise<StageResult>;

function policyOf(
  ...outcomes: [part: NamedStage['part'], outcome: () => Outcome, shadow?: boolean][]
): Recorded {
  const ran: string[] = [];
  const stages = outcomes.map(([part, outcome, shadow = false]): NamedStage => {
    const run = (): Outcome => {
      ran.push(part);
      return outcome();
    };
    return { part, run, shadow };
  });
  const policy: CompiledPolicy = {
    effective: { policy: {}, sources: {} },
    stages,
    cors: undefined,
    maxBodyBytes: 0,
    bufferRequestBytes: 0,
    translatesGrpcWeb: false,
    minBodyBytesPerSec: undefined,
    shadowBodyBytes: 0,
    managedHeaders: undefined,
    credentialPlace: undefined,
    withheldTrailers: undefined,
    forwardsApiKeys: false,
    timeouts: undefined,
    retries: DEFAULT_RETRIES,
    requestFields: undefined,
    responseFields: undefined,
  };
  return { policy, ran };
}

const pass = (): undefined => undefined;
const deny = (): Denial => DENIAL;
const passLater = (): Promise<StageResult> => Promise.resolve(undefined);
const denyLater = (): Promise<StageResult> => Promise.resolve(DENIAL);

describe('evaluate', () => {
  it('answers synchronously as long as every stage does', () => {
    const { policy, ran } = policyOf(['auth', pass], ['allowed_methods', deny], ['rate_limit', pass]);
    expect(evaluate(policy, testFacts(), newEvaluation())).toBe(DENIAL);
    expect(ran).toEqual(['auth', 'allowed_methods']);
    expect(evaluate(policyOf().policy, testFacts(), newEvaluation())).toBeUndefined();
  });

  it('goes on after a stage that took its time, in the same order', async () => {
    const { policy, ran } = policyOf(
      ['auth', passLater],
      ['allowed_methods', pass],
      ['rate_limit', denyLater],
    );
    const result = evaluate(policy, testFacts(), newEvaluation());
    expect(ran).toEqual(['auth']);
    expect(await result).toBe(DENIAL);
    expect(ran).toEqual(['auth', 'allowed_methods', 'rate_limit']);
  });

  it('stops at a late denial', async () => {
    const { policy, ran } = policyOf(['auth', denyLater], ['rate_limit', pass]);
    expect(await evaluate(policy, testFacts(), newEvaluation())).toBe(DENIAL);
    expect(ran).toEqual(['auth']);
  });

  it.each([
    ['at once', deny],
    ['late', denyLater],
  ])('writes down what a stage in shadow mode denies %s, and goes on', async (_name, outcome) => {
    const { policy, ran } = policyOf(['auth', outcome, true], ['rate_limit', pass]);
    const evaluation = newEvaluation();
    expect(await evaluate(policy, testFacts(), evaluation)).toBeUndefined();
    expect(evaluation.shadowDenials).toEqual([{ part: 'auth', denial: DENIAL }]);
    expect(ran).toEqual(['auth', 'rate_limit']);
  });

  it('rejects when a stage breaks, so that nothing passes by accident', async () => {
    const { policy, ran } = policyOf(
      ['auth', () => Promise.reject(new Error('defect'))],
      ['rate_limit', pass],
    );
    await expect(evaluate(policy, testFacts(), newEvaluation())).rejects.toThrow('defect');
    expect(ran).toEqual(['auth']);
  });
});
