/**
 * Health of the revisions that get traffic, app by app, a page of apps at a time; failures come first, whichever app
 * they belong to.
 */
import type { ReactNode } from 'react';
import { usePages } from '../../api/queries.ts';
import type { CurrentProblem } from '../../api/schema.ts';
import { useSearchText } from '../../page/search-text.ts';
import { useMay } from '../../page/session.ts';
import { healthWords } from '../../text/operation.ts';
import { words } from '../../text/words.ts';
import { Button, ButtonLink } from '../../ui/controls/button.tsx';
import { TextField } from '../../ui/controls/field.tsx';
import { EmptyState, Loaded, Note } from '../../ui/display/notes.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { ProblemList, useProblems } from '../overview/problem-list.tsx';
import { AppHealth } from './app-health.tsx';
import styles from './health.module.css';

/** Each asks for its revisions. */
const APPS_PER_PAGE = 10;
const BACKEND_KINDS: ReadonlySet<CurrentProblem['link']['kind']> = new Set(['app', 'revision']);

export function HealthPage(): ReactNode {
  return (
    <>
      <PageHead title={healthWords.title} summary={healthWords.summary} />
      <Stack>
        <Failing />
        <Apps />
      </Stack>
    </>
  );
}

function Failing(): ReactNode {
  const problems = useProblems();
  return (
    <Loaded query={problems}>
      {({ body }) => {
        const failing = body.data.filter(({ link }) => BACKEND_KINDS.has(link.kind));
        return failing.length === 0 ? (
          <Note tone="good">{healthWords.nothingFails}</Note>
        ) : (
          <ProblemList problems={failing} />
        );
      }}
    </Loaded>
  );
}

function Apps(): ReactNode {
  const [q, setQ] = useSearchText('q');
  const query = { limit: APPS_PER_PAGE, ...(q !== '' && { q }) };
  const apps = usePages('GET /apps', { query }, { keepPrevious: true });
  return (
    <>
      <div className={styles['search']}>
        <TextField
          label={healthWords.search}
          hint={healthWords.searchHint}
          type="search"
          value={q}
          onValue={setQ}
        />
      </div>
      <Loaded query={apps}>
        {({ items, total }) => (
          <>
            {items.length === 0 && <NoApps isSearch={q !== ''} />}
            {items.map((app) => (
              <AppHealth key={app.id} app={app} />
            ))}
            {apps.hasNextPage && (
              <div className={styles['more']}>
                <Button isBusy={apps.isFetchingNextPage} onClick={() => void apps.fetchNextPage()}>
                  {words.loadMore}
                </Button>
                <span>{words.shownOf(items.length, total)}</span>
              </div>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

function NoApps({ isSearch }: { readonly isSearch: boolean }): ReactNode {
  const mayMake = useMay('editor');
  if (isSearch) {
    return (
      <Panel isFlush>
        <EmptyState title={healthWords.noneFound}>
          <p>{healthWords.noneFoundDetail}</p>
        </EmptyState>
      </Panel>
    );
  }
  return (
    <Panel isFlush>
      <EmptyState
        title={healthWords.noApps}
        actions={mayMake && <ButtonLink to="/start">{healthWords.makeApp}</ButtonLink>}
      >
        <p>{healthWords.noAppsDetail}</p>
      </EmptyState>
    </Panel>
  );
}
