/** Shares of the traffic as a bar; the borders between them are sliders, for the pointer and the keyboard. */
import { useRef, type KeyboardEvent, type PointerEvent, type ReactNode } from 'react';
import { trafficWords } from '../../../text/apps.ts';
import { formatShare } from '../../../ui/display/time.tsx';
import { moveBorder, shareOf, totalOf, withFineWeights, type Share } from './split.ts';
import styles from './traffic.module.css';

const COLOURS = 6;

interface SplitBarProps {
  readonly shares: readonly Share[];
  /** Undefined for readers who may not change it. */
  readonly onChange: ((shares: readonly Share[]) => void) | undefined;
}

export function SplitBar({ shares, onChange }: SplitBarProps): ReactNode {
  const bar = useRef<HTMLDivElement>(null);
  return (
    <div ref={bar} className={styles['bar']} role="group" aria-label={trafficWords.bar}>
      {shares.map(({ revision }, index) => (
        <div
          key={revision}
          className={styles['share']}
          data-colour={index % COLOURS}
          title={`${revision} ${formatShare(shareOf(shares, index))}`}
          style={{ width: `${shareOf(shares, index) * 100}%` }}
        >
          <span className={styles['shareName']}>{revision}</span>
          <span>{formatShare(shareOf(shares, index))}</span>
        </div>
      ))}
      {onChange !== undefined &&
        shares
          .slice(1)
          .map(({ revision }, index) => (
            <Border key={revision} bar={bar} shares={shares} index={index} onChange={onChange} />
          ))}
    </div>
  );
}

interface BorderProps {
  readonly bar: { readonly current: HTMLDivElement | null };
  readonly shares: readonly Share[];
  /** The index of the share before the border. */
  readonly index: number;
  readonly onChange: (shares: readonly Share[]) => void;
}

function Border({ bar, shares, index, onChange }: BorderProps): ReactNode {
  const fine = withFineWeights(shares);
  const [left, right] = [fine[index], fine[index + 1]];
  if (left === undefined || right === undefined) return null;
  const total = totalOf(fine);
  const before = fine.slice(0, index).reduce((sum, { weight }) => sum + weight, 0);
  const drag = (event: PointerEvent): void => {
    const rectangle = bar.current?.getBoundingClientRect();
    if (rectangle === undefined || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const at = ((event.clientX - rectangle.left) / rectangle.width) * total;
    onChange(moveBorder(fine, index, at - before));
  };
  const press = (event: KeyboardEvent): void => {
    const to = weightByKey(event.key, left.weight, left.weight + right.weight, total);
    if (to === undefined) return;
    event.preventDefault();
    onChange(moveBorder(fine, index, to));
  };
  return (
    <div
      role="slider"
      tabIndex={0}
      className={styles['border']}
      style={{ left: `${((before + left.weight) / total) * 100}%` }}
      aria-label={trafficWords.border(left.revision, right.revision)}
      aria-orientation="horizontal"
      aria-valuemin={0}
      aria-valuemax={left.weight + right.weight}
      aria-valuenow={left.weight}
      aria-valuetext={trafficWords.borderValue(
        left.revision,
        formatShare(left.weight / total),
        right.revision,
        formatShare(right.weight / total),
      )}
      onKeyDown={press}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        event.currentTarget.focus();
      }}
      onPointerMove={drag}
    />
  );
}

/** One per cent by arrow keys, ten by page keys, everything by Home and End. */
function weightByKey(key: string, weight: number, most: number, total: number): number | undefined {
  const step = Math.max(1, Math.round(total / 100));
  switch (key) {
    case 'ArrowLeft':
    case 'ArrowDown':
      return weight - step;
    case 'ArrowRight':
    case 'ArrowUp':
      return weight + step;
    case 'PageDown':
      return weight - 10 * step;
    case 'PageUp':
      return weight + 10 * step;
    case 'Home':
      return 0;
    case 'End':
      return most;
    default:
      return undefined;
  }
}
