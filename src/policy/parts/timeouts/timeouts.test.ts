import { expect, it } from 'vitest';
import type { Policy } from '../../registry.ts';
import { testGateway } from '../../test-fixtures.ts';
import { TIMEOUTS } from './part.ts';

it.each<[string, Policy]>([
  ['where no level says anything', {}],
  ['where a level takes back what it inherits', { timeouts: null }],
])('the settings apply %s', (_name, policy) => {
  expect(testGateway().compile(policy).timeouts).toBeUndefined();
});

it('those that are left out are those of the settings, also in what explain tells', () => {
  const compiled = testGateway().compile({ timeouts: { first_byte_ms: 250, total_ms: 1_000 } });
  expect(compiled.timeouts).toEqual({
    connectMs: undefined,
    firstByteMs: 250,
    idleMs: undefined,
    totalMs: 1_000,
  });
  const defaults = {
    connectTimeoutMs: 5_000,
    firstByteTimeoutMs: 30_000,
    idleTimeoutMs: 60_000,
    minBodyBytesPerSec: 0,
  };
  expect(TIMEOUTS.explain?.forwarding?.(undefined, compiled, defaults)).toEqual({
    connect_ms: 5_000,
    first_byte_ms: 250,
    idle_ms: 60_000,
    total_ms: 1_000,
  });
});
