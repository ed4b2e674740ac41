/**
 * A chart over time on a canvas: the only file that knows uPlot, loaded when the first chart is shown. Colours are the
 * tokens of the style sheet, read from a hidden element, since a canvas does not know custom properties.
 */
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { colourToken, lonePoints, type Values } from './series-facts.ts';

export interface ChartSeries {
  readonly label: string;
  /** As many as there are times; null leaves a gap. */
  readonly values: Values;
}

export interface ChartData {
  /** Unix seconds, ascending. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
}

export interface ChartView {
  /** Shows other values of the same series. */
  readonly show: (data: ChartData) => void;
  /** @param width CSS pixels */
  readonly resize: (width: number) => void;
  /** Called after a change of the colour scheme. */
  readonly recolour: () => void;
  readonly remove: () => void;
}

export interface ChartOptions {
  readonly format: (value: number) => string;
  /** The place of the step below the pointer, or none. */
  readonly onPoint: (index: number | null) => void;
}

const HEIGHT_PX = 190;
const AXIS_WIDTH_MIN_PX = 44;
const CHARACTER_PX = 7;
/** Charts with it move their pointers together. */
const SYNC_KEY = 'headgate';
/** The space for a time below a chart; times have seconds when the steps are short. */
const TIME_SPACE_MIN_PX = 70;
const TIMES_MAX = 16;
const FONT = '12px system-ui, sans-serif';
export function drawChart(place: HTMLElement, data: ChartData, { format, onPoint }: ChartOptions): ChartView {
  const colours = new TokenColours(place);
  const axis: uPlot.Axis = {
    stroke: () => colours.of('--text-soft'),
    grid: { stroke: () => colours.of('--line'), width: 1 },
    ticks: { show: false },
    font: FONT,
  };
  const chart = new uPlot(
    {
      width: Math.max(1, place.clientWidth),
      height: HEIGHT_PX,
      padding: [8, 18, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: false, y: false },
        sync: { key: SYNC_KEY },
        points: { size: 7 },
      },
      scales: { y: { range: (_chart, _low, high) => [0, high > 0 ? high * 1.08 : 1] } },
      axes: [
        {
          ...axis,
          size: 30,
          space: (_chart, _axis, _from, _to, widthPx) => Math.max(TIME_SPACE_MIN_PX, widthPx / TIMES_MAX),
          values: (_chart, splits, _axis, _space, step) => splits.map((at) => clock(at, step)),
        },
        {
          ...axis,
          size: (_chart, texts) => Math.max(AXIS_WIDTH_MIN_PX, longest(texts) * CHARACTER_PX + 14),
          values: (_chart, splits) => splits.map(format),
        },
      ],
      series: [
        {},
        ...data.series.map((series, index) => lineOf(series, () => colours.of(colourToken(index)))),
      ],
      hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
    },
    aligned(data),
    place,
  );
  return {
    show: (next) => chart.setData(aligned(next)),
    resize: (width) => chart.setSize({ width: Math.max(1, width), height: HEIGHT_PX }),
    recolour: () => {
      colours.forget();
      chart.redraw(false);
    },
    remove: () => chart.destroy(),
  };
}

function lineOf({ label }: ChartSeries, stroke: () => string): uPlot.Series {
  return {
    label,
    stroke,
    width: 1.5,
    points: {
      show: false,
      size: 4,
      stroke,
      fill: stroke,
      filter: (chart, index) => lonePoints(Array.from(chart.data[index] ?? [])),
    },
  };
}

function aligned({ times, series }: ChartData): uPlot.AlignedData {
  return [[...times], ...series.map(({ values }) => [...values])];
}

const longest = (texts: readonly string[] | null): number =>
  Math.max(0, ...(texts ?? []).map(({ length }) => length));

const MINUTES = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const SECONDS = new Intl.DateTimeFormat('en', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

/** In the reader's zone. @param stepSecs between two marks of the axis */
function clock(atSecs: number, stepSecs: number): string {
  return (stepSecs < 60 ? SECONDS : MINUTES).format(atSecs * 1_000);
}

/** Values of the tokens as a canvas takes them, until they are forgotten. */
class TokenColours {
  readonly #probe: HTMLElement;
  readonly #known = new Map<string, string>();

  constructor(place: HTMLElement) {
    this.#probe = document.createElement('span');
    this.#probe.hidden = true;
    place.append(this.#probe);
  }

  of(token: string): string {
    const known = this.#known.get(token);
    if (known !== undefined) return known;
    this.#probe.style.color = `var(${token})`;
    const { color } = getComputedStyle(this.#probe);
    this.#known.set(token, color);
    return color;
  }

  forget(): void {
    this.#known.clear();
  }
}
