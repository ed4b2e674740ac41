/** Live traffic: the requests of this gateway as they end. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState, useSyncExternalStore, type ReactNode } from 'react';
import type { LiveStatus } from '../../api/schema.ts';
import type { PageSearch } from '../../page/search-text.ts';
import { liveWords } from '../../text/live.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { EmptyState, ErrorNote, Note } from '../../ui/display/notes.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { formatNumber } from '../../ui/display/time.tsx';
import { LiveFilters } from './live-filters.tsx';
import { LiveList } from './live-list.tsx';
import { FILTER_NAMES, liveQueryOf } from './live-query.ts';
import { useLive, type Live } from './use-live.ts';
import styles from './live.module.css';

const NARROW = window.matchMedia('(width < 48rem)');

export function LivePage(): ReactNode {
  const search = useSearch({ strict: false }) as PageSearch;
  const query = useMemo(() => liveQueryOf(search), [search]);
  const [isPaused, setPaused] = useState(false);
  const [isLookedAt, setLookedAt] = useState(false);
  const isNarrow = useIsNarrow();
  const live = useLive(query, isPaused || isLookedAt);
  const { rows, error } = live;
  const isFiltered = FILTER_NAMES.some((name) => query[name] !== undefined);
  const fieldError = (name: string): string | undefined => fieldErrorOf(error, name);
  const hasFieldError = FILTER_NAMES.some((name) => fieldError(name) !== undefined);
  return (
    <>
      <PageHead title={liveWords.title} summary={liveWords.summary} />
      <Stack>
        <Panel>
          <LiveFilters errorOf={fieldError} />
        </Panel>
        {error !== undefined && !hasFieldError && <ErrorNote error={error} />}
        <Panel title={liveWords.log} isFlush>
          <Controls
            live={live}
            isPaused={isPaused}
            isFiltered={isFiltered}
            onPause={() => {
              if (isPaused) live.release();
              setPaused(!isPaused);
            }}
          />
          {rows.shown.length === 0 ? (
            <EmptyState title={liveWords.emptyTitle}>
              {hasFieldError
                ? liveWords.emptyRefused
                : isFiltered
                  ? liveWords.emptyFiltered
                  : liveWords.empty}
            </EmptyState>
          ) : (
            <LiveList rows={rows.shown} isNarrow={isNarrow} onHold={setLookedAt} />
          )}
        </Panel>
      </Stack>
    </>
  );
}

/** The API's error about a query parameter, which is a field here. */
function fieldErrorOf(error: Error | undefined, name: string): string | undefined {
  const quoted = `"${name}"`;
  if (error?.message.includes(quoted) !== true) return undefined;
  return error.message.replace(`The query parameter ${quoted} `, '');
}

interface ControlsProps {
  readonly live: Live;
  readonly isPaused: boolean;
  readonly isFiltered: boolean;
  readonly onPause: () => void;
}

function Controls({ live, isPaused, isFiltered, onPause }: ControlsProps): ReactNode {
  const { rows, status } = live;
  // The workers watch once the first figures are there.
  const state = live.state === 'open' && status === undefined ? 'connecting' : live.state;
  const navigate = useNavigate();
  const tone: Tone =
    state === 'open' ? (isPaused ? 'warn' : 'good') : state === 'refused' ? 'bad' : 'neutral';
  return (
    <div className={styles['controls']}>
      <div className={styles['buttons']}>
        <span role="status">
          <Badge tone={tone}>{liveWords.states[isPaused && state === 'open' ? 'paused' : state]}</Badge>
        </span>
        {state === 'given_up' && (
          <Button isSmall look="main" onClick={live.resume}>
            {liveWords.watchHere}
          </Button>
        )}
        <Button isSmall aria-pressed={isPaused} onClick={onPause}>
          {isPaused ? liveWords.resume : liveWords.pause}
        </Button>
        <Button isSmall onClick={live.clear}>
          {liveWords.clear}
        </Button>
        {isFiltered && (
          <Button isSmall onClick={() => void navigate({ to: '.', replace: true, search: {} } as never)}>
            {liveWords.clearFilters}
          </Button>
        )}
        {rows.waitingTotal > 0 && (
          <Button isSmall look="main" onClick={live.release}>
            {liveWords.waiting(rows.waitingTotal)}
          </Button>
        )}
      </div>
      {status === undefined ? <div className={styles['rates']} /> : <Rates status={status} />}
    </div>
  );
}

function Rates({ status }: { readonly status: LiveStatus }): ReactNode {
  const { seen_per_second: seen, shown_per_second: shown, dropped, lost, node, other_nodes: others } = status;
  return (
    <>
      <div className={styles['rates']}>
        {/* The first status has no time behind it. */}
        <span>
          {status.seconds > 0.5 ? liveWords.figures(String(seen), String(shown)) : liveWords.counting}
        </span>
        {dropped > 0 && <span>{liveWords.dropped(formatNumber(dropped))}</span>}
        {lost > 0 && <span>{liveWords.lost(formatNumber(lost))}</span>}
      </div>
      {others !== null && others.length > 0 && (
        <Note>{liveWords.otherNodes(node.name, others.map(({ name }) => name).join(', '))}</Note>
      )}
    </>
  );
}

function useIsNarrow(): boolean {
  return useSyncExternalStore(
    (changed) => {
      NARROW.addEventListener('change', changed);
      return () => NARROW.removeEventListener('change', changed);
    },
    () => NARROW.matches,
  );
}
