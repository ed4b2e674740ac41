/** Events: what happened to the gateways, as a list that grows as things happen. */
import { useCallback, useEffect, useId, useMemo, type ReactNode } from 'react';
import { usePages, useRead } from '../../api/queries.ts';
import type { Event } from '../../api/schema.ts';
import { useSearchText } from '../../page/search-text.ts';
import { EVENT_GROUPS, eventLevel, eventsWords, eventText } from '../../text/events.ts';
import { Button, ButtonLink } from '../../ui/controls/button.tsx';
import { SelectField, TextField } from '../../ui/controls/field.tsx';
import { apiTime } from '../../ui/controls/local-time.ts';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { EmptyState, Loaded, Note } from '../../ui/display/notes.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { TypedFilter } from '../live/live-filters.tsx';
import { EventSubject } from './event-subject.tsx';
import { FRESH_MAX, useEventStream, type EventQuery } from './use-event-stream.ts';
import styles from './events.module.css';

const ROWS = 50;
const APPS_LISTED = 50;
const GROUPS = [{ value: '', label: eventsWords.any }, ...EVENT_GROUPS];
const TONES: Readonly<Record<ReturnType<typeof eventLevel>, Tone>> = {
  info: 'neutral',
  warning: 'warn',
  error: 'bad',
};

export function EventsPage(): ReactNode {
  const query = useEventQuery();
  return (
    <>
      <PageHead
        title={eventsWords.title}
        summary={eventsWords.summary}
        actions={<ButtonLink to="/webhooks">{eventsWords.toWebhooks}</ButtonLink>}
      />
      <Stack>
        <Filters />
        <EventLog query={query} />
      </Stack>
    </>
  );
}

function useEventQuery(): EventQuery {
  const [type] = useSearchText('type');
  const [app] = useSearchText('app');
  const [since] = useSearchText('since');
  const [until] = useSearchText('until');
  return useMemo(() => {
    const given = { type, app: app.trim(), since: apiTime(since) ?? '', until: apiTime(until) ?? '' };
    const chosen = Object.entries(given).filter(([, value]) => value !== '');
    return { limit: ROWS, order: 'newest_first', ...Object.fromEntries(chosen) };
  }, [type, app, since, until]);
}

function EventLog({ query }: { readonly query: EventQuery }): ReactNode {
  const pages = usePages('GET /events', { query }, { keepPrevious: true });
  const { refetch } = pages;
  const readAgain = useCallback(() => void refetch(), [refetch]);
  const { fresh, state, hasGap, clear, resume } = useEventStream(query, readAgain);
  // The newest events are then on the first page.
  useEffect(() => {
    if (fresh.length < FRESH_MAX) return;
    clear();
    readAgain();
  }, [fresh, clear, readAgain]);
  const isPast = query.until !== undefined;
  const isFiltered = Object.keys(query).length > Object.keys({ limit: 0, order: 0 }).length;
  return (
    <Panel
      title={eventsWords.log}
      isFlush
      actions={
        <>
          <span role="status">
            <Badge tone={state === 'open' ? 'good' : state === 'refused' ? 'bad' : 'neutral'}>
              {eventsWords.live[state]}
            </Badge>
          </span>
          {state === 'given_up' && (
            <Button isSmall onClick={resume}>
              {eventsWords.liveHere}
            </Button>
          )}
        </>
      }
    >
      {hasGap && <Note tone="warn">{eventsWords.gap}</Note>}
      <Loaded query={pages}>
        {({ items, total }) => {
          const listed = new Set(items.map(({ id }) => id));
          const added = isPast ? [] : fresh.filter(({ id }) => !listed.has(id));
          return (
            <DataTable
              caption={eventsWords.log}
              rows={[...added, ...items]}
              keyOf={(event) => event.id}
              columns={COLUMNS}
              empty={
                <EmptyState title={eventsWords.emptyTitle}>
                  {isFiltered ? eventsWords.emptyFiltered : eventsWords.empty}
                </EmptyState>
              }
              more={{ total: total + added.length, pages }}
            />
          );
        }}
      </Loaded>
    </Panel>
  );
}

const { columns } = eventsWords;
const COLUMNS: readonly Column<Event>[] = [
  { head: columns.at, cell: ({ at }) => <Time at={at} /> },
  { head: columns.about, isRowHead: true, cell: (event) => <EventSubject event={event} /> },
  {
    head: columns.what,
    cell: ({ type, data }) => <div className={styles['what']}>{eventText(type, data)}</div>,
  },
  { head: columns.type, cell: ({ type }) => <Badge tone={TONES[eventLevel(type)]}>{type}</Badge> },
  { head: columns.node, cell: ({ node }) => node !== null && <code className={styles['node']}>{node}</code> },
];

function Filters(): ReactNode {
  const [type, setType] = useSearchText('type');
  const [since, setSince] = useSearchText('since');
  const [until, setUntil] = useSearchText('until');
  const apps = useRead('GET /apps', { query: { limit: APPS_LISTED } });
  const listId = useId();
  // A type from a link is a choice like the groups.
  const choices = GROUPS.some(({ value }) => value === type)
    ? GROUPS
    : [...GROUPS, { value: type, label: type }];
  return (
    <search aria-label={eventsWords.filters} className={styles['filters']}>
      <SelectField label={eventsWords.group} value={type} choices={choices} onValue={setType} />
      <TypedFilter
        name="app"
        label={eventsWords.app}
        hint={eventsWords.appHint}
        error={undefined}
        list={listId}
      />
      <TextField label={eventsWords.since} type="datetime-local" value={since} onValue={setSince} />
      <TextField label={eventsWords.until} type="datetime-local" value={until} onValue={setUntil} />
      <datalist id={listId}>
        {apps.data?.body.data.map(({ slug }) => (
          <option key={slug}>{slug}</option>
        ))}
      </datalist>
    </search>
  );
}
