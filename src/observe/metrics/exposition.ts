/**
 * Writes the Prometheus text format, version 0.0.4: families with HELP and TYPE, then their samples. Builds plain text,
 * since each of thousands of routes has a histogram.
 */
import { DURATION_BOUNDS_SECS, HISTOGRAM_SUM, type HistogramCounts } from './histogram.ts';

export type Labels = Readonly<Record<string, string | number>>;

export interface Value {
  readonly labels: Labels;
  readonly value: number;
}

export class Exposition {
  #text = '';

  get text(): string {
    return this.#text;
  }

  family(type: 'counter' | 'gauge', name: string, help: string, values: Iterable<Value>): void {
    this.#begin(type, name, help);
    for (const { labels, value } of values) this.#sample(name, labelText(labels), value);
  }

  gauge(name: string, help: string, value: number): void {
    this.family('gauge', name, help, [{ labels: {}, value }]);
  }

  histograms(
    name: string,
    help: string,
    values: Iterable<{ readonly labels: Labels; readonly counts: HistogramCounts }>,
  ): void {
    this.#begin('histogram', name, help);
    for (const { labels, counts } of values) this.#histogram(name, labelText(labels), counts);
  }

  /** Cumulative buckets up to `+Inf`, then sum and count, as the format requires. */
  #histogram(name: string, labels: string, counts: HistogramCounts): void {
    const before = labels === '' ? '' : `${labels},`;
    let cumulative = 0;
    for (const [index, bound] of [...DURATION_BOUNDS_SECS, '+Inf'].entries()) {
      cumulative += counts[index] ?? 0;
      this.#sample(`${name}_bucket`, `${before}le="${bound}"`, cumulative);
    }
    this.#sample(`${name}_sum`, labels, counts[HISTOGRAM_SUM] ?? 0);
    this.#sample(`${name}_count`, labels, cumulative);
  }

  #begin(type: string, name: string, help: string): void {
    if (this.#text !== '') this.#text += '\n';
    this.#text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
  }

  #sample(name: string, labels: string, value: number): void {
    this.#text += labels === '' ? `${name} ${value}\n` : `${name}{${labels}} ${value}\n`;
  }
}

function labelText(labels: Labels): string {
  let text = '';
  for (const name in labels) {
    text += `${text === '' ? '' : ','}${name}="${escaped(String(labels[name]))}"`;
  }
  return text;
}

function escaped(text: string): string {
  return /[\\"\n]/.test(text)
    ? text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    : text;
}
