/** What each gateway exports to a collector: traces, metrics and logs, with losses and the last failure. */
import type { ReactNode } from 'react';
import type { NodeState, TelemetrySignal, TelemetryState } from '../../api/schema.ts';
import { partsWords } from '../../text/overview.ts';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { formatBytes, formatNumber, Time } from '../../ui/display/time.tsx';
import styles from './overview.module.css';

const TONES: Readonly<Record<TelemetrySignal['state'], Tone>> = {
  off: 'neutral',
  ok: 'good',
  failing: 'warn',
};
const SIGNALS: readonly (keyof TelemetryState)[] = ['traces', 'metrics', 'logs'];

export function TelemetryPanel({ nodes }: { readonly nodes: readonly NodeState[] }): ReactNode {
  return (
    <Panel title={partsWords.telemetry} isFlush>
      <DataTable caption={partsWords.telemetry} columns={COLUMNS} rows={nodes} keyOf={({ node }) => node} />
    </Panel>
  );
}

const COLUMNS: readonly Column<NodeState>[] = [
  { head: partsWords.columns.gateway, isRowHead: true, cell: ({ node }) => node },
  ...SIGNALS.map((signal) => ({
    head: partsWords.columns[signal],
    cell: ({ state }: NodeState) => state && <SignalCell signal={state.telemetry[signal]} />,
  })),
];

function SignalCell({ signal }: { readonly signal: TelemetrySignal }): ReactNode {
  const {
    state,
    endpoint,
    exported,
    dropped,
    failed,
    waiting_bytes: waiting,
    last_failure: failure,
  } = signal;
  const badge = <Badge tone={TONES[state]}>{partsWords.telemetryStates[state]}</Badge>;
  if (state === 'off') return badge;
  const counts = [partsWords.exported(formatNumber(exported))];
  if (dropped + failed > 0) counts.push(partsWords.lost(formatNumber(dropped), formatNumber(failed)));
  if (waiting !== null) counts.push(partsWords.waiting(formatBytes(waiting)));
  return (
    <>
      {badge} {counts.join(', ')}
      <div className={styles['soft']}>{endpoint}</div>
      {failure !== null && (
        <div className={styles['soft']}>
          {partsWords.lastFailure} <Time at={failure.at} />: {failure.detail}
        </div>
      )}
    </>
  );
}
