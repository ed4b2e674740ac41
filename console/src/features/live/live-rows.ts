/** The rows of live traffic: newest first, bounded, and held back while the reader looks at one. Pure. */
import type { LiveExchange } from '../../api/schema.ts';

export const ROWS_MAX = 500;

export interface LiveRows {
  readonly shown: readonly LiveExchange[];
  /** Came while the list was held. */
  readonly waiting: readonly LiveExchange[];
  /** How many came while it was held, also those that `waiting` has no room for. */
  readonly waitingTotal: number;
}

export const NO_ROWS: LiveRows = { shown: [], waiting: [], waitingTotal: 0 };

/** @param fresh oldest first, as they came; those that are there already, after a reconnection, are left out */
export function withExchanges(rows: LiveRows, fresh: readonly LiveExchange[], isHeld: boolean): LiveRows {
  const known = new Set([...rows.shown, ...rows.waiting].map(({ id }) => id));
  const added = fresh.filter(({ id }) => !known.has(id)).toReversed();
  if (added.length === 0) return isHeld || rows.waiting.length === 0 ? rows : released(rows);
  const waiting = [...added, ...rows.waiting].slice(0, ROWS_MAX);
  const held = { shown: rows.shown, waiting, waitingTotal: rows.waitingTotal + added.length };
  return isHeld ? held : released(held);
}

/** Shows the waiting rows. */
export function released(rows: LiveRows): LiveRows {
  const { shown, waiting } = rows;
  if (waiting.length === 0 && rows.waitingTotal === 0) return rows;
  return { shown: [...waiting, ...shown].slice(0, ROWS_MAX), waiting: [], waitingTotal: 0 };
}
