import { expect, it } from 'vitest';
import type { Policy } from '../../registry.ts';
import { testGateway } from '../../test-fixtures.ts';
import { RETRIES } from './part.ts';

const DEFAULT_ON = ['connect', 'reset'];

it.each<[string, Policy, number, readonly string[]]>([
  ['one where no level says anything', {}, 1, DEFAULT_ON],
  ['one where a level takes back what it inherits', { retries: null }, 1, DEFAULT_ON],
  ['one with {}', { retries: {} }, 1, DEFAULT_ON],
  ['none with 0', { retries: { max: 0 } }, 0, DEFAULT_ON],
  ['as many as it says, after the failures of the default', { retries: { max: 3 } }, 3, DEFAULT_ON],
  ['one after the failures that it names', { retries: { on: ['503'] } }, 1, ['503']],
  ['none after no failure at all', { retries: { max: 2, on: [] } }, 2, []],
])('a route has another attempt: %s', (_name, policy, max, on) => {
  const { retries } = testGateway().compile(policy);
  expect({ ...retries, on: [...retries.on] }).toEqual({ max, on });
});

it('is switched off by `max`, not by an empty value', () => {
  expect(RETRIES.off?.is({ max: 0 })).toBe(true);
  expect(RETRIES.off?.is({})).toBe(false);
});
