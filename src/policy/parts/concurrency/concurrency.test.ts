import { describe, expect, it } from 'vitest';
import { createLimitMemory } from '../../../limits/local/memory.ts';
import { SharedConcurrencyStore } from '../../../limits/concurrency.ts';
import type { Policy } from '../../registry.ts';
import { releasePermit } from '../../evaluate.ts';
import { effective, run, testFacts, testGateway, type Verdict } from '../../test-fixtures.ts';

const codeOf = ({ denial }: Verdict): string | undefined => denial?.code;

describe('the concurrency stage', () => {
  it.each<[string, Policy]>([
    ['without a cap', {}],
    ['where it is inherited as nothing', { concurrency: null }],
    ['where it is switched off', { concurrency: { max: 0 } }],
  ])('does not exist %s', async (_name, policy) => {
    const compiled = testGateway().compile(policy);
    expect(compiled.stages.map(({ part }) => part)).not.toContain('concurrency');
    const { evaluation } = await run(compiled, testFacts());
    expect(evaluation.permitStore).toBeUndefined();
    releasePermit(evaluation);
  });

  it('comes after methods and before the rate limits', () => {
    const compiled = testGateway().compile({
      allowed_methods: ['GET'],
      concurrency: { max: 1 },
      rate_limit: { enabled: true, requests: 1, window_seconds: 1 },
    });
    expect(compiled.stages.map(({ part }) => part)).toEqual(['allowed_methods', 'concurrency', 'rate_limit']);
  });

  it('holds a place until it is released; a second release changes nothing', async () => {
    const gateway = testGateway();
    const compiled = gateway.compile({ concurrency: { max: 2 } });
    const [first, second, third] = [
      await run(compiled, testFacts()),
      await run(compiled, testFacts()),
      await run(compiled, testFacts()),
    ];
    expect([first, second, third].map(codeOf)).toEqual([undefined, undefined, 'concurrency_limited']);
    expect(third?.denial?.headerLines).toBe('Retry-After: 1\r\n');
    expect(gateway.limited).toEqual(['concurrency admitted', 'concurrency admitted', 'concurrency refused']);
    for (const { evaluation } of [first, first, third]) releasePermit(evaluation);
    expect(codeOf(await run(compiled, testFacts()))).toBeUndefined();
    expect(codeOf(await run(compiled, testFacts()))).toBe('concurrency_limited');
  });

  it('counts by the level that set the cap, for all policies that have it from there', async () => {
    const gateway = testGateway();
    const policy: Policy = { concurrency: { max: 1 } };
    const [one, other, elsewhere] = [
      gateway.compile(policy, { level: 'revision', id: 'r1' }),
      gateway.compile({ ...policy, allowed_methods: ['GET'] }, { level: 'revision', id: 'r1' }),
      gateway.compile(policy, { level: 'endpoint', id: 'r1' }),
    ];
    expect(codeOf(await run(one, testFacts()))).toBeUndefined();
    expect(codeOf(await run(other, testFacts()))).toBe('concurrency_limited');
    expect(codeOf(await run(elsewhere, testFacts()))).toBeUndefined();
  });

  it('distinguishes callers by `per`, and counts by another dimension separately', async () => {
    const gateway = testGateway();
    const ip = gateway.compile({ concurrency: { max: 1, per: 'ip' } });
    const header = gateway.compile({ concurrency: { max: 1, per: 'header:X-Tenant' } });
    const from = (clientIp: string) => testFacts({ 'x-tenant': clientIp }, { clientIp });
    for (const policy of [ip, header]) {
      expect(codeOf(await run(policy, from('192.0.2.1')))).toBeUndefined();
      expect(codeOf(await run(policy, from('192.0.2.1')))).toBe('concurrency_limited');
      expect(codeOf(await run(policy, from('192.0.2.2')))).toBeUndefined();
    }
  });

  it('in shadow mode notes what it would refuse, and that request holds nothing', async () => {
    const compiled = testGateway().compile({ concurrency: { max: 1 }, shadow: ['concurrency'] });
    const first = await run(compiled, testFacts());
    const second = await run(compiled, testFacts());
    expect([first, second].map(codeOf)).toEqual([undefined, undefined]);
    expect(first.evaluation.shadowDenials).toBeUndefined();
    expect(second.evaluation.shadowDenials?.map(({ part }) => part)).toEqual(['concurrency']);
    expect(second.evaluation.permitStore).toBeUndefined();
    releasePermit(first.evaluation);
    expect((await run(compiled, testFacts())).evaluation.shadowDenials).toBeUndefined();
  });

  it('is one count for the policies of several workers', async () => {
    const memory = createLimitMemory({ counterBytes: 65_536, callers: 64 });
    const [one, other] = [1, 2].map((owner) => {
      const concurrency = new SharedConcurrencyStore(memory.concurrency, memory.hashKey, owner);
      return testGateway({ concurrency }).compile(effective({ concurrency: { max: 1 } }).policy);
    });
    const held = await run(one!, testFacts());
    expect(codeOf(await run(other!, testFacts()))).toBe('concurrency_limited');
    releasePermit(held.evaluation);
    expect(codeOf(await run(other!, testFacts()))).toBeUndefined();
  });
});
