/**
 * Finds the metrics that an expression of PromQL reads, with the labels that it names, and checks them against the
 * metrics of the gateway and what is recorded. Knows as much of the language as the tables beside this file use. Pure.
 */
import type { MetricFamily } from '../docs/metrics-page.ts';

export interface Selector {
  readonly metric: string;
  /** Labels in its braces. */
  readonly labels: readonly string[];
  /** As it stands, without its range. */
  readonly text: string;
}

const METRIC = /\b((?:headgate|process|nodejs)[_:][\w:]+|up|ALERTS)\b(\{[^}]*\})?/g;

export function selectorsOf(expr: string): Selector[] {
  return [...expr.matchAll(METRIC)].map(([text, metric = '', braces = '']) => ({
    metric,
    labels: [...braces.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = '']) => label),
    text,
  }));
}

/** What Prometheus adds to each series, and what it and prom-client give by themselves. */
const ADDED = ['job', 'instance'];
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  up: [],
  ALERTS: ['alertname', 'alertstate'],
  process_cpu_seconds_total: [],
  process_resident_memory_bytes: [],
  process_open_fds: [],
  process_max_fds: [],
};

/** The labels of each metric that an expression may read, by name. */
export function knownMetrics(
  families: readonly MetricFamily[],
  recorded: readonly { readonly record: string; readonly expr: string }[],
): ReadonlyMap<string, readonly string[]> {
  const known = new Map<string, readonly string[]>(Object.entries(ELSEWHERE));
  for (const { name, type, labels } of families) {
    if (type !== 'histogram') known.set(name, labels);
    else {
      known.set(`${name}_bucket`, [...labels, 'le']);
      known.set(`${name}_sum`, labels);
      known.set(`${name}_count`, labels);
    }
  }
  for (const { record, expr } of recorded) {
    // What an expression groups by, or what it reads has.
    const [, grouped] = /by \(([^)]*)\)/.exec(expr) ?? [];
    const [first] = selectorsOf(expr);
    known.set(record, grouped?.split(/,\s*/) ?? known.get(first?.metric ?? '') ?? []);
  }
  return known;
}

/** Problems of an expression: metrics that do not exist, and labels that they do not have. */
export function expressionProblems(expr: string, known: ReadonlyMap<string, readonly string[]>): string[] {
  const selectors = selectorsOf(expr);
  if (selectors.length === 0 && !expr.startsWith('vector(')) return ['it reads no metric'];
  const problems = selectors.flatMap(({ metric, labels }) => {
    const has = known.get(metric);
    if (has === undefined) return [`there is no metric ${metric}`];
    return labels
      .filter((label) => !has.includes(label) && !ADDED.includes(label))
      .map((label) => `${metric} has no label ${label}`);
  });
  const all = new Set([...ADDED, ...selectors.flatMap(({ metric }) => known.get(metric) ?? [])]);
  const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(/,\s*/),
  );
  return [
    ...problems,
    ...grouped.filter((label) => !all.has(label)).map((label) => `no metric in it has the label ${label}`),
  ];
}
