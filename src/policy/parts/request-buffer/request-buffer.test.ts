import { expect, it } from 'vitest';
import type { Policy } from '../../registry.ts';
import { testGateway } from '../../test-fixtures.ts';

it.each<[string, Policy, number]>([
  ['is streamed where no level says anything', {}, 0],
  ['is streamed where a level takes back what it inherits', { buffer_request_bytes: null }, 0],
  ['is streamed with 0', { buffer_request_bytes: 0 }, 0],
  ['is waited for up to a size', { buffer_request_bytes: 65_536 }, 65_536],
])('a request body %s', (_name, policy, bytes) => {
  const compiled = testGateway().compile(policy);
  expect(compiled.bufferRequestBytes).toBe(bytes);
  expect(compiled.stages).toEqual([]);
});
