/** Messages that concern every page: the gateway does not answer, or its database is unavailable. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useSyncExternalStore, type ReactNode } from 'react';
import { useRead } from '../api/queries.ts';
import { announceUnreachable, connectionState, subscribeToConnection } from '../api/session-state.ts';
import { shellWords } from '../text/shell.ts';
import { Note } from '../ui/display/notes.tsx';
import styles from './banners.module.css';

const HEALTH_MS = 10_000;
const TRY_AGAIN_MS = 1_500;

export function Banners(): ReactNode {
  const { isUnreachable } = useSyncExternalStore(subscribeToConnection, connectionState);
  const health = useRead('GET /apps', { query: { limit: 1 } }, { everyMs: HEALTH_MS });
  const isStale = health.data?.isStale === true;
  useReturn(isUnreachable);
  useReturnOfDatabase(isStale);
  return (
    <div className={styles['banners']} role="status">
      {isUnreachable && <Note tone="bad">{shellWords.unreachable}</Note>}
      {!isUnreachable && isStale && <Note tone="warn">{shellWords.stale}</Note>}
    </div>
  );
}

/** Reads again what could not be read without the database, once it is back. */
function useReturnOfDatabase(isAway: boolean): void {
  const client = useQueryClient();
  const wasAway = useRef(false);
  useEffect(() => {
    if (wasAway.current && !isAway) void client.invalidateQueries();
    wasAway.current = isAway;
  }, [isAway, client]);
}

/** Calls the gateway until it answers again; then everything shown is read again. */
function useReturn(isUnreachable: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!isUnreachable) return undefined;
    const timer = setInterval(() => {
      fetch('/healthz').then(
        () => {
          announceUnreachable(false);
          void client.invalidateQueries();
        },
        () => undefined,
      );
    }, TRY_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isUnreachable, client]);
}
