/** Scopes through the compiled policy, as the proxy runs it, and what a write is told of them. */
import { describe, expect, it } from 'vitest';
import { validatePolicy } from '../../policy-rules.ts';
import type { Policy } from '../../registry.ts';
import { bearer, run, testFacts, testGateway } from '../../test-fixtures.ts';

describe('required_scopes', () => {
  const policy: Policy = { auth: { auth_type: 'api_key' }, required_scopes: ['read', 'write'] };
  it.each([
    [['read', 'write'], undefined],
    [['write', 'more', 'read'], undefined],
    [['read'], 'write'],
    [['write'], 'read'],
    [['READ', 'write'], 'read'],
    [[], 'read'],
  ])('a key with %j', async (scopes, lacking) => {
    const gateway = testGateway();
    const { token } = gateway.keys.create({ scopes });
    const { denial } = await run(gateway.compile(policy), testFacts(bearer(token)));
    const expected = {
      code: 'insufficient_scope',
      detail: `The credential lacks the scope "${lacking}"`,
      headerLines:
        'WWW-Authenticate: Bearer realm="billing", error="insufficient_scope", scope="read write"\r\n',
    };
    expect(denial).toEqual(lacking === undefined ? undefined : expected);
    expect(gateway.outcomes).toEqual(lacking === undefined ? ['api_key'] : ['api_key', 'forbidden']);
  });

  it('without auth imply API keys', async () => {
    const gateway = testGateway();
    const compiled = gateway.compile({ required_scopes: ['read'] });
    expect((await run(compiled, testFacts())).denial?.code).toBe('credentials_missing');
    const { token } = gateway.keys.create();
    expect((await run(compiled, testFacts(bearer(token)))).denial).toBeUndefined();
  });

  it('refuse an anonymous caller with 401 and the problem of its credential', async () => {
    const gateway = testGateway();
    const compiled = gateway.compile({
      auth: { auth_type: 'api_key', required: false },
      required_scopes: ['read'],
    });
    expect((await run(compiled, testFacts())).denial?.headerLines).toBe(
      'WWW-Authenticate: Bearer realm="billing"\r\n',
    );
    const { token } = gateway.keys.create({ is_active: false });
    const { denial } = await run(compiled, testFacts(bearer(token)));
    expect(denial?.code).toBe('credentials_invalid');
    expect(denial?.headerLines).toContain('error="invalid_token"');
  });

  it('fail closed if auth_type is none', async () => {
    const gateway = testGateway();
    const { token } = gateway.keys.create();
    const compiled = gateway.compile({ auth: { auth_type: 'none' }, required_scopes: ['read'] });
    const { denial } = await run(compiled, testFacts(bearer(token)));
    expect(denial?.code).toBe('credentials_missing');
    expect(denial?.detail).toContain('auth_type "none"');
  });
});

it.each<[string, Policy, readonly string[]]>([
  ['no auth of its own', { required_scopes: ['read'] }, []],
  ['API keys', { auth: { auth_type: 'api_key' }, required_scopes: ['read'] }, []],
  ['auth_type none, and no scopes', { auth: { auth_type: 'none' }, required_scopes: [] }, []],
  [
    'auth_type none, which is refused',
    { auth: { auth_type: 'none' }, required_scopes: ['read'] },
    ['/p/required_scopes'],
  ],
])('a policy with scopes: %s', (_name, policy, expected) => {
  const errors = validatePolicy(policy, { globals: undefined }, '/p');
  expect(errors.map(({ pointer }) => pointer)).toEqual(expected);
});
