/** Dashboards of Grafana in its classic JSON model, from rows of panels that say only what differs. Pure. */

export interface Query {
  readonly expr: string;
  /** With `{{label}}`. */
  readonly legend: string;
}

/** Names of units as Grafana has them. */
export type Unit =
  | 'reqps'
  | 'cps'
  | 's'
  | 'percentunit'
  | 'bytes'
  | 'Bps'
  | 'short'
  | 'none'
  | 'dateTimeAsIso'
  | 'bool_on_off';

export interface Panel {
  readonly title: string;
  /** What it shows and how to read it. */
  readonly description: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** `graph`, over time; `number`, the newest values; `list`, a line for each newest value. */
  readonly kind?: 'graph' | 'number' | 'list';
  /** Of 24; default: 8. */
  readonly width?: number;
  /** Areas on top of each other, for parts of a whole. */
  readonly stacked?: boolean;
  /** Colours from these values on, beginning with green. */
  readonly thresholds?: readonly (readonly [colour: 'green' | 'orange' | 'red', from: number | null])[];
}

export interface PanelRow {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Variable {
  readonly name: string;
  readonly label: string;
  /** In the language of the data source, such as `label_values(metric, label)`. */
  readonly query: string;
  /** Without: exactly one value. */
  readonly isMulti: boolean;
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly rows: readonly PanelRow[];
}

/** That of Grafana 11: later ones bring it up to date when they load it. */
const SCHEMA_VERSION = 39;
const COLUMNS = 24;
const DEFAULT_WIDTH = 8;
const HEIGHTS = { graph: 8, number: 4, list: 8 } as const;
const SOURCE = { type: 'prometheus', uid: '${datasource}' } as const;

export function dashboardJson(dashboard: Dashboard): string {
  const { uid, title, description, variables, rows } = dashboard;
  return `${JSON.stringify(
    {
      uid,
      title,
      description,
      tags: ['headgate'],
      schemaVersion: SCHEMA_VERSION,
      editable: true,
      graphTooltip: 1,
      refresh: '30s',
      time: { from: 'now-3h', to: 'now' },
      timezone: 'browser',
      links: [
        {
          type: 'dashboards',
          title: 'Headgate',
          tags: ['headgate'],
          asDropdown: true,
          icon: 'external link',
          includeVars: true,
          keepTime: true,
          targetBlank: false,
          tooltip: '',
          url: '',
        },
      ],
      annotations: { list: [] },
      templating: { list: [SOURCE_VARIABLE, ...variables.map(variableJson)] },
      panels: laidOut(rows),
    },
    undefined,
    2,
  )}\n`;
}

const SOURCE_VARIABLE = {
  type: 'datasource',
  name: 'datasource',
  label: 'Data source',
  query: 'prometheus',
  refresh: 1,
  hide: 0,
  includeAll: false,
  multi: false,
  regex: '',
  skipUrlSync: false,
};

function variableJson({ name, label, query, isMulti }: Variable): unknown {
  return {
    type: 'query',
    name,
    label,
    datasource: SOURCE,
    query: { qryType: 1, query, refId: 'PrometheusVariableQueryEditor-VariableQuery' },
    // When the time range changes.
    refresh: 2,
    sort: 1,
    hide: 0,
    regex: '',
    skipUrlSync: false,
    multi: isMulti,
    includeAll: isMulti,
    ...(isMulti && { allValue: '.*', current: { selected: true, text: ['All'], value: ['$__all'] } }),
  };
}

/** Rows one below the other; the panels of a row from left to right, as many lines as it takes. */
function laidOut(rows: readonly PanelRow[]): unknown[] {
  const panels: unknown[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
    });
    y += 1;
    let x = 0;
    let lineHeight = 0;
    for (const panel of row.panels) {
      const w = panel.width ?? DEFAULT_WIDTH;
      const h = HEIGHTS[panel.kind ?? 'graph'];
      if (x + w > COLUMNS) [x, y, lineHeight] = [0, y + lineHeight, 0];
      panels.push(panelJson(panels.length + 1, panel, { x, y, w, h }));
      x += w;
      lineHeight = Math.max(lineHeight, h);
    }
    y += lineHeight;
  }
  return panels;
}

const TYPES = { graph: 'timeseries', number: 'stat', list: 'bargauge' } as const;

function panelJson(id: number, panel: Panel, gridPos: unknown): unknown {
  const { title, description, unit, queries, kind = 'graph', thresholds, stacked = false } = panel;
  const steps = (thresholds ?? [['green', null]]).map(([color, value]) => ({ color, value }));
  const mode = thresholds === undefined && kind === 'graph' ? 'palette-classic' : 'thresholds';
  return {
    id,
    type: TYPES[kind],
    title,
    description,
    gridPos,
    datasource: SOURCE,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: SOURCE,
      editorMode: 'code',
      expr,
      legendFormat: legend,
      ...(kind === 'graph' ? { range: true } : { instant: true, range: false }),
    })),
    fieldConfig: {
      defaults: {
        unit,
        ...(unit !== 'dateTimeAsIso' && { min: 0 }),
        color: { mode },
        thresholds: { mode: 'absolute', steps },
        ...(kind === 'graph' && { custom: graphStyle(stacked) }),
      },
      overrides: [],
    },
    options: OPTIONS[kind],
  };
}

const graphStyle = (stacked: boolean): unknown => ({
  drawStyle: 'line',
  lineInterpolation: 'linear',
  lineWidth: 1,
  fillOpacity: stacked ? 40 : 5,
  showPoints: 'never',
  spanNulls: false,
  stacking: { group: 'A', mode: stacked ? 'normal' : 'none' },
});

const NEWEST = { calcs: ['lastNotNull'], fields: '', values: false } as const;
const OPTIONS = {
  graph: {
    legend: { calcs: ['mean', 'max'], displayMode: 'table', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  number: {
    colorMode: 'value',
    graphMode: 'none',
    justifyMode: 'auto',
    orientation: 'auto',
    reduceOptions: NEWEST,
    textMode: 'auto',
    wideLayout: true,
    showPercentChange: false,
    percentChangeColorMode: 'standard',
  },
  list: {
    displayMode: 'basic',
    orientation: 'horizontal',
    reduceOptions: NEWEST,
    showUnfilled: true,
    valueMode: 'color',
    minVizWidth: 8,
    minVizHeight: 16,
    maxVizHeight: 300,
    legend: { calcs: [], displayMode: 'list', placement: 'bottom', showLegend: false },
    namePlacement: 'auto',
    sizing: 'auto',
  },
} as const;
