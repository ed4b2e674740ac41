/** The list of versions, newest first; two of them can be chosen and compared. */
import { Link } from '@tanstack/react-router';
import { useId, type ReactNode } from 'react';
import { usePages } from '../../api/queries.ts';
import type { ConfigVersion } from '../../api/schema.ts';
import { useActorNames, type ActorNames } from '../../page/actor-names.ts';
import { useSearchText } from '../../page/search-text.ts';
import { actionText } from '../../text/actions.ts';
import { historyWords } from '../../text/history.ts';
import { Button } from '../../ui/controls/button.tsx';
import { SelectField, TextField } from '../../ui/controls/field.tsx';
import { Badge } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { EmptyState, Loaded } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { Difference } from './difference.tsx';
import { KeptFrom } from './kept-from.tsx';
import { useCompared } from './use-compared.ts';
import styles from './history.module.css';

const ROWS = 50;
const SOURCES = ['', 'api', 'cli', 'console', 'import', 'system'] as const;

export function Versions(): ReactNode {
  const compared = useCompared();
  const [from, to] = compared.chosen;
  return (
    <div className={styles['stack']}>
      <Filters />
      <KeptFrom />
      {from !== undefined && to === undefined && (
        <div className={styles['bar']} role="status">
          {historyWords.chooseSecond(from)}
          <Button isSmall onClick={compared.clear}>
            {historyWords.clear}
          </Button>
        </div>
      )}
      {from !== undefined && to !== undefined && (
        <Difference from={from} to={to} onSwap={compared.swap} onClose={compared.clear} />
      )}
      <List chosen={compared.chosen} onChoose={compared.choose} />
    </div>
  );
}

function Filters(): ReactNode {
  const [actor, setActor] = useSearchText('actor');
  const [source, setSource] = useSearchText('source');
  const [app, setApp] = useSearchText('app');
  const names = useActorNames();
  const listId = useId();
  return (
    <div className={styles['filters']}>
      <TextField label={historyWords.filterApp} value={app} onValue={setApp} maxLength={128} />
      <TextField
        label={historyWords.filterActor}
        hint={historyWords.filterActorHint}
        value={actor}
        onValue={setActor}
        maxLength={128}
        list={listId}
      />
      <SelectField
        label={historyWords.filterSource}
        value={source}
        choices={SOURCES.map((value) => ({
          value,
          label: value === '' ? historyWords.anySource : historyWords.sources[value],
        }))}
        onValue={setSource}
      />
      <datalist id={listId}>
        {names.known.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </datalist>
    </div>
  );
}

interface ListProps {
  readonly chosen: readonly number[];
  readonly onChoose: (version: number, isChosen: boolean) => void;
}

function List({ chosen, onChoose }: ListProps): ReactNode {
  const [actor] = useSearchText('actor');
  const [source] = useSearchText('source');
  const [app] = useSearchText('app');
  const versions = usePages(
    'GET /config/versions',
    {
      query: {
        limit: ROWS,
        ...(actor !== '' && { actor }),
        ...(source !== '' && { source }),
        ...(app !== '' && { app }),
      },
    },
    { keepPrevious: true },
  );
  const names = useActorNames();
  const isFiltered = actor !== '' || source !== '' || app !== '';
  return (
    <Panel isFlush>
      <Loaded query={versions}>
        {({ items, total }) => (
          <DataTable
            caption={historyWords.title}
            rows={items}
            keyOf={(version) => String(version.config_version)}
            columns={columnsOf(names, chosen, onChoose)}
            empty={
              <EmptyState title={isFiltered ? historyWords.noMatchTitle : historyWords.emptyTitle}>
                {isFiltered ? historyWords.noMatch : historyWords.empty}
              </EmptyState>
            }
            more={{ total, pages: versions }}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function columnsOf(
  names: ActorNames,
  chosen: readonly number[],
  onChoose: ListProps['onChoose'],
): readonly Column<ConfigVersion>[] {
  const { columns } = historyWords;
  return [
    {
      head: columns.compare,
      cell: ({ config_version: version }) => (
        <input
          type="checkbox"
          aria-label={historyWords.compareWith(version)}
          checked={chosen.includes(version)}
          onChange={(event) => onChoose(version, event.currentTarget.checked)}
        />
      ),
    },
    {
      head: columns.version,
      isRowHead: true,
      cell: ({ config_version: version }) => (
        <Link to="/history/$version" params={{ version: String(version) }}>
          {version}
        </Link>
      ),
    },
    { head: columns.at, cell: ({ at }) => <Time at={at} relative="ago" /> },
    {
      head: columns.actor,
      cell: ({ actor }) => (
        <div className={styles['who']}>{names.nameOf(actor) ?? <ActorId id={actor} />}</div>
      ),
    },
    { head: columns.source, cell: ({ source }) => <SourceBadge source={source} /> },
    {
      head: columns.action,
      cell: (version) => <div className={styles['sentence']}>{actionSentence(version)}</div>,
    },
    {
      head: columns.message,
      cell: ({ message }) => message !== null && <div className={styles['message']}>{message}</div>,
    },
    { head: columns.records, isNumber: true, cell: ({ changed_records: count }) => count },
  ];
}

/** The id alone, for readers who may not see the names. */
function ActorId({ id }: { readonly id: string }): ReactNode {
  return (
    <code className={styles['actor']} title={id}>
      {id}
    </code>
  );
}

/** The change of a version, as a sentence. */
export function actionSentence({ action, first_record: first }: ConfigVersion): string {
  return actionText(action, first?.path ?? []);
}

export function SourceBadge({ source }: { readonly source: string }): ReactNode {
  return <Badge>{(historyWords.sources as Readonly<Record<string, string>>)[source] ?? source}</Badge>;
}
