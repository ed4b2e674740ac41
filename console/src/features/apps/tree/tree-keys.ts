/** Keyboard navigation in a tree (WAI-ARIA, tree view pattern). Pure. */
import { findByPrefix, type Rows } from './tree-layout.ts';
import type { TreeRow } from './tree-store.ts';

export type TreeMove =
  | { readonly kind: 'go'; readonly to: number }
  | { readonly kind: 'toggle'; readonly row: TreeRow; readonly isOpen: boolean }
  | { readonly kind: 'enter'; readonly row: TreeRow };

/** @param key key of the keyboard event @param page number of visible rows */
export function treeMove(
  rows: Rows<TreeRow>,
  active: number,
  key: string,
  page: number,
): TreeMove | undefined {
  const go = (to: number): TreeMove => ({ kind: 'go', to: Math.max(0, Math.min(rows.count - 1, to)) });
  const row = rows.at(active);
  switch (key) {
    case 'ArrowDown':
      return go(active + 1);
    case 'ArrowUp':
      return go(active - 1);
    case 'PageDown':
      return go(active + page);
    case 'PageUp':
      return go(active - page);
    case 'Home':
      return go(0);
    case 'End':
      return go(rows.count - 1);
    case 'Enter':
      return row && { kind: 'enter', row };
    case 'ArrowRight':
      return row && openOrDown(row, active, go);
    case 'ArrowLeft':
      return row && closeOrUp(rows, row, active, go);
    default:
      return undefined;
  }
}

type Go = (to: number) => TreeMove;

function openOrDown(row: TreeRow, active: number, go: Go): TreeMove | undefined {
  if (!('isOpen' in row)) return undefined;
  return row.isOpen ? go(active + 1) : { kind: 'toggle', row, isOpen: true };
}

function closeOrUp(rows: Rows<TreeRow>, row: TreeRow, active: number, go: Go): TreeMove | undefined {
  if ('isOpen' in row && row.isOpen) return { kind: 'toggle', row, isOpen: false };
  // Siblings and their open children are in between.
  let index = active - (row.kind === 'endpoint' || row.kind === 'waiting' ? row.position : 1);
  while (index >= 0 && (rows.at(index)?.depth ?? 0) >= row.depth) index -= 1;
  return index < 0 ? undefined : go(index);
}

/** The text that is read out and matched by typing. */
export function rowLabel(row: TreeRow): string | undefined {
  switch (row.kind) {
    case 'app':
      return row.app.name;
    case 'version':
      return row.version.version;
    case 'revision':
      return row.revision.revision;
    case 'endpoint':
      return `${row.endpoint.method} ${row.endpoint.path}`;
    default:
      return undefined;
  }
}

/** The typed text, as long as the letters follow each other quickly and no other key comes between them. */
export class TypeAhead {
  #text = '';
  #lastMs = -Infinity;

  /** Another key was pressed: the next letter is the first one. */
  end(): void {
    this.#lastMs = -Infinity;
  }

  /** @returns the row to go to */
  type(rows: Rows<TreeRow>, active: number, letter: string, nowMs: number): number | undefined {
    const isMore = nowMs - this.#lastMs < 700;
    this.#lastMs = nowMs;
    this.#text = isMore && this.#text !== letter ? this.#text + letter : letter;
    return findByPrefix(rows, active, this.#text, rowLabel);
  }
}
