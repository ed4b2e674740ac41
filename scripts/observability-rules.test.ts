import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { metricFamilies, type MetricFamily } from './docs/metrics-page.ts';
import { ALERTS_PAGE } from './observability/alert.ts';
import { observabilityFiles, problemsWith } from './observability/files.ts';
import { ALERTS } from './observability/rule-files.ts';
import { expressionProblems, knownMetrics, selectorsOf } from './observability/selectors.ts';

const page = readFileSync(join(import.meta.dirname, '..', ALERTS_PAGE), 'utf8');
let families: MetricFamily[];
beforeAll(async () => {
  families = await metricFamilies();
});

/** The families, one of them changed. */
const changed = (name: string, change: (family: MetricFamily) => MetricFamily): MetricFamily[] =>
  families.map((family) => (family.name === name ? change(family) : family));

describe('what Prometheus is asked', () => {
  it('fits the metrics of the gateway and the page of alerts', () => {
    expect(problemsWith(families, page)).toEqual([]);
  });

  it('no longer fits when a metric has another name', () => {
    const renamed = changed('headgate_breaker_state', (family) => ({ ...family, name: 'headgate_breakers' }));
    expect(problemsWith(renamed, page)).toEqual(
      expect.arrayContaining([
        'HeadgateBreakerOpen: there is no metric headgate_breaker_state',
        'Headgate: app: Breaker: there is no metric headgate_breaker_state',
        'headgate_breakers is in no panel of scripts/observability/',
      ]),
    );
  });

  it('no longer fits when a label goes', () => {
    const less = changed('headgate_upstream_errors_total', (family) => ({ ...family, labels: ['app'] }));
    expect(problemsWith(less, page)).toContain(
      'Headgate: app: Failed attempts by cause: headgate_upstream_errors_total has no label version',
    );
    const known = knownMetrics(families, []);
    expect(expressionProblems('sum by (app, colour) (headgate_breaker_state)', known)).toEqual([
      'no metric in it has the label colour',
    ]);
    expect(expressionProblems('1 + 1', known)).toEqual(['it reads no metric']);
  });

  it('is read with its ranges and labels', () => {
    const expr = 'rate(headgate_requests_total{app="a",status=~"5.."}[5m]) / headgate:a_b:rate5m and up';
    expect(selectorsOf(expr)).toEqual([
      {
        metric: 'headgate_requests_total',
        labels: ['app', 'status'],
        text: 'headgate_requests_total{app="a",status=~"5.."}',
      },
      { metric: 'headgate:a_b:rate5m', labels: [], text: 'headgate:a_b:rate5m' },
      { metric: 'up', labels: [], text: 'up' },
    ]);
  });
});

describe('the page of alerts', () => {
  it('has a section for each alert, which says what to look at and what to do', () => {
    expect(problemsWith(families, page.replace('### HeadgateDown\n', '### HeadgateUp\n'))).toEqual([
      `${ALERTS_PAGE} has no section ### HeadgateDown`,
      `${ALERTS_PAGE} has a section for HeadgateUp, which is no alert`,
    ]);
    const [, first = ''] = /(### HeadgateDown\n[^]*?\n\*\*Do\*\* )/.exec(page) ?? [];
    expect(problemsWith(families, page.replace(first, first.replace('**Do** ', '')))).toEqual([
      `${ALERTS_PAGE}: HeadgateDown must say what to look at and what to do`,
    ]);
  });

  it('is what each alert points at', () => {
    const text = observabilityFiles().get('deploy/observability/rules/alerts.yaml') ?? '';
    const pointers = [...text.matchAll(/runbook: (\S+)#(\S+)/g)].map(([, path, anchor]) => [path, anchor]);
    expect(pointers).toEqual(ALERTS.map(({ name }) => [ALERTS_PAGE, name.toLowerCase()]));
  });
});

describe('a dashboard', () => {
  const dashboards = [...observabilityFiles()].filter(([path]) => path.endsWith('.json'));

  it.each(dashboards)('%s has panels that do not overlap, each with its own id', (_path, text) => {
    const { panels } = JSON.parse(text) as {
      panels: { id: number; gridPos: { x: number; y: number; w: number; h: number } }[];
    };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24);
  });
});
