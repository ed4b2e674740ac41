/** What an import and a plan answer, as far as the page shows it. Pure. */
import type { Configuration } from '../../api/schema.ts';

export interface Imported {
  readonly config: Configuration;
  /** Null: a new app. */
  readonly base_version: number | null;
  readonly operations: number;
  readonly notes: readonly string[];
  readonly notes_total: number;
}

export interface PlannedChange {
  readonly change: 'create' | 'update' | 'delete';
  readonly type: string;
  readonly path: readonly string[];
  readonly fields: Readonly<Record<string, { readonly before: unknown; readonly after: unknown }>>;
}

export interface Plan {
  readonly base_version: number;
  readonly totals: Readonly<Record<PlannedChange['change'], number>>;
  readonly changes: readonly PlannedChange[];
  readonly traffic: {
    readonly requests: number;
    readonly changed: number;
    readonly problem: string | null;
  } | null;
}

/** The OpenAPI document leaves the answer of a plan open. */
export const readPlan = (data: unknown): Plan => data as Plan;

export const totalOfPlan = ({ totals }: Plan): number => totals.create + totals.update + totals.delete;

/** The fields of a change as text: `path: (none) → "/a"`; of a new record only what it gets. */
export function fieldTexts({ change, fields }: PlannedChange): string[] {
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
