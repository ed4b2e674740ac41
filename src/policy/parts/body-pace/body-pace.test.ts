import { expect, it } from 'vitest';
import type { Policy } from '../../registry.ts';
import { testGateway } from '../../test-fixtures.ts';

it.each<[string, Policy, number | undefined]>([
  ['the setting applies where no level says anything', {}, undefined],
  ['and where a level takes back what it inherits', { min_body_bytes_per_sec: null }, undefined],
  ['a route has its own', { min_body_bytes_per_sec: 500 }, 500],
  ['a route of streams has none', { min_body_bytes_per_sec: 0 }, 0],
])('the pace of a body: %s', (_name, policy, bytesPerSec) => {
  const compiled = testGateway().compile(policy);
  expect(compiled.minBodyBytesPerSec).toBe(bytesPerSec);
  expect(compiled.stages).toEqual([]);
});
