/** The parts of the answers of an import and a plan that the page shows. Pure. */
import type { Configuration, OpenApiImport } from '../../api/schema.ts';
import type { PlanAnswer, PlannedChange } from '../save/plan-types.ts';

export interface Imported extends OpenApiImport {
  readonly config: Configuration;
}

/** The OpenAPI document leaves the answer of a plan open. */
export const readPlan = (data: unknown): PlanAnswer => data as PlanAnswer;

export const totalOfPlan = ({ totals }: PlanAnswer): number => totals.create + totals.update + totals.delete;

/** The fields of a change as text: `path: (none) → "/a"`; of a new record only what it gets. */
export function fieldTexts({ change, fields }: Pick<PlannedChange, 'change' | 'fields'>): string[] {
  return Object.entries(fields).map(([name, { before, after }]) =>
    change === 'create' ? `${name}: ${shown(after)}` : `${name}: ${shown(before)} → ${shown(after)}`,
  );
}

const shown = (value: unknown): string =>
  value === null || value === undefined
    ? '(default)'
    : typeof value === 'string'
      ? value
      : JSON.stringify(value);
