/** The tree store in React: read again after every write, with the open nodes in the address of the page. */
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { useSearchText } from '../../../page/search-text.ts';
import type { Rows } from './tree-layout.ts';
import { TreeStore, type TreeRow } from './tree-store.ts';
import { useWriteMark } from './use-endpoints.ts';

export interface Tree {
  readonly store: TreeStore;
  readonly rows: Rows<TreeRow>;
  readonly toggle: (key: string, isOpen: boolean) => void;
}

export function useTree(): Tree {
  const [store] = useState(() => new TreeStore());
  useSyncExternalStore(store.subscribe, store.edition);
  const [openText, setOpenText] = useSearchText('open');
  const open = useMemo(() => new Set(openText.split(',').filter(Boolean)), [openText]);
  useReloadAfterWrites(store);
  const rows = store.rows(open);
  const toggle = (key: string, isOpen: boolean): void => {
    const next = new Set(open);
    if (isOpen) next.add(key);
    else next.delete(key);
    setOpenText([...next].join(','));
  };
  return { store, rows, toggle };
}

function useReloadAfterWrites(store: TreeStore): void {
  const mark = useWriteMark();
  const seen = useRef<number>(undefined);
  useEffect(() => {
    if (mark === undefined) return;
    if (seen.current !== undefined && seen.current !== mark) store.reload();
    seen.current = mark;
  }, [mark, store]);
}
