/** Methods through the compiled policy, as the proxy runs it, and what may be written. */
import { describe, expect, it } from 'vitest';
import { validatePolicy } from '../../policy-rules.ts';
import { run, testFacts, testGateway } from '../../test-fixtures.ts';

describe('allowed_methods', () => {
  it.each([
    [['GET', 'POST'], 'GET', undefined],
    [['GET', 'POST'], 'HEAD', undefined],
    [['GET', 'POST'], 'DELETE', 'GET, POST, HEAD'],
    [['GET', 'POST'], 'OPTIONS', 'GET, POST, HEAD'],
    [['POST'], 'HEAD', 'POST'],
    [['get'], 'GET', undefined],
    [['GET'], 'get', 'GET, HEAD'],
    [[], 'GET', ''],
  ])('%j for %s', async (methods, method, allow) => {
    const { denial } = await run(
      testGateway().compile({ allowed_methods: methods }),
      testFacts({}, { method }),
    );
    expect([denial?.code, denial?.headerLines]).toEqual(
      allow === undefined ? [undefined, undefined] : ['method_not_allowed', `Allow: ${allow}\r\n`],
    );
  });

  it('have no stage when every method is allowed', () => {
    expect(testGateway().compile({ allowed_methods: ['*'] }).stages).toEqual([]);
  });
});

it.each([
  [['GET'], undefined],
  [['*'], undefined],
  [[], 'must name at least one method; ["*"] allows every method'],
  [['*', 'GET'], '"*" cannot be mixed with other methods'],
])('%j in a policy: %s', (allowed_methods, detail) => {
  const errors = validatePolicy({ allowed_methods }, { globals: undefined }, '/default_policy');
  const expected = detail === undefined ? [] : [{ pointer: '/default_policy/allowed_methods', detail }];
  expect(errors).toEqual(expected);
});
