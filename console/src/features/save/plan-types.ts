/** What a plan answers: the changes, and what the recent requests would get. */
import type { ChangeTotals, CreatedKey, ListedChange, PlanTraffic, Warning } from '../../api/schema.ts';

/** No limit: a plan shows what it deletes, and the reader confirms it. */
export const DELETES_MAX = 10_000_000;

export interface PlannedChange extends ListedChange {
  readonly fields: Readonly<Record<string, { readonly before: unknown; readonly after: unknown }>>;
}

export interface PlanAnswer {
  readonly base_version: number;
  readonly totals: ChangeTotals;
  readonly changes: readonly PlannedChange[];
  readonly traffic?: PlanTraffic | null;
  readonly created_keys?: readonly CreatedKey[];
  /** Stands beside the data of the answer. */
  readonly warnings?: readonly Warning[];
}
