import { describe, expect, it } from 'vitest';
import type { LimitDecision, LimitRule, LimitStore } from '../../../limits/store.ts';
import { createLimitMemory, SharedMemoryLimitStore } from '../../../limits/local/local-store.ts';
import type { Policy } from '../../registry.ts';
import type { RateLimitPolicy } from './schema.ts';
import { evaluate, newEvaluation } from '../../evaluate.ts';
import { limitHeaderLines } from './rate-limit.ts';
import type { CompiledPolicy, RequestFacts } from '../../stage.ts';
import {
  bearer,
  NOW_MS,
  run,
  testApp,
  testFacts,
  testGateway,
  type TestGateway,
} from '../../test-fixtures.ts';

const limited = (limit: RateLimitPolicy): Policy => ({ rate_limit: { enabled: true, ...limit } });
const TWO: RateLimitPolicy = { enabled: true, requests: 2, window_seconds: 60 };

/** How many of `count` equal requests pass. */
async function admitted(policy: CompiledPolicy, facts: RequestFacts, count = 10): Promise<number> {
  let passed = 0;
  for (let index = 0; index < count; index++) {
    if ((await run(policy, facts)).denial === undefined) passed++;
  }
  return passed;
}

describe('rate limits', () => {
  it.each(['fixed_window', 'sliding_window', 'token_bucket'] as const)(
    '%s: admits, then 429',
    async (algorithm) => {
      const gateway = testGateway();
      const policy = gateway.compile(limited({ requests: 3, window_seconds: 60, algorithm }));
      expect(await admitted(policy, testFacts())).toBe(3);
      const { denial, evaluation } = await run(policy, testFacts());
      expect(denial).toMatchObject({
        code: 'rate_limited',
        headerLines: `Retry-After: ${algorithm === 'token_bucket' ? 20 : 60}\r\n`,
      });
      expect(evaluation.limit?.admitted).toBe(false);
      expect(gateway.limited.slice(2, 4)).toEqual(['policy admitted', 'policy refused']);
    },
  );

  it('obeys Retry-After', async () => {
    const policy = testGateway().compile(limited({ requests: 1, window_seconds: 60 }));
    expect(await admitted(policy, testFacts())).toBe(1);
    expect(await admitted(policy, testFacts({}, { nowMs: NOW_MS + 59_999 }))).toBe(0);
    expect(await admitted(policy, testFacts({}, { nowMs: NOW_MS + 60_000 }))).toBe(1);
  });

  it('announces what remains', async () => {
    const policy = testGateway().compile(limited({ requests: 5, window_seconds: 60 }));
    const { evaluation } = await run(policy, testFacts({}, { nowMs: NOW_MS + 20_500 }));
    expect(limitHeaderLines(evaluation)).toBe(
      'RateLimit-Policy: "app";q=5;w=60\r\nX-RateLimit-Limit: 5\r\nRateLimit: "app";r=4;t=40\r\n' +
        'X-RateLimit-Remaining: 4\r\nX-RateLimit-Reset: 40\r\n',
    );
    expect(limitHeaderLines(newEvaluation())).toBe('');
  });

  it('announces the time until the reset, whatever times were announced before', async () => {
    const policy = testGateway().compile(limited({ requests: 500, window_seconds: 3600 }));
    for (const waitSecs of [0, 64, 128, 1, 65, 64, 0, 3599]) {
      const { evaluation } = await run(policy, testFacts({}, { nowMs: NOW_MS + waitSecs * 1000 }));
      const resetSecs = Math.ceil((evaluation.limit?.resetMs ?? NaN) / 1000);
      const remaining = evaluation.limit?.remaining;
      expect(limitHeaderLines(evaluation)).toContain(
        `;r=${remaining};t=${resetSecs}\r\nX-RateLimit-Remaining: ${remaining}\r\nX-RateLimit-Reset: ${resetSecs}\r\n`,
      );
    }
  });

  it('announces a bucket by its capacity and the time that it takes to fill', async () => {
    const limit = { requests: 10, window_seconds: 60, algorithm: 'token_bucket', burst: 20 } as const;
    const { evaluation } = await run(testGateway().compile(limited(limit)), testFacts());
    expect(limitHeaderLines(evaluation)).toMatch(
      /^RateLimit-Policy: "app";q=20;w=120\r\nX-RateLimit-Limit: 20\r\n/,
    );
    expect(evaluation.limit?.remaining).toBe(19);
  });

  it('counts a level once, whichever of its routes is used, and every level by itself', async () => {
    const gateway = testGateway();
    const app = { level: 'app', id: 'a1' } as const;
    const one = gateway.compile({ rate_limit: TWO }, app);
    const two = gateway.compile({ rate_limit: TWO, allowed_methods: ['GET'] }, app);
    const endpoint = gateway.compile({ rate_limit: TWO }, { level: 'endpoint', id: 'a1' });
    expect(await admitted(one, testFacts(), 1)).toBe(1);
    expect(await admitted(two, testFacts())).toBe(1);
    expect(await admitted(one, testFacts())).toBe(0);
    expect(await admitted(endpoint, testFacts())).toBe(2);
  });

  it('keeps the count when only the number of requests changes', async () => {
    const gateway = testGateway();
    expect(await admitted(gateway.compile(limited({ requests: 4, window_seconds: 60 })), testFacts())).toBe(
      4,
    );
    expect(await admitted(gateway.compile(limited({ requests: 6, window_seconds: 60 })), testFacts())).toBe(
      2,
    );
    expect(await admitted(gateway.compile(limited({ requests: 3, window_seconds: 60 })), testFacts())).toBe(
      0,
    );
  });
});

describe('the global default', () => {
  const globals = { requests: 2, windowSeconds: 60 };
  it('applies per app where no level has a rate_limit', async () => {
    const gateway = testGateway({ globals });
    const billing = gateway.compile({});
    const other = gateway.compile({}, undefined, testApp('other'));
    expect(await admitted(billing, testFacts())).toBe(2);
    expect(await admitted(other, testFacts())).toBe(2);
    const { evaluation } = await run(billing, testFacts());
    expect(limitHeaderLines(evaluation)).toContain('RateLimit-Policy: "global";q=2;w=60\r\n');
  });

  it.each<[string, RateLimitPolicy, number]>([
    ['fills in requests', { enabled: true, window_seconds: 1 }, 2],
    ['fills in the window', { enabled: true, requests: 3 }, 3],
    ['fills in both', { enabled: true }, 2],
    ['gives way to a limit that is not enabled', { enabled: false }, 10],
    [
      'gives way to a limit without enabled, which defaults to false',
      { requests: 1, window_seconds: 60 },
      10,
    ],
    ['gives way to a complete limit', { enabled: true, requests: 5, window_seconds: 60 }, 5],
  ])('%s', async (_name, limit, expected) => {
    expect(await admitted(testGateway({ globals }).compile({ rate_limit: limit }), testFacts())).toBe(
      expected,
    );
  });

  it('does not compile what nothing can fill in', () => {
    const gateway = testGateway({ globals: { requests: 2, windowSeconds: undefined } });
    expect(() => gateway.compile({ rate_limit: { enabled: true } })).toThrow(
      'Cannot use the rate_limit of app a1 (app "billing"): window_seconds is missing and GATEWAY_RATE_LIMIT_WINDOW_SECS is not set',
    );
    expect(gateway.compile({}).stages).toEqual([]);
  });
});

const per = (gateway: TestGateway, dimension: string, policy: Policy = {}): CompiledPolicy =>
  gateway.compile({ ...policy, rate_limit: { ...TWO, per: dimension } });

describe('per', () => {
  it('ip: counts each address by itself', async () => {
    const policy = per(testGateway(), 'ip');
    expect(await admitted(policy, testFacts())).toBe(2);
    expect(await admitted(policy, testFacts({}, { clientIp: '192.0.2.2' }))).toBe(2);
  });

  it('header: counts each value by itself, and all requests without the field together', async () => {
    const policy = per(testGateway(), 'header:X-Tenant');
    expect(await admitted(policy, testFacts({ 'x-tenant': 'a' }))).toBe(2);
    expect(await admitted(policy, testFacts({ 'x-tenant': 'b' }))).toBe(2);
    expect(await admitted(policy, testFacts())).toBe(2);
    expect(await admitted(policy, testFacts({}, { clientIp: '192.0.2.2' }))).toBe(0);
  });

  it('api_key: counts each key by itself, and anonymous callers by address', async () => {
    const gateway = testGateway();
    const policy = per(gateway, 'api_key', { auth: { auth_type: 'api_key', required: false } });
    const one = gateway.keys.create();
    const two = gateway.keys.create();
    expect(await admitted(policy, testFacts(bearer(one.token)))).toBe(2);
    expect(await admitted(policy, testFacts(bearer(two.token)))).toBe(2);
    expect(await admitted(policy, testFacts())).toBe(2);
    expect(await admitted(policy, testFacts({}, { clientIp: '192.0.2.2' }))).toBe(2);
  });

  it('claim: falls back to the address of callers without it', async () => {
    const policy = per(testGateway(), 'claim:constructor');
    expect(await admitted(policy, testFacts())).toBe(2);
    expect(await admitted(policy, testFacts({}, { clientIp: '192.0.2.2' }))).toBe(2);
  });

  it('a change of dimension starts a new count', async () => {
    const gateway = testGateway();
    expect(await admitted(per(gateway, 'header:a'), testFacts({ a: 'x' }))).toBe(2);
    expect(await admitted(per(gateway, 'header:b'), testFacts({ b: 'x' }))).toBe(2);
  });
});

describe("a key's own plan", () => {
  const policy: Policy = { auth: { auth_type: 'api_key' }, rate_limit: TWO };
  it.each<[string, Policy, RateLimitPolicy, number]>([
    ['replaces the limit of the policy', policy, { enabled: true, requests: 5, window_seconds: 60 }, 5],
    [
      'applies where the policy has none',
      { auth: { auth_type: 'api_key' } },
      { enabled: true, requests: 5, window_seconds: 60 },
      5,
    ],
    [
      'applies where the policy exempts',
      { ...policy, rate_limit: { enabled: false } },
      { enabled: true, requests: 5, window_seconds: 60 },
      5,
    ],
    ['counts as enabled unless it says otherwise', policy, { requests: 5, window_seconds: 60 }, 5],
    ['exempts when it is switched off', policy, { enabled: false }, 10],
    ['gives way to the policy when it is incomplete', policy, { enabled: true, requests: 5 }, 2],
  ])('%s', async (_name, base, plan, expected) => {
    const gateway = testGateway();
    const { token } = gateway.keys.create({ rate_limit: plan });
    expect(await admitted(gateway.compile(base), testFacts(bearer(token)))).toBe(expected);
  });

  it('does not change the others, is one count over all routes, and is named key', async () => {
    const gateway = testGateway();
    const planned = gateway.keys.create({ rate_limit: { enabled: true, requests: 3, window_seconds: 60 } });
    const plain = gateway.keys.create();
    const one = gateway.compile(policy);
    const two = gateway.compile(policy, { level: 'endpoint', id: 'e1' });
    expect(await admitted(one, testFacts(bearer(planned.token)), 2)).toBe(2);
    expect(await admitted(two, testFacts(bearer(planned.token)))).toBe(1);
    expect(await admitted(one, testFacts(bearer(plain.token)))).toBe(2);
    const { evaluation } = await run(one, testFacts(bearer(planned.token)));
    expect(limitHeaderLines(evaluation)).toContain('RateLimit-Policy: "key";q=3;w=60\r\n');
    expect(gateway.limited).toContain('key refused');
  });
});

describe('keys with equal plans', () => {
  const plan = { enabled: true, requests: 2, window_seconds: 60 };
  const policy: Policy = { auth: { auth_type: 'api_key' } };

  it('are counted each by itself, also by address', async () => {
    for (const per of [undefined, 'ip'] as const) {
      const gateway = testGateway();
      const rate_limit = { ...plan, ...(per && { per }) };
      const tokens = ['a', 'b"\\'].map((name) => gateway.keys.create({ name, rate_limit }).token);
      const compiled = gateway.compile(policy);
      for (const token of tokens) expect(await admitted(compiled, testFacts(bearer(token)))).toBe(2);
      const elsewhere = testFacts(bearer(tokens[0] ?? ''), { clientIp: '192.0.2.77' });
      expect(await admitted(compiled, elsewhere)).toBe(per === undefined ? 0 : 2);
    }
  });

  it('share one rule, however many are in use: making one for each request would cost more than the rest', async () => {
    const store = new SharedMemoryLimitStore(createLimitMemory({ counterBytes: 2 ** 20 }), 1);
    const rules = new Set<LimitRule>();
    const limits: LimitStore = {
      take: (rule, subject, nowMs) => store.take(rules.add(rule) && rule, subject, nowMs),
      peek: (rule, subject, nowMs) => store.peek(rule, subject, nowMs),
    };
    const gateway = testGateway({ limits });
    const compiled = gateway.compile(policy);
    const tokens = Array.from({ length: 20 }, (_, index) => {
      return gateway.keys.create({ name: index % 2 === 0 ? 'plain' : '"', rate_limit: plan }).token;
    });
    for (const token of [...tokens, ...tokens])
      expect(await admitted(compiled, testFacts(bearer(token)), 1)).toBe(1);
    expect(rules.size).toBe(1);
  });
});

describe('the limit per address', () => {
  const perIp = { requests: 3, windowSecs: 60 };
  it('is counted over all apps and in addition to the policy', async () => {
    const gateway = testGateway({ perIp });
    const billing = gateway.compile({});
    const other = gateway.compile({ rate_limit: { ...TWO, requests: 100 } }, undefined, testApp('other'));
    expect(billing.stages.map((stage) => stage.part)).toEqual(['ip_rate_limit']);
    expect(await admitted(billing, testFacts(), 1)).toBe(1);
    expect(await admitted(other, testFacts())).toBe(2);
    expect(await admitted(other, testFacts({}, { clientIp: '192.0.2.2' }))).toBe(3);
    const { denial, evaluation } = await run(other, testFacts());
    expect(denial?.headerLines).toBe('Retry-After: 60\r\n');
    expect(limitHeaderLines(evaluation)).toContain('RateLimit-Policy: "ip";q=3;w=60\r\n');
  });

  it('announces the limit with the least remaining', async () => {
    const gateway = testGateway({ perIp });
    const { evaluation } = await run(gateway.compile({ rate_limit: TWO }), testFacts());
    expect(limitHeaderLines(evaluation)).toContain('RateLimit: "app";r=1;');
    const wide = await run(
      gateway.compile({ rate_limit: { ...TWO, requests: 50 } }, { level: 'endpoint', id: 'e1' }),
      testFacts(),
    );
    expect(limitHeaderLines(wide.evaluation)).toContain('RateLimit: "ip";r=1;');
  });

  it('is not charged for requests that the policy refuses, and vice versa', async () => {
    const gateway = testGateway({ perIp });
    const narrow = gateway.compile({ rate_limit: TWO });
    const open = gateway.compile({});
    expect(await admitted(narrow, testFacts())).toBe(2);
    // 8 refusals later the address still has the one that is left of its three.
    expect(await admitted(open, testFacts())).toBe(1);
    const wide = gateway.compile({ rate_limit: { ...TWO, requests: 5 } }, { level: 'endpoint', id: 'e1' });
    expect(await admitted(wide, testFacts())).toBe(0);
    expect(await admitted(wide, testFacts({}, { clientIp: '192.0.2.2' }))).toBe(3);
    expect(await admitted(wide, testFacts({}, { clientIp: '192.0.2.3' }))).toBe(2);
  });
});

describe('where the limit per address and that of the policy both refuse', () => {
  it.each([
    [{ requests: 2, windowSecs: 60 }, 'ip', 50],
    [{ requests: 2, windowSecs: 20 }, 'app', 10],
  ])('%j: the longer wait is told, and obeyed it is admitted', async (perIp, name, waitSecs) => {
    const gateway = testGateway({ perIp });
    const policy = gateway.compile(limited({ requests: 1, window_seconds: 10 }));
    const at = (secs: number) => testFacts({}, { nowMs: NOW_MS + secs * 1_000 });
    expect(await admitted(policy, at(0))).toBe(1);
    expect(await admitted(policy, at(10))).toBe(1);
    const { denial, evaluation } = await run(policy, at(10));
    expect(denial?.headerLines).toBe(`Retry-After: ${waitSecs}\r\n`);
    expect(limitHeaderLines(evaluation)).toContain(`RateLimit: "${name}";r=0;t=${waitSecs}`);
    expect(await admitted(policy, at(9 + waitSecs))).toBe(0);
    expect(await admitted(policy, at(10 + waitSecs))).toBe(1);
  });
});

describe('a rate limit in shadow mode', () => {
  it('counts, notes, announces nothing, and leaves the limit per address in force', async () => {
    const gateway = testGateway({ perIp: { requests: 4, windowSecs: 60 } });
    const policy = gateway.compile({ rate_limit: TWO, shadow: ['rate_limit'] });
    expect(policy.stages.map((stage) => [stage.part, stage.shadow])).toEqual([
      ['ip_rate_limit', false],
      ['rate_limit', true],
    ]);
    expect(await admitted(policy, testFacts(), 3)).toBe(3);
    const { denial, evaluation } = await run(policy, testFacts());
    expect(denial).toBeUndefined();
    expect(evaluation.shadowDenials?.map((entry) => entry.part)).toEqual(['rate_limit']);
    expect(limitHeaderLines(evaluation)).toContain('RateLimit: "ip";r=0;');
    expect((await run(policy, testFacts())).denial?.code).toBe('rate_limited');
  });
});

describe('a store that answers later', () => {
  /** The shared-memory store with every answer in a promise, as a store over the network has it. */
  class LaterStore implements LimitStore {
    readonly #store = new SharedMemoryLimitStore(createLimitMemory({ counterBytes: 2 ** 17 }), 1);
    take(rule: LimitRule, subject: string, nowMs: number): Promise<LimitDecision> {
      return Promise.resolve(this.#store.take(rule, subject, nowMs));
    }
    peek(rule: LimitRule, subject: string, nowMs: number): Promise<LimitDecision> {
      return Promise.resolve(this.#store.peek(rule, subject, nowMs));
    }
  }

  it('gives the same answers', async () => {
    const gateway = testGateway({ limits: new LaterStore(), perIp: { requests: 3, windowSecs: 60 } });
    const narrow = gateway.compile({ rate_limit: TWO });
    expect(evaluate(narrow, testFacts(), newEvaluation())).toBeInstanceOf(Promise);
    expect(await admitted(narrow, testFacts())).toBe(1);
    expect(await admitted(gateway.compile({}), testFacts())).toBe(1);
    expect(await admitted(narrow, testFacts({}, { clientIp: '192.0.2.2' }))).toBe(0);
    const guarded = testGateway({ limits: new LaterStore(), authFailuresPerMinute: 2 });
    const policy = guarded.compile({ auth: { auth_type: 'api_key' } });
    const codes: (string | undefined)[] = [];
    for (let count = 0; count < 3; count++) {
      codes.push((await run(policy, testFacts(bearer('hgk_x')))).denial?.code);
    }
    expect(codes).toEqual(['credentials_invalid', 'credentials_invalid', 'too_many_auth_failures']);
  });
});
