/** Follows the stream of events: events since the page was opened, and the state of the stream. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { urlOf } from '../../api/call.ts';
import { openStream, type OpenStream, type StreamState } from '../../api/event-source.ts';
import type { Event, Operations } from '../../api/schema.ts';

/** Beyond this number, the page reads its list again. */
export const FRESH_MAX = 200;
/** Rows are drawn so often at most. */
const DRAW_MS = 250;

export type EventQuery = Operations['GET /events']['query'];

export interface EventStreamView {
  /** Newest first. */
  readonly fresh: readonly Event[];
  readonly state: StreamState;
  /** Some were removed before they could be shown. */
  readonly hasGap: boolean;
  readonly clear: () => void;
  /** Opens it again after it was given up. */
  readonly resume: () => void;
}

/** @param onOpen called because events before may be missing from the page */
export function useEventStream(query: EventQuery, onOpen: () => void): EventStreamView {
  const key = JSON.stringify(query);
  const [fresh, setFresh] = useState<readonly Event[]>([]);
  const [state, setState] = useState<StreamState>('connecting');
  const [hasGap, setGap] = useState(false);
  const stream = useRef<OpenStream>(undefined);
  const opened = useRef(onOpen);
  useEffect(() => void (opened.current = onOpen));
  useEffect(() => {
    const { type, app } = JSON.parse(key) as EventQuery;
    let arrived: Event[] = [];
    setFresh([]);
    setGap(false);
    const open = openStream(urlOf('GET /events', { query: { type, app } }), {
      on: {
        event: (data) => void arrived.push(JSON.parse(data) as Event),
        gap: () => setGap(true),
      },
      onState: (next) => {
        setState(next);
        if (next === 'open') opened.current();
      },
    });
    stream.current = open;
    const timer = setInterval(() => {
      if (arrived.length === 0) return;
      const added = arrived.toReversed();
      arrived = [];
      setFresh((before) => [...added, ...before].slice(0, FRESH_MAX));
    }, DRAW_MS);
    return () => {
      clearInterval(timer);
      open.end();
    };
  }, [key]);
  const clear = useCallback(() => setFresh([]), []);
  const resume = useCallback(() => stream.current?.resume(), []);
  return { fresh, state, hasGap, clear, resume };
}
