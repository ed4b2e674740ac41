/** A small line without axes: a number over time. */
import type { ReactNode } from 'react';
import styles from './sparkline.module.css';

const WIDTH = 120;
const HEIGHT = 28;

interface SparklineProps {
  readonly values: readonly (number | null)[];
  /** A description with the last value, for screen readers. */
  readonly label: string;
}

export function Sparkline({ values, label }: SparklineProps): ReactNode {
  return (
    <svg
      className={styles['line']}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path d={sparkPath(values)} vectorEffect="non-scaling-stroke" />
    </svg>
  );
}

/** A null leaves a gap. */
function sparkPath(values: readonly (number | null)[]): string {
  const most = Math.max(1e-9, ...values.map((value) => value ?? 0));
  const step = values.length < 2 ? 0 : WIDTH / (values.length - 1);
  let isDrawing = false;
  return values
    .map((value, index) => {
      if (value === null) {
        isDrawing = false;
        return '';
      }
      const y = HEIGHT - 2 - (value / most) * (HEIGHT - 4);
      const part = `${isDrawing ? 'L' : 'M'}${(index * step).toFixed(1)} ${y.toFixed(1)}`;
      isDrawing = true;
      return part;
    })
    .join('');
}
