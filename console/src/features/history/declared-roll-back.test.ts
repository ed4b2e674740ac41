import { expect, it } from 'vitest';
import { declaredRollBack } from './declared-roll-back.ts';

const BEFORE = {
  apps: { shop: { gateway_path: '/a', versions: { v1: {} }, keys: { old: {}, gone: {} } }, away: {} },
};
const NOW = {
  apps: {
    shop: { gateway_path: '/b', keys: { old: { scopes: ['x'] }, late: { scopes: ['y'] } } },
    since: { gateway_path: '/since', versions: { v1: {} }, keys: { k: {} } },
  },
};

it('has what the version had, keys that were made since, and of later apps no version', () => {
  expect(declaredRollBack(BEFORE, NOW, false)).toEqual({
    apps: {
      shop: { gateway_path: '/a', versions: { v1: {} }, keys: { old: {}, late: { scopes: ['y'] } } },
      away: {},
      since: { gateway_path: '/since', keys: { k: {} } },
    },
  });
});

it('leaves out keys that were made since where they are to go', () => {
  expect(declaredRollBack(BEFORE, NOW, true)).toMatchObject({ apps: { shop: { keys: { old: {} } } } });
  expect(JSON.stringify(declaredRollBack(BEFORE, NOW, true))).not.toContain('late');
});
