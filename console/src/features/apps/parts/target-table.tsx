/** The targets of a revision that has several, as this gateway sees them. */
import type { ReactNode } from 'react';
import type { TargetHealth } from '../../../api/schema.ts';
import { targetWords } from '../../../text/apps.ts';
import { DataTable, type Column } from '../../../ui/display/data-table.tsx';
import { Time, formatShare } from '../../../ui/display/time.tsx';
import { shownPlace } from './shown-place.ts';
import styles from './target-table.module.css';

const nameOf = ({ host, port }: TargetHealth): string => shownPlace(host, port);

const columns: readonly Column<TargetHealth>[] = [
  { head: targetWords.columns.target, cell: (target) => nameOf(target), isRowHead: true },
  {
    head: targetWords.columns.zone,
    cell: ({ zone }) => zone !== null && <span className={styles['zone']}>{zone}</span>,
  },
  { head: targetWords.columns.state, cell: (target) => <TargetState target={target} /> },
  { head: targetWords.columns.weight, cell: ({ weight }) => weight.toLocaleString('en') },
  { head: targetWords.columns.inFlight, cell: ({ in_flight: count }) => count.toLocaleString('en') },
  {
    head: targetWords.columns.failures,
    cell: ({ failures, requests }) => targetWords.failuresOf(failures, requests),
  },
];

function TargetState({ target }: { readonly target: TargetHealth }): ReactNode {
  const { state, ejected_until: until, share } = target;
  if (until !== null)
    return (
      <>
        {targetWords.states[state]} <Time at={until} relative="either" />
      </>
    );
  return state === 'warming'
    ? `${targetWords.states[state]} (${formatShare(share)})`
    : targetWords.states[state];
}

export function TargetTable({ targets }: { readonly targets: readonly TargetHealth[] }): ReactNode {
  return <DataTable caption={targetWords.caption} rows={targets} keyOf={nameOf} columns={columns} />;
}
