/** Names and values below each other; and a few large figures side by side. */
import type { ReactNode } from 'react';
import styles from './key-values.module.css';

/** A row of `KeyValues`. */
export function row(name: string, value: ReactNode): readonly [string, ReactNode] {
  return [name, value];
}

export function KeyValues({ rows }: { readonly rows: readonly (readonly [string, ReactNode])[] }): ReactNode {
  return (
    <dl className={styles['list']}>
      {rows.map(([name, value]) => (
        <div key={name} className={styles['row']}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export interface Figure {
  readonly label: string;
  readonly value: string;
  readonly tone?: 'good' | 'warn' | 'bad' | undefined;
  readonly aside?: ReactNode;
}

export function Figures({ figures }: { readonly figures: readonly Figure[] }): ReactNode {
  return (
    <dl className={styles['figures']}>
      {figures.map(({ label, value, tone, aside }) => (
        <div key={label} className={styles['figure']} data-tone={tone}>
          <dt>{label}</dt>
          <dd>
            <span className={styles['value']}>{value}</span>
            {aside}
          </dd>
        </div>
      ))}
    </dl>
  );
}
