/** The rows of live traffic. Only those in view are drawn; the arrow keys go from one to the next. */
import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, type KeyboardEvent, type ReactNode } from 'react';
import type { LiveExchange } from '../../api/schema.ts';
import { liveWords } from '../../text/live.ts';
import { Badge, statusTone } from '../../ui/display/badge.tsx';
import { formatMs } from '../../ui/display/time.tsx';
import styles from './live.module.css';

const ROW_PX = 36;
const NARROW_ROW_PX = 60;
const OVERSCAN = 8;
const { columns } = liveWords;

interface LiveListProps {
  readonly rows: readonly LiveExchange[];
  readonly isNarrow: boolean;
  /** The reader looks at a row, or has scrolled: nothing may move. */
  readonly onHold: (isHeld: boolean) => void;
}

export function LiveList({ rows, isNarrow, onHold }: LiveListProps): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const isWithin = useRef({ pointer: false, focus: false });
  // oxlint-disable-next-line react/incompatible-library -- nothing of it is handed on
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => (isNarrow ? NARROW_ROW_PX : ROW_PX),
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: OVERSCAN,
  });
  // The row that the reader looked at is gone with the others.
  useEffect(() => () => onHold(false), [onHold]);
  const tell = (part: Partial<typeof isWithin.current> = {}): void => {
    isWithin.current = { ...isWithin.current, ...part };
    const { pointer, focus } = isWithin.current;
    onHold(pointer || focus || (box.current?.scrollTop ?? 0) > 0);
  };
  return (
    <div className={styles['table']}>
      <div className={styles['heads']} aria-hidden="true">
        {Object.values(columns).map((name) => (
          <span key={name}>{name}</span>
        ))}
      </div>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- what it hears is meant for its rows, which are links */}
      <div
        ref={box}
        className={styles['box']}
        role="log"
        aria-label={liveWords.log}
        aria-live="off"
        tabIndex={0}
        onScroll={() => tell()}
        onPointerEnter={() => tell({ pointer: true })}
        onPointerLeave={() => tell({ pointer: false })}
        onFocus={(event) => tell({ focus: event.target !== event.currentTarget })}
        onBlur={() => tell({ focus: false })}
        onKeyDown={step}
      >
        <div className={styles['rows']} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (row === undefined) return null;
            return (
              <div
                key={row.id}
                className={styles['place']}
                style={{ height: item.size, transform: `translateY(${item.start}px)` }}
              >
                <Row row={row} />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

const CLOCK = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});

function Row({ row }: { readonly row: LiveExchange }): ReactNode {
  const { status, code, method, path, host, app, caller, time } = row;
  const name = caller === null ? '' : caller.kind === 'anonymous' ? liveWords.anonymous : caller.name;
  return (
    <Link to="/live/$id" params={{ id: row.id }} className={styles['row']} preload={false}>
      <time dateTime={time} title={`${time} (UTC)`}>
        {CLOCK.format(new Date(time))}
      </time>
      <span>
        <Badge tone={status === null ? 'bad' : statusTone(status)}>{status ?? liveWords.noAnswer}</Badge>
      </span>
      <span className={styles['request']} title={`${method} ${host}${path}`}>
        <b>{method}</b> <code>{path}</code>
      </span>
      <span className={styles['app']}>{app?.slug}</span>
      <span className={styles['caller']}>{name}</span>
      <span className={styles['reason']}>{code ?? (row.aborted ? liveWords.aborted : '')}</span>
      <span className={styles['number']}>{formatMs(row.duration_ms)}</span>
    </Link>
  );
}

/** Moves from row to row; the box scrolls along. */
function step(event: KeyboardEvent<HTMLDivElement>): void {
  const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (by === 0) return;
  const links = [...event.currentTarget.querySelectorAll('a')].toSorted(
    (a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top,
  );
  const at = links.findIndex((link) => link === document.activeElement);
  const next = links[at < 0 ? 0 : at + by];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
