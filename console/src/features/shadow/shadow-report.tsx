/** The shadow report of one app: how many requests of how many each part would have denied, where, and of whom. */
import { useState, type ReactNode } from 'react';
import { useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/call.ts';
import { useRead } from '../../api/queries.ts';
import type { ShadowReport, ShadowRow, Stats, StatsTop } from '../../api/schema.ts';
import { useSearchText } from '../../page/search-text.ts';
import { useMay } from '../../page/session.ts';
import { shadowWords } from '../../text/shadow.ts';
import { Button, ButtonLink } from '../../ui/controls/button.tsx';
import { SelectField } from '../../ui/controls/field.tsx';
import { EmptyState, Loaded, Note } from '../../ui/display/notes.tsx';
import { Panel, Stack } from '../../ui/display/panel.tsx';
import { formatNumber, formatShare, Time } from '../../ui/display/time.tsx';
import { ConfirmDialog } from '../../ui/overlay/confirm.tsx';
import { showToast } from '../../ui/overlay/toasts.tsx';
import { useSave } from '../save/save-context.ts';
import { SameChange } from '../save/same-change-view.tsx';
import { requestsSince, WINDOWS, windowStart, type Window } from './denominators.ts';
import { enforceChange } from './enforce.ts';
import { ReportRows } from './report-rows.tsx';
import { Parts, partTitle } from './parts.tsx';
import styles from './shadow.module.css';

const FRESH_MS = 10_000;
const ROWS_MAX = 100;
const STEP_SECS = 60;

export function ShadowReportView({ app }: { readonly app: string }): ReactNode {
  const [chosen, setChosen] = useSearchText('window', '24h');
  const window: Window = WINDOWS.find((each) => each === chosen) ?? '24h';
  const [openedMs] = useState(() => Date.now());
  const from = windowStart(window, openedMs);
  const path = { app_id: app };
  const report = useRead(
    'GET /apps/{app_id}/shadow-report',
    { path, query: { from, limit: ROWS_MAX } },
    { everyMs: FRESH_MS, keepPrevious: true },
  );
  const stats = useRead('GET /stats', { query: { app, window, step: STEP_SECS } }, { everyMs: FRESH_MS });
  const top = useRead(
    'GET /stats/top',
    { query: { app, window, by: 'route', limit: ROWS_MAX } },
    { everyMs: FRESH_MS },
  );
  const record = useRead('GET /apps/{app_id}', { path });
  const inShadow = record.data?.body.data.default_policy?.shadow ?? [];
  return (
    <Stack>
      <div className={styles['head']}>
        <SelectField
          label={shadowWords.window}
          value={window}
          choices={WINDOWS.map((value) => ({ value, label: shadowWords.windows[value] }))}
          onValue={setChosen}
        />
        <Reset app={app} />
      </div>
      <Loaded query={report}>
        {({ body: { data } }) =>
          data.total === 0 ? (
            <Quiet app={app} inShadow={inShadow} />
          ) : (
            <Counts app={app} report={data} stats={stats.data?.body.data} top={top.data?.body.data} />
          )
        }
      </Loaded>
    </Stack>
  );
}

function Quiet({ app, inShadow }: { readonly app: string; readonly inShadow: readonly string[] }): ReactNode {
  const isOn = inShadow.length > 0;
  return (
    <Panel title={shadowWords.report} isFlush>
      <EmptyState
        title={isOn ? shadowWords.quietTitle : shadowWords.emptyTitle}
        actions={
          <ButtonLink to="/apps/$app" params={{ app }} search={{ tab: 'policy' } as never}>
            {shadowWords.toPolicy}
          </ButtonLink>
        }
      >
        {isOn && <Parts parts={inShadow} />}
        <p>{isOn ? shadowWords.quiet : shadowWords.empty}</p>
      </EmptyState>
    </Panel>
  );
}

interface CountsProps {
  readonly app: string;
  readonly report: ShadowReport;
  readonly stats: Stats | undefined;
  readonly top: StatsTop | undefined;
}

function Counts({ app, report, stats, top }: CountsProps): ReactNode {
  const total = stats === undefined ? null : requestsSince(stats, report.from);
  const enforce = useEnforce(app);
  const answered = stats?.nodes.filter((node) => node.answered).length ?? 1;
  return (
    <>
      {stats?.enabled === false && <Note>{shadowWords.noTotals}</Note>}
      {answered > 1 && <Note tone="warn">{shadowWords.allNodes(answered)}</Note>}
      <ul className={styles['cards']} aria-label={shadowWords.report}>
        {Object.entries(report.by_part).map(([part, count]) => (
          <PartCard
            key={part}
            part={part}
            count={count}
            total={total}
            row={report.rows.find((row) => row.part === part)}
            onEnforce={enforce}
          />
        ))}
      </ul>
      <p className={styles['soft']}>
        {shadowWords.since} <Time at={report.from} />
      </p>
      <Panel title={shadowWords.by} isFlush>
        <ReportRows report={report} top={top} onEnforce={enforce} />
      </Panel>
    </>
  );
}

type Enforce = ((row: ShadowRow) => void) | undefined;

interface PartCardProps {
  readonly part: string;
  readonly count: number;
  readonly total: number | null;
  readonly row: ShadowRow | undefined;
  readonly onEnforce: Enforce;
}

function PartCard({ part, count, total, row, onEnforce }: PartCardProps): ReactNode {
  const isComparable = total !== null && total >= count;
  return (
    <li className={styles['card']}>
      <h2>{partTitle(part)}</h2>
      <span className={styles['soft']}>{shadowWords.shadowDenials}</span>
      <strong>
        {isComparable ? shadowWords.ofTotal(formatNumber(count), formatNumber(total)) : formatNumber(count)}
      </strong>
      {isComparable && (
        <>
          <meter
            min={0}
            max={total}
            value={count}
            aria-label={shadowWords.share(formatShare(count / total))}
          />
          <span className={styles['soft']}>{shadowWords.share(formatShare(count / total))}</span>
        </>
      )}
      {row !== undefined && (
        <span>
          {shadowWords.last}: <Time at={row.last.at} relative="ago" />
        </span>
      )}
      {row !== undefined && onEnforce !== undefined && (
        <Button
          look="main"
          aria-label={shadowWords.enforcePart(partTitle(part))}
          onClick={() => onEnforce(row)}
        >
          {shadowWords.enforce}
        </Button>
      )}
    </li>
  );
}

/** undefined: the reader may not. */
function useEnforce(app: string): Enforce {
  const save = useSave();
  if (!useMay('editor')) return undefined;
  return (row) => {
    enforceChange(app, row, partTitle(row.part)).then(
      (change) =>
        change === undefined ? showToast({ title: shadowWords.notInShadow, tone: 'bad' }) : void save(change),
      (error: unknown) => showToast({ title: (error as Error).message, tone: 'bad' }),
    );
  };
}

const RESET = 'DELETE /apps/{app_id}/shadow-report';

function Reset({ app }: { readonly app: string }): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const client = useQueryClient();
  const path = { app_id: app };
  if (!useMay('editor')) return null;
  const reset = async (): Promise<void> => {
    await call(RESET, { path });
    await client.invalidateQueries();
    showToast({ title: shadowWords.wasReset });
  };
  return (
    <>
      <Button onClick={() => setAsking(true)}>{shadowWords.reset}</Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={shadowWords.resetTitle}
        action={shadowWords.reset}
        below={<SameChange operation={RESET} options={{ path }} />}
        onConfirm={reset}
      >
        {shadowWords.resetDetail}
      </ConfirmDialog>
    </>
  );
}
