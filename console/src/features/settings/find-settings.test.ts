import { expect, it } from 'vitest';
import type { Setting } from '../../api/schema.ts';
import { groupsOf, matching } from './find-settings.ts';

const setting = (name: string, group: string, doc: string, more: Partial<Setting> = {}): Setting => ({
  name,
  group,
  doc,
  type: 'text',
  value: null,
  default: null,
  default_text: null,
  source: 'default',
  secret: false,
  unit: null,
  ...more,
});

const SETTINGS = [
  setting('GATEWAY_PROXY__PORT', 'Traffic', 'Where clients connect', { value: 8080, source: 'environment' }),
  setting('GATEWAY_SERVER__PORT', 'Management', 'Where operators connect', { value: 9090 }),
  setting('GATEWAY_PROXY__HOST', 'Traffic', 'Interface', { value: '127.0.0.1' }),
];
const names = (settings: readonly Setting[]): string[] => settings.map(({ name }) => name);

it.each([
  ['', false, ['GATEWAY_PROXY__PORT', 'GATEWAY_SERVER__PORT', 'GATEWAY_PROXY__HOST']],
  ['port  TRAFFIC', false, ['GATEWAY_PROXY__PORT']],
  ['9090', false, ['GATEWAY_SERVER__PORT']],
  ['clients', false, ['GATEWAY_PROXY__PORT']],
  ['', true, ['GATEWAY_PROXY__PORT']],
  ['host', true, []],
])('finds by %j, only those that are set: %j', (search, onlySet, expected) => {
  expect(names(matching(SETTINGS, search, onlySet))).toEqual(expected);
});

it('puts groups together in their first order', () => {
  expect(groupsOf(SETTINGS).map(([group, items]) => [group, items.length])).toEqual([
    ['Traffic', 2],
    ['Management', 1],
  ]);
});
