/** The health of a revision as this gateway sees it: its breaker, its last check, its last error. */
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { useRead } from '../../../api/queries.ts';
import type { RevisionHealth, RevisionTransition } from '../../../api/schema.ts';
import { discoveryWords, healthWords, targetWords } from '../../../text/apps.ts';
import { words } from '../../../text/words.ts';
import { Button } from '../../../ui/controls/button.tsx';
import { Badge } from '../../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../../ui/display/data-table.tsx';
import { KeyValues, row } from '../../../ui/display/key-values.tsx';
import { Loaded } from '../../../ui/display/notes.tsx';
import { Panel, Section, Stack } from '../../../ui/display/panel.tsx';
import { Time, formatMs, formatShare } from '../../../ui/display/time.tsx';
import { apiPath, type ResourcePath } from '../resource-path.ts';
import { BREAKER_TONES } from './state-badges.tsx';
import { DiscoveryFacts } from './discovery-facts.tsx';
import { TargetTable } from './target-table.tsx';

const REFRESH_MS = 5_000;
/** The number of breaker changes shown at first. */
const CHANGES_MAX = 8;

interface HealthPanelProps {
  readonly path: ResourcePath;
}

function useHealth(path: ResourcePath) {
  return useRead(
    'GET /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/health',
    {
      path: apiPath(path) as {
        readonly app_id: string;
        readonly version_id: string;
        readonly revision_id: string;
      },
    },
    { everyMs: REFRESH_MS },
  );
}

/** The targets of a revision with several; they need the whole width. */
export function TargetsPanel({ path }: HealthPanelProps): ReactNode {
  const targets = useHealth(path).data?.body.data.targets;
  // Discovery may have found none yet, which the health says.
  if (targets === undefined || targets.length === 0) return null;
  return (
    <Panel title={targetWords.caption} isFlush>
      <TargetTable targets={targets} />
    </Panel>
  );
}

export function HealthPanel({ path }: HealthPanelProps): ReactNode {
  const query = useHealth(path);
  return (
    <Panel title={healthWords.title}>
      <Loaded query={query}>
        {({ body: { data } }) => (
          <Stack>
            <HealthFacts health={data} />
            {data.discovery !== undefined && (
              <Section title={discoveryWords.title}>
                <DiscoveryFacts discovery={data.discovery} />
              </Section>
            )}
            <BreakerHistory health={data} />
          </Stack>
        )}
      </Loaded>
    </Panel>
  );
}

function HealthFacts({ health }: { readonly health: RevisionHealth }): ReactNode {
  return (
    <KeyValues
      rows={[
        [
          healthWords.state,
          <Badge key="state" tone={BREAKER_TONES[health.state]}>
            {healthWords.stateTexts[health.state]}
          </Badge>,
        ],
        ...(health.since === null
          ? []
          : [row(healthWords.since, <Time key="since" at={health.since} relative="ago" />)]),
        [healthWords.failures, health.consecutive_failures.toLocaleString('en')],
        [healthWords.openings, health.openings.toLocaleString('en')],
        ...(health.state === 'open'
          ? []
          : [row(healthWords.share, healthWords.shareOf(formatShare(health.traffic_share)))]),
        [healthWords.probing, healthWords.probings[health.probing]],
        [healthWords.lastProbe, <LastProbe key="probe" health={health} />],
        [healthWords.lastError, <LastError key="error" health={health} />],
      ]}
    />
  );
}

function LastProbe({ health: { last_probe: probe } }: { readonly health: RevisionHealth }): ReactNode {
  if (probe === null) return words.none;
  const time = formatMs(probe.duration_ms);
  const reason = probe.error ?? String(probe.status ?? '');
  return (
    <>
      {probe.ok ? healthWords.probeGood(probe.status, time) : healthWords.probeBad(reason, time)} (
      <Time at={probe.at} relative="ago" />)
    </>
  );
}

function LastError({ health: { last_error: error } }: { readonly health: RevisionHealth }): ReactNode {
  if (error === null) return healthWords.noError;
  return (
    <>
      {error.detail} (<Time at={error.at} relative="ago" />){' '}
      <Link to="/explain" search={{ request_id: error.request_id } as never}>
        {healthWords.request}
      </Link>
    </>
  );
}

const historyColumns: readonly Column<RevisionTransition>[] = [
  { head: healthWords.columns.at, cell: ({ at }) => <Time at={at} /> },
  {
    head: healthWords.columns.change,
    cell: ({ from, to }) => `${healthWords.states[from]} → ${healthWords.states[to]}`,
  },
  { head: healthWords.columns.why, cell: ({ detail }) => detail },
];

function BreakerHistory({ health: { history } }: { readonly health: RevisionHealth }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  if (history.length === 0) return null;
  const shown = isWhole ? history : history.slice(0, CHANGES_MAX);
  return (
    <Section title={healthWords.history}>
      <DataTable
        caption={healthWords.history}
        rows={shown}
        keyOf={({ at, from, to }) => at + from + to}
        columns={historyColumns}
      />
      {shown.length < history.length && (
        <div>
          <Button isSmall onClick={() => setWhole(true)}>
            {healthWords.showAll(history.length)}
          </Button>
        </div>
      )}
    </Section>
  );
}
