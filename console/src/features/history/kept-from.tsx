/** How far the history goes back. */
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import { historyWords } from '../../text/history.ts';
import styles from './history.module.css';

export function KeptFrom(): ReactNode {
  const newest = useRead('GET /config/versions', { query: { limit: 1 } });
  if (newest.data === undefined) return null;
  const { page, kept_from: from } = newest.data.body;
  if (page.total === 0) return null;
  return <p className={styles['soft']}>{historyWords.keptFrom(from, page.total)}</p>;
}
