/** The first page: problems first, then traffic over time, the most used, and the state of the gateway. */
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import { useSearchText } from '../../page/search-text.ts';
import { overviewWords } from '../../text/overview.ts';
import { ButtonLink } from '../../ui/controls/button.tsx';
import { Loaded, Note } from '../../ui/display/notes.tsx';
import { PageHead, Stack } from '../../ui/display/panel.tsx';
import { FirstSteps } from '../start/first-steps.tsx';
import { ProblemList, useProblems } from './problem-list.tsx';
import { StatePanel } from './state-panel.tsx';
import { TopTables } from './top-tables.tsx';
import { TrafficFilters } from './traffic-filters.tsx';
import { TrafficPanels } from './traffic-panels.tsx';
import { useTraffic, type Subject, type Traffic } from './use-traffic.ts';

const APPS_MS = 10_000;

export function OverviewPage(): ReactNode {
  const subject = useSubject();
  const problems = useProblems();
  const apps = useRead('GET /apps', { query: { limit: 1 } }, { everyMs: APPS_MS });
  const listed = problems.data?.body.data;
  const isEmpty = apps.data?.body.page.total === 0;
  return (
    <>
      <PageHead
        title={overviewWords.title}
        summary={overviewWords.summary}
        actions={!isEmpty && <TrafficFilters subject={subject} />}
      />
      <Stack>
        <Loaded query={problems}>{({ body }) => <ProblemList problems={body.data} />}</Loaded>
        {isEmpty ? <FirstSteps /> : <TrafficView subject={subject} />}
        <StatePanel problems={listed} />
      </Stack>
    </>
  );
}

function useSubject(): Subject {
  const [window] = useSearchText('window', '15m');
  const [app] = useSearchText('app');
  const [version] = useSearchText('version');
  const [route] = useSearchText('route');
  return { window: window === '24h' ? '24h' : '15m', app, version, route };
}

function TrafficView({ subject }: { readonly subject: Subject }): ReactNode {
  const traffic = useTraffic(subject);
  return (
    <Stack>
      <Loaded query={traffic}>
        {(data) =>
          data.window.enabled ? (
            <>
              <MissingNodes traffic={data} />
              <TrafficPanels traffic={data} />
              <TopTables subject={subject} />
            </>
          ) : (
            <StatsOff />
          )
        }
      </Loaded>
    </Stack>
  );
}

function MissingNodes({ traffic }: { readonly traffic: Traffic }): ReactNode {
  const missing = traffic.recent.nodes.filter(({ answered }) => !answered);
  if (missing.length === 0) return null;
  return <Note tone="warn">{overviewWords.incomplete(missing.map(({ name }) => name).join(', '))}</Note>;
}

function StatsOff(): ReactNode {
  return (
    <Note>
      {overviewWords.off}
      <ButtonLink isSmall to="/settings" search={{ q: 'GATEWAY_STATS__MAX_BYTES' } as never}>
        {overviewWords.offLink}
      </ButtonLink>
    </Note>
  );
}
