/** Requests under a key, day by day: bars, and the same as a table. */
import { useState, type ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { TokenUsage } from '../../api/schema.ts';
import { keysWords } from '../../text/keys.ts';
import { SelectField } from '../../ui/controls/field.tsx';
import { DataTable } from '../../ui/display/data-table.tsx';
import { EmptyState, Loaded } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { formatNumber, useNow } from '../../ui/display/time.tsx';
import { firstDay, USAGE_KINDS, usageBars, type UsageBars } from './usage-bars.ts';
import styles from './keys.module.css';

const RANGES = (['7', '30', '90', '365'] as const).map((value) => ({
  value,
  label: keysWords.usageRanges[value],
}));
const REFRESH_MS = 10_000;
/** The fraction of a day's width that its bar takes. */
const BAR_SHARE = 0.8;

interface UsageProps {
  readonly app: string;
  readonly id: string;
}

export function Usage({ app, id }: UsageProps): ReactNode {
  const [days, setDays] = useState('30');
  const from = firstDay(Number(days), useNow(true));
  const usage = useRead(
    'GET /apps/{app_id}/tokens/{token_id}/usage',
    { path: { app_id: app, token_id: id }, query: { from } },
    { everyMs: REFRESH_MS, keepPrevious: true },
  );
  return (
    <Panel
      title={keysWords.usage}
      isFlush
      actions={<SelectField label={keysWords.usageDays} value={days} choices={RANGES} onValue={setDays} />}
    >
      <Loaded query={usage}>{({ body }) => <UsageShown usage={body.data} />}</Loaded>
    </Panel>
  );
}

function UsageShown({ usage }: { readonly usage: TokenUsage }): ReactNode {
  const bars = usageBars(usage.from, usage.to, usage.days);
  if (bars.most === 0) {
    return (
      <EmptyState title={keysWords.noUsageTitle}>
        <p>{keysWords.noUsage}</p>
      </EmptyState>
    );
  }
  return (
    <>
      <div className={styles['chart']}>
        <Legend totals={usage.totals} />
        <Chart {...{ bars, usage }} />
        <div className={styles['axis']} aria-hidden="true">
          <span>{usage.from}</span>
          <span>{usage.to}</span>
        </div>
      </div>
      <details className={styles['table']}>
        <summary>{keysWords.usageTable}</summary>
        <DataTable
          caption={keysWords.usage}
          rows={bars.bars.toReversed()}
          keyOf={(day) => day.date}
          columns={[
            { head: keysWords.day, isRowHead: true, cell: (day) => day.date },
            ...USAGE_KINDS.map((kind) => ({
              head: keysWords.counts[kind],
              isNumber: true,
              cell: (day: UsageBars['bars'][number]) => day[kind].toLocaleString('en'),
            })),
          ]}
        />
      </details>
    </>
  );
}

function Legend({ totals }: { readonly totals: TokenUsage['totals'] }): ReactNode {
  return (
    <ul className={styles['legend']}>
      {USAGE_KINDS.map((kind) => (
        <li key={kind}>
          <svg viewBox="0 0 1 1" aria-hidden="true">
            <rect className={styles[kind]} width="1" height="1" />
          </svg>
          {keysWords.counts[kind]} <strong>{totals[kind].toLocaleString('en')}</strong>
        </li>
      ))}
    </ul>
  );
}

/** Places and sizes are in percent, so that bars fill any width without being stretched. */
function Chart({ bars, usage }: { readonly bars: UsageBars; readonly usage: TokenUsage }): ReactNode {
  const step = 100 / bars.bars.length;
  const { allowed, limited, denied } = usage.totals;
  const label = keysWords.usageChart(
    formatNumber(allowed + limited + denied),
    bars.bars.length,
    formatNumber(bars.most),
    bars.mostDate,
  );
  return (
    <>
      <div className={styles['axis']} aria-hidden="true">
        {formatNumber(bars.most)}
      </div>
      <svg role="img" aria-label={label}>
        {bars.bars.map((day, index) => (
          <g key={day.date}>
            {day.parts.map(({ kind, from, to }) => (
              <rect
                key={kind}
                className={styles[kind]}
                x={`${(index + (1 - BAR_SHARE) / 2) * step}%`}
                width={`${step * BAR_SHARE}%`}
                y={`${(1 - to) * 100}%`}
                height={`${(to - from) * 100}%`}
              />
            ))}
            <rect className={styles['hover']} x={`${index * step}%`} width={`${step}%`} y="0" height="100%">
              <title>
                {keysWords.barTitle(
                  day.date,
                  formatNumber(day.allowed),
                  formatNumber(day.limited),
                  formatNumber(day.denied),
                )}
              </title>
            </rect>
          </g>
        ))}
      </svg>
    </>
  );
}
