/**
 * The parts that each gateway depends on, with figures: database, limit store, counter memory; and all
 * certificates.
 */
import type { ReactNode } from 'react';
import type { GatewayState, LimitStoreMemory, ListenerCertificate, NodeState } from '../../api/schema.ts';
import { partsWords } from '../../text/overview.ts';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { formatBytes, formatMs, formatNumber, formatShare, Time } from '../../ui/display/time.tsx';
import styles from './overview.module.css';
import { TelemetryPanel } from './telemetry-panel.tsx';

const DATABASE_TONES: Readonly<Record<GatewayState['database']['state'], Tone>> = {
  ok: 'good',
  degraded: 'warn',
  error: 'bad',
};
const CERTIFICATE_TONES: Readonly<Record<ListenerCertificate['state'], Tone>> = {
  valid: 'good',
  expires_soon: 'warn',
  expired: 'bad',
  not_valid_yet: 'bad',
};
const { columns } = partsWords;
/** Smaller differences of clocks change nothing. */
const CLOCK_SHOWN_MS = 1_000;

export function PartsPanel({ nodes }: { readonly nodes: readonly NodeState[] }): ReactNode {
  const certificates = nodes.flatMap(({ node, state }) =>
    (state?.certificates ?? []).map((certificate, index) => ({ node, certificate, index })),
  );
  return (
    <>
      <Panel title={partsWords.title} isFlush>
        <DataTable
          caption={partsWords.title}
          columns={PART_COLUMNS}
          rows={nodes}
          keyOf={({ node }) => node}
        />
      </Panel>
      <TelemetryPanel nodes={nodes} />
      {certificates.length > 0 && (
        <Panel title={partsWords.certificates} isFlush>
          <DataTable
            caption={partsWords.certificates}
            columns={CERTIFICATE_COLUMNS}
            rows={certificates}
            keyOf={({ node, certificate, index }) => `${node} ${certificate.listener} ${index}`}
          />
        </Panel>
      )}
    </>
  );
}

interface ShownCertificate {
  readonly node: string;
  readonly certificate: ListenerCertificate;
}

const PART_COLUMNS: readonly Column<NodeState>[] = [
  { head: columns.gateway, isRowHead: true, cell: ({ node }) => node },
  {
    head: columns.workers,
    cell: ({ state }) =>
      state === null ? (
        <Badge tone="warn">{partsWords.silent}</Badge>
      ) : (
        partsWords.of(state.workers.listening, state.workers.configured)
      ),
  },
  { head: columns.database, cell: ({ state }) => state && <DatabaseCell database={state.database} /> },
  { head: columns.store, cell: ({ state }) => state && <StoreCell store={state.limit_store} /> },
  { head: columns.counters, cell: ({ state }) => state && <CountersCell counters={state.limit_counters} /> },
  { head: columns.breakers, cell: ({ state }) => state && backendsText(state) },
];

const CERTIFICATE_COLUMNS: readonly Column<ShownCertificate>[] = [
  {
    head: columns.names,
    isRowHead: true,
    cell: ({ certificate: { names } }) => (names.length === 0 ? partsWords.noNames : names.join(', ')),
  },
  { head: columns.listener, cell: ({ certificate }) => partsWords.listeners[certificate.listener] },
  { head: columns.gateway, cell: ({ node }) => node },
  {
    head: columns.state,
    cell: ({ certificate: { state } }) => (
      <Badge tone={CERTIFICATE_TONES[state]}>{partsWords.certificateStates[state]}</Badge>
    ),
  },
  { head: columns.ends, cell: ({ certificate }) => <Time at={certificate.expires_at} /> },
  {
    head: columns.daysLeft,
    isNumber: true,
    cell: ({ certificate }) => formatNumber(certificate.days_left),
  },
  {
    head: columns.crlDue,
    cell: ({ certificate: { crl_update_due_at: at } }) => at !== null && <Time at={at} />,
  },
];

function DatabaseCell({ database }: { readonly database: GatewayState['database'] }): ReactNode {
  const { driver, address, state, latency_ms: latency, detail, clock_ahead_ms: clockMs } = database;
  if (driver === 'none') return partsWords.fromFiles;
  return (
    <>
      <Badge tone={DATABASE_TONES[state]}>{partsWords.databaseStates[state]}</Badge>{' '}
      {latency !== null && formatMs(latency)}
      <div className={styles['soft']}>{address ?? partsWords.inMemory}</div>
      {detail !== null && <div className={styles['soft']}>{detail}</div>}
      {clockMs !== null && Math.abs(clockMs) >= CLOCK_SHOWN_MS && (
        <div className={styles['soft']}>{clockText(clockMs)}</div>
      )}
    </>
  );
}

function clockText(aheadMs: number): string {
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1);
  return aheadMs > 0 ? partsWords.clockAhead(seconds) : partsWords.clockBehind(seconds);
}

function StoreCell({ store }: { readonly store: GatewayState['limit_store'] }): ReactNode {
  if (store === null) return <span className={styles['soft']}>{partsWords.noStore}</span>;
  const { connected, latency_ms: latency, address, nodes, fallback, memory } = store;
  return (
    <>
      <Badge tone={connected ? 'good' : 'bad'}>
        {connected ? partsWords.connected : partsWords.unusable}
      </Badge>{' '}
      {connected && latency !== null && formatMs(latency)}
      <div className={styles['soft']}>{address}</div>
      <div className={styles['soft']}>{fallback ?? partsWords.shared(nodes)}</div>
      {memory !== null && <div className={styles['soft']}>{storeMemoryText(memory)}</div>}
    </>
  );
}

function storeMemoryText({ bytes, bytes_max: most, policy }: LimitStoreMemory): string {
  if (most === null) return partsWords.unbounded(formatBytes(bytes));
  return `${partsWords.used(formatBytes(bytes), formatBytes(most), formatShare(bytes / most))}, ${policy}`;
}

function CountersCell({ counters }: { readonly counters: GatewayState['limit_counters'] }): ReactNode {
  const { bytes, bytes_max: most, counters: count, evictions } = counters;
  return (
    <>
      {partsWords.used(formatBytes(bytes), formatBytes(most), formatShare(bytes / most))}
      <div className={styles['soft']}>
        {partsWords.counters(formatNumber(count))}
        {evictions > 0 && `, ${partsWords.evicted(formatNumber(evictions))}`}
      </div>
    </>
  );
}

function backendsText({ breakers, targets }: GatewayState): string {
  const { closed, half_open: tried, open } = breakers;
  const parts = [partsWords.working(closed)];
  if (tried > 0) parts.push(partsWords.tried(tried));
  if (open > 0) parts.push(partsWords.cutOff(open));
  const out = targets.ejected + targets.unhealthy;
  if (out > 0) parts.push(partsWords.targetsOut(out, out + targets.in_service));
  return parts.join(', ');
}
