import { describe, expect, it } from 'vitest';
import { checkPartNames, EXCEPTIONS, unusedExceptions } from './part-names-rules.ts';

const NAMES = new Set(['cors', 'headers', 'rate_limit']);
const messagesOf = (path: string, body: string): string[] =>
  checkPartNames(path, body, NAMES).map(({ line, message }) => `${line}: ${message.split(' names ')[0]}`);

describe('a part of a policy', () => {
  it.each([
    ["if (stage === 'cors') a();", '1: "cors"'],
    ["\nconst value = policy['headers'];", '2: "headers"'],
    ["type Kind = 'cors' | 'other';", '1: "cors"'],
    ['const value = policy.rate_limit;', '1: "rate_limit"'],
    ['const { rate_limit: limit } = policy;', '1: "rate_limit"'],
    ['interface A { readonly rate_limit: number }', '1: "rate_limit"'],
    ['const value = policy.cors;', '1: "cors"'],
    ['const value = app.default_policy?.headers.request;', '1: "headers"'],
    ['const value = (ownPolicy as Policy).cors;', '1: "cors"'],
    ['const value = effective.policy!.cors;', '1: "cors"'],
    ['const { cors, ...rest } = policy;', '1: "cors"'],
    ['const a = ({ policy: { headers } }: App) => headers;', '1: "headers"'],
    ["import { a } from '../policy/parts/cors/cors.ts';", '1: "cors"'],
    ["import type { A } from '../policy/parts/rate-limit/schema.ts';", '1: "rate-limit"'],
  ])('is named by %s', (body, message) => {
    expect(messagesOf('src/explain/a.ts', body)).toEqual([message]);
  });

  it.each([
    "import { PARTS } from '../policy/registry.ts';",
    'const { headers } = request;',
    'send({ headers: answer.headers });',
    'const { headers } = answerOf(policy);',
    'send(policyRequest.headers);',
    'const answer = { policy: { headers: 1 } };',
    "const text = 'the headers of a request';",
    '// A comment may name cors and rate_limit.',
  ])('is not named by %s', (body) => {
    expect(messagesOf('src/explain/a.ts', body)).toEqual([]);
  });

  it('may be a member of a compiled policy, which the engine reads', () => {
    const body = 'const value = route.policy.cors;';
    expect(messagesOf('src/proxy/respond.ts', body)).toEqual([]);
    expect(messagesOf('src/explain/answer.ts', body)).toEqual(['1: "cors"']);
  });

  it('may be named in src/policy, and where an exception has a reason', () => {
    const body = "const value = policy['headers'];";
    expect(messagesOf('src/policy/compile-policy.ts', body)).toEqual([]);
    expect(messagesOf('src/cli/import/kong/a.ts', body)).toEqual([]);
    expect(messagesOf('src/management/schemas/a.ts', body)).toEqual(['1: "headers"']);
    expect(messagesOf('src/management/schemas/a.ts', 'const a = key.rate_limit;')).toEqual([]);
    for (const { why } of EXCEPTIONS) expect(why).toMatch(/\S/);
  });

  it('has no exception that is not needed', () => {
    const sources = new Map([['src/proxy/match.ts', 'a();']]);
    const paths = unusedExceptions(sources, NAMES).map(({ path }) => path);
    expect(paths).toContain('src/proxy/match.ts');
    sources.set('src/proxy/match.ts', "import { a } from '../policy/parts/auth/auth-of.ts';");
    expect(unusedExceptions(sources, NAMES).map(({ path }) => path)).not.toContain('src/proxy/match.ts');
  });
});
