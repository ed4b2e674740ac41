/** Questions about the time series of one gateway, and how the answers of several gateways are added up. */
import { addNode, addStep, type StepCounts } from './stats-columns.ts';
import type { PlaceKind, StatsHistory } from './stats-history.ts';
import {
  readRows,
  readSeries,
  type StatsGrid,
  type StatsRow,
  type StatsSubject,
  type SteppedSeries,
} from './stats-window.ts';

export interface StatsQuestion {
  readonly grid: StatsGrid;
  readonly subject: StatsSubject;
  /** Also asks for the most used places of a kind; if the subject is an app, only for its places. */
  readonly rows?: { readonly kind: PlaceKind; readonly max: number };
}

/** The findings of one gateway. */
export interface StatsFindings extends SteppedSeries {
  readonly rows: readonly StatsRow[];
}

/** A gateway that was asked; `findings` is undefined if it did not answer. */
export interface StatsReply {
  /** Unix seconds from which on it has counted; undefined: not known. */
  readonly sinceSecs: number | undefined;
  readonly name: string;
  readonly findings: StatsFindings | undefined;
}

export async function answerQuestion(
  history: StatsHistory,
  { grid, subject, rows }: StatsQuestion,
): Promise<StatsFindings> {
  const series = readSeries(history, subject, grid);
  if (rows === undefined) return { ...series, rows: [] };
  const appId = subject.kind === 'app' ? subject.key : undefined;
  const all = await readRows(history, rows.kind, grid, appId);
  return { ...series, rows: busiest(all, rows.max) };
}

export function busiest(rows: readonly StatsRow[], max: number): StatsRow[] {
  return [...rows].sort((a, b) => requestsOf(b) - requestsOf(a)).slice(0, max);
}

function requestsOf({ requests }: StatsRow): number {
  return requests.reduce((sum, count) => sum + count, 0);
}

/** Adds up what gateways found: a step is known if one of them knows it. */
export function addedFindings(all: readonly StatsFindings[], grid: StatsGrid): StatsFindings {
  const steps: (StepCounts | undefined)[] = Array.from({ length: grid.steps });
  const rows = new Map<string, StatsRow>();
  let sinceSecs: number | undefined;
  for (const findings of all) {
    if (findings.sinceSecs !== undefined) sinceSecs = Math.min(findings.sinceSecs, sinceSecs ?? Infinity);
    findings.steps.forEach((counts, index) => {
      if (counts === undefined) return;
      const sum = (steps[index] ??= new Float64Array(counts.length));
      addNode(sum, counts);
    });
    for (const row of findings.rows) rows.set(row.key, addedRow(rows.get(row.key), row));
  }
  return { sinceSecs, steps, rows: [...rows.values()] };
}

function addedRow(before: StatsRow | undefined, row: StatsRow): StatsRow {
  if (before === undefined) return row;
  const total = Float64Array.from(before.total);
  addNode(total, row.total);
  const requests = before.requests.map((count, index) => count + (row.requests[index] ?? 0));
  return { ...row, sinceSecs: Math.min(before.sinceSecs, row.sinceSecs), total, requests };
}

/** All steps as one; all 0 without steps. */
export function totalOf(steps: readonly (StepCounts | undefined)[], columns: number): StepCounts {
  const total = new Float64Array(columns);
  for (const counts of steps) if (counts !== undefined) addStep(total, counts);
  return total;
}
