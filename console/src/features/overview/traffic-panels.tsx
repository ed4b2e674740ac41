/** Figures of the last minute or hour, and the charts of the window. */
import type { ReactNode } from 'react';
import { overviewWords } from '../../text/overview.ts';
import { TimeChart } from '../../ui/chart/time-chart.tsx';
import { Figures, type Figure } from '../../ui/display/key-values.tsx';
import { Panel, Stack } from '../../ui/display/panel.tsx';
import { formatMs, formatNumber, formatShare } from '../../ui/display/time.tsx';
import {
  latencyChart,
  reasonsChart,
  recentFigures,
  statusChart,
  upstreamChart,
  type RecentFigures,
} from './series.ts';
import type { Traffic } from './use-traffic.ts';
import styles from './overview.module.css';

const ERROR_SHARE_BAD = 0.05;
const ERROR_SHARE_WARN = 0.01;

export function TrafficPanels({ traffic }: { readonly traffic: Traffic }): ReactNode {
  const { window: stats, recent } = traffic;
  const { charts } = overviewWords;
  return (
    <Stack>
      <Panel title={overviewWords.figures[stats.window]} isFlush>
        <Figures figures={figuresOf(recentFigures(recent))} />
      </Panel>
      <div className={styles['charts']}>
        <Panel isFlush>
          <TimeChart title={charts.status} {...statusChart(stats)} format={formatRate} />
        </Panel>
        <Panel isFlush>
          <TimeChart title={charts.latency} {...latencyChart(stats)} format={formatMs} />
        </Panel>
        <Panel isFlush>
          <TimeChart title={charts.upstream} {...upstreamChart(stats)} format={formatMs} />
        </Panel>
        <Panel isFlush>
          <ReasonsChart title={charts.denials} data={reasonsChart(stats, 'denials')} />
        </Panel>
        {Object.keys(stats.failures).length > 0 && (
          <Panel isFlush>
            <ReasonsChart title={charts.failures} data={reasonsChart(stats, 'failures')} />
          </Panel>
        )}
      </div>
    </Stack>
  );
}

interface ReasonsChartProps {
  readonly title: string;
  readonly data: ReturnType<typeof reasonsChart>;
}

function ReasonsChart({ title, data }: ReasonsChartProps): ReactNode {
  if (data.series.length === 0) {
    return (
      <div className={styles['noReasons']}>
        <h3>{title}</h3>
        <p>{overviewWords.noDenials}</p>
      </div>
    );
  }
  return <TimeChart title={title} {...data} format={formatRate} />;
}

function figuresOf(figures: RecentFigures): Figure[] {
  const { totals, perSecond, errorShare, deniedShare, inFlight, connections } = figures;
  const shown: Figure[] = [
    { label: overviewWords.perSecond, value: textOf(perSecond, formatDecimal) },
    { label: overviewWords.errors, value: textOf(errorShare, formatShare), tone: toneOf(errorShare) },
    { label: overviewWords.denied, value: textOf(deniedShare, formatShare) },
    { label: overviewWords.p50, value: textOf(totals.p50_ms, formatMs) },
    { label: overviewWords.p95, value: textOf(totals.p95_ms, formatMs) },
    { label: overviewWords.p99, value: textOf(totals.p99_ms, formatMs) },
    { label: overviewWords.upstream, value: textOf(totals.upstream_p95_ms, formatMs) },
  ];
  // Only for the whole gateway.
  if (inFlight !== null) shown.push({ label: overviewWords.inFlight, value: formatNumber(inFlight) });
  if (connections !== null)
    shown.push({ label: overviewWords.connections, value: formatNumber(connections) });
  return shown;
}

function toneOf(share: number | null): Figure['tone'] {
  if (share === null || share < ERROR_SHARE_WARN) return undefined;
  return share < ERROR_SHARE_BAD ? 'warn' : 'bad';
}

function textOf(value: number | null, format: (value: number) => string): string {
  return value === null ? overviewWords.noFigure : format(value);
}

const DECIMAL = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });

/** Small numbers keep a digit after the point: 0.3 requests per second are not none. */
function formatDecimal(value: number): string {
  return value < 10 ? DECIMAL.format(value) : formatNumber(value);
}

const formatRate = (value: number): string => overviewWords.perSecondValue(formatDecimal(value));
