/** Where the time of an exchange went: one bar in parts, their figures, and the attempts at backends. */
import type { ReactNode } from 'react';
import type { ExplainedTimes } from '../../api/schema.ts';
import { explainWords } from '../../text/explain.ts';
import { Badge, statusTone } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { formatMs, formatShare } from '../../ui/display/time.tsx';
import styles from './explain.module.css';

const GROUPS = [
  'matching',
  'policy',
  'waiting',
  'earlier_attempts',
  'connect',
  'first_byte',
  'body',
] as const satisfies readonly (keyof ExplainedTimes['groups'])[];

export function TimePanel({ times }: { readonly times: ExplainedTimes }): ReactNode {
  const parts = GROUPS.flatMap((group) => {
    const ms = times.groups[group];
    return ms === null ? [] : [{ group, ms }];
  });
  const most = Math.max(times.total, 1e-6);
  const label = parts.map(({ group, ms }) => `${explainWords.groups[group]} ${formatMs(ms)}`).join(', ');
  return (
    <Panel title={explainWords.times} actions={<span>{explainWords.total(formatMs(times.total))}</span>}>
      <div className={styles['bar']} role="img" aria-label={explainWords.timeBar(label)}>
        {parts.map(({ group, ms }) => (
          <span key={group} data-group={group} style={{ flexGrow: ms / most }} />
        ))}
      </div>
      <dl className={styles['groups']}>
        {parts.map(({ group, ms }) => (
          <div key={group} data-group={group} className={styles['group']}>
            <dt>
              {explainWords.groups[group]} <small>{explainWords.groupHints[group]}</small>
            </dt>
            <dd>
              {formatMs(ms)} <small>{formatShare(ms / most)}</small>
            </dd>
          </div>
        ))}
      </dl>
      {times.attempts.length > 0 && (
        <div className={styles['attempts']}>
          <DataTable
            caption={explainWords.attempts}
            columns={ATTEMPTS}
            rows={times.attempts}
            keyOf={({ target, started_after: after }) => `${target} ${after}`}
          />
        </div>
      )}
    </Panel>
  );
}

type Attempt = ExplainedTimes['attempts'][number];

const ATTEMPTS: readonly Column<Attempt>[] = [
  { head: explainWords.target, cell: ({ target }) => <code>{target}</code>, isRowHead: true },
  { head: explainWords.revision, cell: ({ revision }) => revision },
  { head: explainWords.started, cell: ({ started_after: ms }) => formatMs(ms), isNumber: true },
  { head: explainWords.duration, cell: ({ duration }) => formatMs(duration), isNumber: true },
  {
    head: explainWords.result,
    cell: ({ status, failure }) =>
      failure !== null || status === null ? (
        <Badge tone="bad">{failure ?? explainWords.noAnswer}</Badge>
      ) : (
        <Badge tone={statusTone(status)}>{status}</Badge>
      ),
  },
];
