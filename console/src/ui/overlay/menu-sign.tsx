/** The arrow of a button that opens a list. */
import type { ReactNode } from 'react';
import styles from './menu.module.css';

export function MenuSign(): ReactNode {
  return (
    <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true" className={styles['sign']}>
      <path d="M1.5 3.5 5 7l3.5-3.5" />
    </svg>
  );
}
