import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MetricDeltas } from './metric-deltas.ts';
import { readFamilies, type Family } from './metric-families.ts';

const counter = (name: string, values: Readonly<Record<string, number>>): string =>
  [
    `# HELP ${name} X`,
    `# TYPE ${name} counter`,
    ...Object.entries(values).map(([route, value]) => `${name}{route="${route}"} ${value}`),
    '',
  ].join('\n');
const histogram = (fast: number, all: number, sum: number): string => `# HELP headgate_t_seconds T
# TYPE headgate_t_seconds histogram
headgate_t_seconds_bucket{le="1"} ${fast}
headgate_t_seconds_bucket{le="+Inf"} ${all}
headgate_t_seconds_sum ${sum}
headgate_t_seconds_count ${all}
`;

/** Reads a text that is taken whole. */
function taken(deltas: MetricDeltas, text: string, nowMs: number): Family[] {
  const families = deltas.read(readFamilies(text));
  deltas.took(families, nowMs);
  deltas.tookAll(nowMs);
  return families.filter(({ points }) => points.length > 0);
}
const pointsOf = (families: readonly Family[]) => families.flatMap(({ points }) => [...points]);

describe('what was counted since an export', () => {
  it('begins where the previous export ended, without unchanged series', () => {
    const deltas = new MetricDeltas('delta', 100);
    const text = counter('headgate_x_total', { a: 3, b: 1 });
    expect(pointsOf(taken(deltas, text, 200))).toMatchObject([
      { value: 3, startMs: 100 },
      { value: 1, startMs: 100 },
    ]);
    expect(pointsOf(taken(deltas, counter('headgate_x_total', { a: 5, b: 1, c: 4 }), 300))).toEqual([
      { labels: [['route', 'a']], value: 2, startMs: 200 },
      { labels: [['route', 'c']], value: 4, startMs: 200 },
    ]);
  });

  it('has the buckets of a histogram, and its sum', () => {
    const deltas = new MetricDeltas('delta', 0);
    taken(deltas, histogram(1, 2, 2.5), 1);
    expect(pointsOf(taken(deltas, histogram(3, 5, 7), 2))).toEqual([
      { labels: [], bounds: [1], counts: [2, 1], sum: 4.5, startMs: 1 },
    ]);
    expect(taken(deltas, histogram(3, 5, 7), 3)).toEqual([]);
  });

  it('has all counts that a collector has not accepted', () => {
    const deltas = new MetricDeltas('delta', 0);
    deltas.read(readFamilies(counter('headgate_x_total', { a: 3 })));
    expect(pointsOf(taken(deltas, counter('headgate_x_total', { a: 7 }), 2))).toMatchObject([
      { value: 7, startMs: 0 },
    ]);
  });

  it('begins anew where a series was removed, or counts from zero again', () => {
    const deltas = new MetricDeltas('delta', 0);
    taken(deltas, counter('headgate_x_total', { a: 9, b: 9 }), 1);
    taken(deltas, counter('headgate_x_total', { b: 9 }), 2);
    expect(pointsOf(taken(deltas, counter('headgate_x_total', { a: 2, b: 4 }), 3))).toMatchObject([
      { value: 2, startMs: 2 },
      { value: 4, startMs: 1 },
    ]);
  });

  it('does not begin anew where a sum is rounded otherwise', () => {
    const deltas = new MetricDeltas('delta', 0);
    taken(deltas, counter('headgate_x_total', { a: 0.1 + 0.2 + 0.3 }), 1);
    expect(taken(deltas, counter('headgate_x_total', { a: 0.3 + 0.2 + 0.1 }), 2)).toEqual([]);
  });

  it.each([
    ['lowmemory', [1, 2]],
    ['delta', [1, 1]],
    ['cumulative', [2, 2]],
  ] as const)('%s: a counter of the gateway, and one of the process', (temporality, expected) => {
    const deltas = new MetricDeltas(temporality, 0);
    const text = (value: number): string =>
      counter('headgate_x_total', { a: value }) + counter('process_cpu_user_seconds_total', { a: value });
    taken(deltas, text(1), 1);
    expect(pointsOf(taken(deltas, text(2), 2))).toMatchObject(expected.map((value) => ({ value })));
  });

  it('add up to the same totals, whichever exports fail', () => {
    const round = fc.record({ added: fc.nat(5), isTaken: fc.boolean() });
    fc.assert(
      fc.property(fc.array(round, { maxLength: 20 }), (rounds) => {
        const deltas = new MetricDeltas('delta', 0);
        let [value, arrived, atMs, endMs] = [0, 0, 0, 0];
        for (const { added, isTaken } of [...rounds, { added: 1, isTaken: true }]) {
          value += added;
          atMs += 1;
          const families = deltas.read(readFamilies(counter('headgate_x_total', { a: value })));
          if (!isTaken) continue;
          for (const { value: delta, startMs } of pointsOf(families) as {
            value: number;
            startMs: number;
          }[]) {
            // No time is counted twice.
            expect(startMs).toBeGreaterThanOrEqual(endMs);
            arrived += delta;
            endMs = atMs;
          }
          deltas.took(families, atMs);
          deltas.tookAll(atMs);
        }
        expect(arrived).toBe(value);
      }),
    );
  });
});
