/** How many of the recent requests a change would answer otherwise, grouped by what they would get instead. */
import type { ReactNode } from 'react';
import { saveWords as say } from '../../text/save.ts';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { Note } from '../../ui/display/notes.tsx';
import type { PlanSide, PlanTraffic, PlanTrafficGroup } from '../../api/schema.ts';
import styles from './save.module.css';

const COLUMNS: readonly Column<PlanTrafficGroup>[] = [
  { head: say.groupCount, cell: ({ count }) => count, isNumber: true },
  { head: say.groupBefore, cell: ({ from }) => sideText(from) },
  { head: say.groupAfter, cell: ({ to }) => sideText(to) },
  { head: say.groupCallers, cell: ({ by }) => callerText(by) },
  { head: say.groupFirst, cell: ({ first }) => <code>{first}</code> },
];

export function TrafficGroups({ traffic }: { readonly traffic: PlanTraffic }): ReactNode {
  const { requests, recorded, changed, undecided, groups, groups_total: total, problem } = traffic;
  if (problem !== null) return <Note tone="warn">{say.trafficProblem(problem)}</Note>;
  if (recorded === 0) return <Note tone="neutral">{say.trafficNothing}</Note>;
  return (
    <div className={styles['block']}>
      <Note tone={changed === 0 ? 'good' : 'warn'}>
        {changed === 0 ? say.trafficNone(requests) : say.trafficChanged(changed, requests)}
      </Note>
      {groups.length > 0 && (
        <DataTable
          caption={say.traffic}
          columns={COLUMNS}
          rows={groups}
          keyOf={({ from, to, by, first }) => JSON.stringify([from, to, by, first])}
        />
      )}
      {total > groups.length && <p className={styles['soft']}>{say.trafficMore(total - groups.length)}</p>}
      {undecided > 0 && <p className={styles['soft']}>{say.trafficUndecided(undecided)}</p>}
      {requests < recorded && <p className={styles['soft']}>{say.trafficTooLate(recorded - requests)}</p>}
    </div>
  );
}

function sideText({ status, code, backends, cors_refused: isRefused }: PlanSide): string {
  const cors = isRefused ? say.byCors : '';
  if (backends.length > 0) return backends.join(say.or) + cors;
  if (status === null) return say.backend + cors;
  return `${status}${code === null ? '' : ` ${code}`}${cors}`;
}

function callerText({ kind, id, name }: PlanTrafficGroup['by']): string {
  if (kind === 'api_key') return say.byKey(name);
  return kind === 'anonymous' ? say.byAnonymous : say.bySubject(id);
}
