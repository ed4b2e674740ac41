/**
 * Sums as the increase since the last export (OTLP, delta temporality). Remembers what a collector has accepted for
 * each series of the latest reading: the increase in a failed export, or in a skipped reading, is part of the next
 * one.
 */
import type { Family, HistogramPoint, Point } from './metric-families.ts';

export type Temporality = 'cumulative' | 'delta' | 'lowmemory';

/** Counters that the system keeps and this program only reads; `lowmemory` keeps them cumulative. */
const READ_ONLY = /^(?:process|nodejs)_/;
/** Two sums of the same numbers in different orders differ by less than this. */
const ROUNDING = 1e-9;

interface Taken {
  readonly atMs: number;
  /** The value; for a histogram, its sum and the counts of its buckets. */
  readonly values: readonly number[];
}

interface Reading {
  taken: Taken;
  readonly values: readonly number[];
}

export function isDelta(temporality: Temporality, { type, name }: Pick<Family, 'type' | 'name'>): boolean {
  if (type === 'gauge' || temporality === 'cumulative') return false;
  return temporality === 'delta' || type === 'histogram' || !READ_ONLY.test(name);
}

export class MetricDeltas {
  readonly #temporality: Temporality;
  /** By family and labels. Series that are missing in the latest reading are removed. */
  #series = new Map<string, Reading>();
  /** The start of a series that was missing in the previous reading. */
  #sinceMs: number;

  /** @param sinceMs Unix milliseconds: the start of all counters */
  constructor(temporality: Temporality, sinceMs: number) {
    this.#temporality = temporality;
    this.#sinceMs = sinceMs;
  }

  /** The increase since the last export; leaves out points without one. */
  read(families: readonly Family[]): Family[] {
    const before = this.#series;
    this.#series = new Map();
    return families.map((family) => {
      if (!isDelta(this.#temporality, family)) return family;
      if (family.type !== 'histogram') {
        const points = family.points.flatMap((point) => this.#ofNumber(family.name, point, before) ?? []);
        return { ...family, points };
      }
      const points = family.points.flatMap((point) => this.#ofHistogram(family.name, point, before) ?? []);
      return { ...family, points };
    });
  }

  /** Records that the collector has accepted these points of the reading made at `nowMs`. */
  took(families: readonly Family[], nowMs: number): void {
    for (const family of families) {
      if (!isDelta(this.#temporality, family)) continue;
      for (const { labels } of family.points) {
        const reading = this.#series.get(keyOf(family.name, labels));
        if (reading !== undefined) reading.taken = { atMs: nowMs, values: reading.values };
      }
    }
  }

  /** Records that the collector has accepted all points of the reading. */
  tookAll(nowMs: number): void {
    this.#sinceMs = nowMs;
  }

  #ofNumber(name: string, { labels, value }: Point, before: ReadonlyMap<string, Reading>): Point | undefined {
    const { atMs, values } = this.#base(keyOf(name, labels), [value], before);
    const delta = sinceOf(value, values[0]);
    return delta === 0 ? undefined : { labels, value: delta, startMs: atMs };
  }

  #ofHistogram(
    name: string,
    { labels, bounds, counts, sum }: HistogramPoint,
    before: ReadonlyMap<string, Reading>,
  ): HistogramPoint | undefined {
    const { atMs, values } = this.#base(keyOf(name, labels), [sum, ...counts], before);
    const deltas = counts.map((count, index) => sinceOf(count, values[index + 1]));
    if (deltas.every((count) => count === 0)) return undefined;
    return { labels, bounds, counts: deltas, sum: sinceOf(sum, values[0]), startMs: atMs };
  }

  #base(key: string, values: readonly number[], before: ReadonlyMap<string, Reading>): Taken {
    const last = before.get(key)?.taken;
    // A series that was removed and exists again counts from zero.
    const isAnew = last?.values.some((value, index) => (values[index] ?? 0) < value * (1 - ROUNDING)) ?? true;
    const taken = isAnew || last === undefined ? { atMs: last?.atMs ?? this.#sinceMs, values: [] } : last;
    this.#series.set(key, { taken, values });
    return taken;
  }
}

const sinceOf = (value: number, before = 0): number => Math.max(0, value - before);

function keyOf(name: string, labels: Point['labels']): string {
  const pairs = labels.map(([label, value]) => `${label}\n${value}`);
  return [name, ...pairs.toSorted()].join('\n');
}
