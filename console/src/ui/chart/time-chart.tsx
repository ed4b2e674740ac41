/** Lines over time with a legend that shows the values at the pointer, and the same in figures for screen readers. */
import { useEffect, useId, useRef, useState, type ReactNode, type RefObject } from 'react';
import { chartWords } from '../../text/chart.ts';
import { Time } from '../display/time.tsx';
import type { ChartData, ChartSeries, ChartView } from './chart-view.ts';
import { loadChart } from './load-chart.ts';
import { colourToken, factsOf } from './series-facts.ts';
import styles from './chart.module.css';

interface TimeChartProps extends ChartData {
  readonly title: string;
  /** A value of the axis and of the legend, with its unit. */
  readonly format: (value: number) => string;
}

export function TimeChart({ title, times, series, format }: TimeChartProps): ReactNode {
  const id = useId();
  const [point, setPoint] = useState<number | null>(null);
  const { place, hasFailed } = useChart({ times, series }, format, setPoint);
  const at = point === null ? undefined : times[point];
  const isEmpty = series.every(({ values }) => values.every((value) => value === null));
  return (
    <figure className={styles['figure']} aria-labelledby={id}>
      <figcaption className={styles['head']}>
        <h3 id={id}>{title}</h3>
        <span className={styles['at']}>{at !== undefined && <Time at={at * 1_000} />}</span>
      </figcaption>
      <ul className={styles['legend']} aria-hidden="true">
        {series.map(({ label, values }, index) => (
          <li key={label}>
            <span className={styles['swatch']} style={{ background: `var(${colourToken(index)})` }} />
            {label}
            <b>{textOf(point === null ? factsOf(values).latest : (values[point] ?? null), format)}</b>
          </li>
        ))}
      </ul>
      <div ref={place} className={styles['place']} aria-hidden="true" />
      {isEmpty && <p className={styles['empty']}>{chartWords.nothingYet}</p>}
      {hasFailed && <p className={styles['empty']}>{chartWords.failed}</p>}
      <SummaryTable title={title} series={series} format={format} isVisible={hasFailed} />
    </figure>
  );
}

interface SummaryTableProps {
  readonly title: string;
  readonly series: readonly ChartSeries[];
  readonly format: (value: number) => string;
  readonly isVisible: boolean;
}

function SummaryTable({ title, series, format, isVisible }: SummaryTableProps): ReactNode {
  return (
    <div className={isVisible ? styles['summary'] : 'visually-hidden'}>
      <table>
        <caption>{chartWords.summaryOf(title)}</caption>
        <thead>
          <tr>
            {[chartWords.series, chartWords.latest, chartWords.lowest, chartWords.highest].map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {series.map(({ label, values }) => {
            const { latest, lowest, highest } = factsOf(values);
            return (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td>{textOf(latest, format)}</td>
                <td>{textOf(lowest, format)}</td>
                <td>{textOf(highest, format)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function textOf(value: number | null, format: (value: number) => string): string {
  return value === null ? chartWords.none : format(value);
}

/** Draws the chart: again when the series change, otherwise only the values. */
function useChart(
  data: ChartData,
  format: (value: number) => string,
  onPoint: (index: number | null) => void,
): { readonly place: RefObject<HTMLDivElement | null>; readonly hasFailed: boolean } {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<{ readonly labels: string; readonly drawn: ChartView }>(undefined);
  const latest = useRef({ data, format });
  const [hasFailed, setFailed] = useState(false);
  const labels = data.series.map(({ label }) => label).join('\n');
  useEffect(() => {
    latest.current = { data, format };
    if (view.current?.labels === labels) view.current.drawn.show(data);
  });
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    let isGone = false;
    const stops: (() => void)[] = [];
    loadChart()
      .then(({ drawChart }) => {
        if (isGone) return;
        const drawn = drawChart(element, latest.current.data, {
          format: (value) => latest.current.format(value),
          onPoint,
        });
        view.current = { labels, drawn };
        stops.push(...followed(element, drawn), drawn.remove);
      })
      .catch(() => setFailed(true));
    return () => {
      isGone = true;
      view.current = undefined;
      for (const stop of stops) stop();
      element.replaceChildren();
    };
  }, [labels, onPoint]);
  return { place, hasFailed };
}

/** Follows the size of the element and the colour scheme. @returns functions that end it */
function followed(element: HTMLElement, view: ChartView): (() => void)[] {
  const sizes = new ResizeObserver(() => view.resize(element.clientWidth));
  sizes.observe(element);
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', view.recolour);
  const chosen = new MutationObserver(view.recolour);
  chosen.observe(document.documentElement, { attributes: true, attributeFilter: ['data-scheme'] });
  return [
    () => sizes.disconnect(),
    () => scheme.removeEventListener('change', view.recolour),
    () => chosen.disconnect(),
  ];
}
