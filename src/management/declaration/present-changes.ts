/** The changes of an apply in the answer: what, where, and each field before and after, with secrets masked. */
import { isDeepStrictEqual } from 'node:util';
import { maskRecord } from '../write/policy-secrets-view.ts';
import type { DeclaredChange } from './declared-changes.ts';
import type { Item } from './levels.ts';

/** Further changes are counted and not listed. */
export const CHANGES_SHOWN_MAX = 1_000;

export interface PresentedChanges {
  readonly totals: Readonly<Record<DeclaredChange['change'], number>>;
  readonly changes: readonly object[];
}

export function presentChanges(changes: readonly DeclaredChange[]): PresentedChanges {
  const totals = { create: 0, update: 0, delete: 0 };
  for (const { change, below } of changes) totals[change] += 1 + below;
  return { totals, changes: changes.slice(0, CHANGES_SHOWN_MAX).map(presentChange) };
}

function presentChange({ change, type, path, before, after, below }: DeclaredChange): object {
  return {
    change,
    type,
    path,
    fields: change === 'delete' ? {} : changedFields(before ?? {}, after ?? {}),
    ...(below > 0 && { below }),
  };
}

/** Compares stored values, so that a change of a secret is listed, with both values masked. */
function changedFields(before: Item, after: Item): Record<string, object> {
  const [maskedBefore, maskedAfter] = [maskRecord(before), maskRecord(after)];
  const fields: Record<string, object> = {};
  for (const name of [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()) {
    if (isDeepStrictEqual(before[name], after[name])) continue;
    fields[name] = { before: maskedBefore[name] ?? null, after: maskedAfter[name] ?? null };
  }
  return fields;
}
