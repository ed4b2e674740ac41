/** A short state as a word; the colour only supports it. */
import type { ReactNode } from 'react';
import styles from './badge.module.css';

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'info' | 'accent';

interface BadgeProps {
  readonly tone?: Tone;
  /** A text written by people, which may need more than one line. */
  readonly isLong?: boolean;
  readonly children: ReactNode;
}

export function Badge({ tone = 'neutral', isLong = false, children }: BadgeProps): ReactNode {
  return (
    <span className={`${styles['badge']} ${styles[tone]}`} data-long={isLong || undefined}>
      {children}
    </span>
  );
}

export function statusTone(status: number): Tone {
  if (status >= 500) return 'bad';
  if (status >= 400) return 'warn';
  return status >= 300 ? 'info' : 'good';
}
