/** Follows a stream of live traffic: its rows, its state, and the gateway's counts. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { ApiError } from '../../api/api-error.ts';
import { openLiveStream, type LiveQuery, type LiveStream, type StreamState } from '../../api/live-stream.ts';
import type { LiveExchange, LiveStatus } from '../../api/schema.ts';
import { useSession } from '../../page/session.ts';
import { NO_ROWS, released, ROWS_MAX, withExchanges, type LiveRows } from './live-rows.ts';

/** Rows are drawn so often at most, however many come. */
const DRAW_MS = 250;

export interface Live {
  readonly rows: LiveRows;
  readonly state: StreamState;
  readonly error: ApiError | undefined;
  readonly status: LiveStatus | undefined;
  readonly clear: () => void;
  readonly release: () => void;
  /** Watches again after the stream was given up to other windows. */
  readonly resume: () => void;
}

/** The rows shown last, for a reader who returns from one of them. */
let kept = { key: '', rows: NO_ROWS };

/** @param isHeld new rows wait */
export function useLive(query: LiveQuery, isHeld: boolean): Live {
  const key = JSON.stringify([useSession().name, query]);
  const [rows, setRows] = useState(() => (kept.key === key ? released(kept.rows) : NO_ROWS));
  const [{ state, error }, setState] = useState<Pick<Live, 'state' | 'error'>>({
    state: 'connecting',
    error: undefined,
  });
  const [told, setTold] = useState<{ readonly key: string; readonly status: LiveStatus }>();
  const arrived = useRef<LiveExchange[]>([]);
  const held = useRef(isHeld);
  const shownKey = useRef(key);
  const stream = useRef<LiveStream>(undefined);
  useEffect(() => {
    held.current = isHeld;
    if (!isHeld) setRows(released);
  }, [isHeld]);
  useEffect(() => void (kept = { key, rows }), [key, rows]);

  useEffect(() => {
    if (shownKey.current !== key) setRows(NO_ROWS);
    shownKey.current = key;
    arrived.current = [];
    const [, asked] = JSON.parse(key) as [string, LiveQuery];
    const opened = openLiveStream(asked, {
      onExchange: (exchange) => {
        arrived.current.push(exchange);
        // A tab in the background draws seldom.
        if (arrived.current.length > 2 * ROWS_MAX) arrived.current = arrived.current.slice(-ROWS_MAX);
      },
      onStatus: (status) => setTold({ key, status }),
      onState: (next, why) => {
        setState({ state: next, error: why });
        // When a stream is opened again, the workers do not watch until it says so.
        if (next !== 'open') setTold(undefined);
      },
    });
    stream.current = opened;
    const timer = setInterval(() => {
      const fresh = arrived.current;
      if (fresh.length === 0) return;
      arrived.current = [];
      setRows((before) => withExchanges(before, fresh, held.current));
    }, DRAW_MS);
    return () => {
      clearInterval(timer);
      opened.end();
    };
  }, [key]);

  const clear = useCallback(() => setRows(NO_ROWS), []);
  const release = useCallback(() => setRows(released), []);
  const resume = useCallback(() => stream.current?.resume(), []);
  // The status of another stream does not apply to this one.
  const status = told?.key === key ? told.status : undefined;
  return { rows, state, error, status, clear, release, resume };
}
