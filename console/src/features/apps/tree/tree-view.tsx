/** The tree as a virtual list: only the rows in sight are in the page. One stop of the Tab key, moved in by arrows. */
import { useNavigate } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { appsWords } from '../../../text/apps.ts';
import { ErrorNote } from '../../../ui/display/notes.tsx';
import { pageLink } from '../parts/resource-link.tsx';
import { TypeAhead, treeMove } from './tree-keys.ts';
import { TreeItem } from './tree-item.tsx';
import { useTrafficLines } from './traffic-lines.ts';
import type { TreeRow } from './tree-store.ts';
import type { Tree } from './use-tree.ts';
import styles from './tree.module.css';

const ROW_PX = 36;
const OVERSCAN = 12;

export function TreeView({ tree }: { readonly tree: Tree }): ReactNode {
  const { rows, store, toggle } = tree;
  const scroller = useRef<HTMLDivElement>(null);
  const id = useId();
  const trafficOf = useTrafficLines();
  // oxlint-disable-next-line react/incompatible-library -- nothing here is memoized by a compiler
  const virtual = useVirtualizer({
    count: rows.count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
  });
  const items = virtual.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  useEffect(() => store.lookAt(rows, first, last), [store, rows, first, last]);
  const { active, onKeyDown, setActive } = useTreeKeys(tree, {
    page: () => Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / ROW_PX) - 1),
    show: (index) => virtual.scrollToIndex(index),
  });
  return (
    <>
      {store.error !== undefined && <ErrorNote error={store.error} onRetry={() => store.retry()} />}
      <div
        ref={scroller}
        className={styles['scroller']}
        role="tree"
        tabIndex={0}
        aria-label={appsWords.tree}
        aria-activedescendant={active >= first && active <= last ? `${id}${active}` : undefined}
        onKeyDown={onKeyDown}
      >
        <div role="none" className={styles['canvas']} style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start }) => {
            const row = rows.at(index);
            return (
              row && (
                <TreeItem
                  key={index}
                  id={`${id}${index}`}
                  row={row}
                  top={start}
                  traffic={trafficOf(row)}
                  isActive={index === active}
                  onToggle={(isOpen) => toggle(row.key, isOpen)}
                  onPress={() => {
                    setActive(index);
                    scroller.current?.focus({ preventScroll: true });
                  }}
                />
              )
            );
          })}
        </div>
      </div>
    </>
  );
}

interface Screen {
  readonly page: () => number;
  readonly show: (index: number) => void;
}

interface TreeKeyboard {
  readonly active: number;
  readonly setActive: (index: number) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

function useTreeKeys({ rows, toggle }: Tree, screen: Screen): TreeKeyboard {
  const navigate = useNavigate();
  const [chosen, setActive] = useState(0);
  const [typing] = useState(() => new TypeAhead());
  const active = Math.max(0, Math.min(chosen, rows.count - 1));
  const go = (to: number): void => {
    setActive(to);
    screen.show(to);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const { key, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey) return;
    const move = treeMove(rows, active, key, screen.page());
    if (move !== undefined) typing.end();
    if (move === undefined) {
      const found = key.length === 1 ? typing.type(rows, active, key, event.timeStamp) : undefined;
      if (found === undefined) return;
      go(found);
    } else if (move.kind === 'go') go(move.to);
    else if (move.kind === 'toggle') toggle(move.row.key, move.isOpen);
    else void enter(move.row, navigate);
    event.preventDefault();
  };
  return { active, setActive, onKeyDown };
}

function enter(row: TreeRow, navigate: ReturnType<typeof useNavigate>): Promise<void> | undefined {
  return 'path' in row ? navigate(pageLink(row.path)) : undefined;
}
