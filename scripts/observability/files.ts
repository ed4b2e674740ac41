/**
 * Everything that is generated below deploy/observability/, and what must be right about it: expressions read metrics
 * that the gateway has, each of its metrics is in a panel, and each alert has its section in the page of alerts. Pure.
 */
import { metricFamilies, type MetricFamily } from '../docs/metrics-page.ts';
import { ALERTS_PAGE } from './alert.ts';
import { APP } from './app-dashboard.ts';
import { dashboardJson, type Dashboard } from './dashboard.ts';
import { NODE_DASHBOARD } from './node-dashboard.ts';
import { OVERVIEW } from './overview-dashboard.ts';
import { RECORDING_GROUPS } from './recording-rules.ts';
import { ALERTS, ruleFiles } from './rule-files.ts';
import { expressionProblems, knownMetrics, selectorsOf } from './selectors.ts';

export const OBSERVABILITY_FOLDER = 'deploy/observability';

export const DASHBOARDS: Readonly<Record<string, Dashboard>> = {
  overview: OVERVIEW,
  app: APP,
  node: NODE_DASHBOARD,
};

/** Metrics that no panel shows: an alert, or others, say more. */
const NOT_SHOWN = [
  'headgate_deleted_requests_total',
  'headgate_config_history_last_failure_timestamp_seconds',
];

/** Their texts by path. */
export function observabilityFiles(): Map<string, string> {
  const dashboards = Object.entries(DASHBOARDS).map(([name, dashboard]): [string, string] => [
    `${OBSERVABILITY_FOLDER}/dashboards/${name}.json`,
    dashboardJson(dashboard),
  ]);
  return new Map([...ruleFiles(`${OBSERVABILITY_FOLDER}/rules`), ...dashboards]);
}

interface NamedExpression {
  readonly name: string;
  readonly expr: string;
}

export function panelQueries(): (NamedExpression & { readonly legend: string })[] {
  return Object.values(DASHBOARDS).flatMap(({ title, rows }) =>
    rows.flatMap(({ panels }) =>
      panels.flatMap((panel) =>
        panel.queries.map((query) => ({ name: `${title}: ${panel.title}`, ...query })),
      ),
    ),
  );
}

/** @param alertsPage the text of the page of alerts */
export async function observabilityProblems(alertsPage: string): Promise<string[]> {
  return problemsWith(await metricFamilies(), alertsPage);
}

export function problemsWith(families: readonly MetricFamily[], alertsPage: string): string[] {
  const recorded = RECORDING_GROUPS.flatMap(({ rules }) => rules);
  const known = knownMetrics(families, recorded);
  const all: readonly NamedExpression[] = [
    ...recorded.map(({ record, expr }) => ({ name: record, expr })),
    ...ALERTS.map(({ name, expr }) => ({ name, expr })),
    ...panelQueries(),
  ];
  const shown = new Set(
    [...recorded, ...panelQueries()].flatMap(({ expr }) => selectorsOf(expr).map(({ metric }) => metric)),
  );
  const isShown = ({ name }: MetricFamily): boolean =>
    ['', '_bucket', '_sum', '_count'].some((suffix) => shown.has(name + suffix));
  return [
    ...all.flatMap(({ name, expr }) => expressionProblems(expr, known).map((what) => `${name}: ${what}`)),
    ...families
      .filter((family) => !isShown(family) && !NOT_SHOWN.includes(family.name))
      .map(({ name }) => `${name} is in no panel of scripts/observability/`),
    ...sectionProblems(alertsPage),
  ];
}

/** Sections of alerts in the page, in its order. */
function sectionProblems(alertsPage: string): string[] {
  const sections = new Map(
    [...alertsPage.matchAll(/^### (\w+)\n([^]*?)(?=^##|$(?![^]))/gm)].map(([, name = '', text = '']) => [
      name,
      text,
    ]),
  );
  const names = ALERTS.map(({ name }) => name);
  return [
    ...names.filter((name) => !sections.has(name)).map((name) => `${ALERTS_PAGE} has no section ### ${name}`),
    ...[...sections.keys()]
      .filter((name) => !names.includes(name))
      .map((name) => `${ALERTS_PAGE} has a section for ${name}, which is no alert`),
    ...[...sections]
      .filter(([, text]) => !/^\*\*Look at\*\* /m.test(text) || !/^\*\*Do\*\* /m.test(text))
      .map(([name]) => `${ALERTS_PAGE}: ${name} must say what to look at and what to do`),
  ];
}
