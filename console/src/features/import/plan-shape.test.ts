import { expect, it } from 'vitest';
import type { PlannedChange } from '../save/plan-types.ts';
import { fieldTexts, totalOfPlan } from './plan-shape.ts';

const change = (kind: PlannedChange['change']): PlannedChange => ({
  change: kind,
  type: 'app',
  path: ['shop'],
  fields: { gateway_path: { before: null, after: '/shop' }, labels: { before: { a: '1' }, after: {} } },
});

it('shows the values of a new record, and both values of a changed one', () => {
  expect(fieldTexts(change('create'))).toEqual(['gateway_path: /shop', 'labels: {}']);
  expect(fieldTexts(change('update'))).toEqual(['gateway_path: (default) → /shop', 'labels: {"a":"1"} → {}']);
});

it('counts changes, also those that are not listed', () => {
  const totals = { create: 2_000, update: 1, delete: 3 };
  expect(totalOfPlan({ base_version: 1, totals, changes: [], traffic: null })).toBe(2_004);
});
