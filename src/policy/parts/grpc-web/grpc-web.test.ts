import { expect, it } from 'vitest';
import { createPolicyCompiler } from '../../compile-policy.ts';
import type { Policy } from '../../registry.ts';
import { effective, testGateway } from '../../test-fixtures.ts';

it.each<[Policy, boolean]>([
  [{}, false],
  [{ grpc_web: null }, false],
  [{ grpc_web: false }, false],
  [{ grpc_web: true }, true],
])('calls are translated with %j: %s', (policy, isOn) => {
  const gateway = testGateway();
  expect(gateway.compile(policy).translatesGrpcWeb).toBe(isOn);
  // A page must be able to read the error of a call that no route takes.
  expect(createPolicyCompiler(gateway.dependencies).marksUnmatched?.(effective(policy))).toBe(isOn);
});
