/** What workers get of the requests of operators. */
import { expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { tokenHash } from '../../model/token.ts';
import { ExplainControl } from './explain-control.ts';

it('a debug token is in no setup that is published before it is allowed', () => {
  const control = new ExplainControl(systemClock);
  const created = control.createToken(null, 60);
  expect(created?.token).toMatch(/^hgd_/);
  // As another operation does, and a worker that starts.
  expect([control.setup.debugTokens, control.listTokens()]).toEqual([[], []]);
  control.allowToken(created?.id ?? '');
  expect(control.setup.debugTokens).toMatchObject([{ hash: tokenHash(created?.token ?? '') }]);
  expect(control.listTokens()).toMatchObject([{ id: created?.id }]);
  expect(control.deleteToken(created?.id ?? '')).toBe(true);
  expect(control.setup.debugTokens).toEqual([]);
});

it('tokens that are not allowed yet count among those that there may be', () => {
  const control = new ExplainControl(systemClock);
  const all = Array.from({ length: 101 }, () => control.createToken(null, 60));
  expect(all.map((token) => token === undefined).indexOf(true)).toBe(100);
});
