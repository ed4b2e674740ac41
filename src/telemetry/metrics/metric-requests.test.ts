import { describe, expect, it } from 'vitest';
import { decodeMetrics } from '../../../test/support/backends/collector.ts';
import { MetricsMerger } from '../../observe/metrics/metrics-merger.ts';
import { renderMetrics } from '../../observe/metrics/prometheus.ts';
import { readFamilies } from './metric-families.ts';
import { metricName } from './metric-names.ts';
import { metricRequests } from './metric-requests.ts';

const ORIGIN = { resource: { 'service.name': 'edge' }, version: '1' };
const TIMES = { startMs: 1_700_000_000_000, nowMs: 1_700_000_060_000 };
const pointsOf = (text: string) =>
  metricRequests(readFamilies(text), ORIGIN, TIMES, 'cumulative').flatMap(({ body }) => decodeMetrics(body));

describe('metrics as they are exported', () => {
  it('are the families of the text', () => {
    const text = `# HELP headgate_request_duration_seconds Time
# TYPE headgate_request_duration_seconds histogram
headgate_request_duration_seconds_bucket{route="/a",status="200",le="0.005"} 3
headgate_request_duration_seconds_bucket{route="/a",status="200",le="1"} 5
headgate_request_duration_seconds_bucket{route="/a",status="200",le="+Inf"} 6
headgate_request_duration_seconds_sum{route="/a",status="200"} 2.5
headgate_request_duration_seconds_count{route="/a",status="200"} 6

# HELP headgate_errors_total Errors
# TYPE headgate_errors_total counter
headgate_errors_total{cause="a \\"b\\" \\\\ \\n, c=\\"d\\""} 7
# HELP headgate_odd Nothing
# TYPE headgate_odd gauge
headgate_odd Nan
`;
    expect(pointsOf(text)).toMatchObject([
      {
        name: 'http.server.request.duration',
        unit: 's',
        kind: 'histogram',
        value: 6,
        sum: 2.5,
        buckets: [3, 2, 1],
        bounds: [0.005, 1],
        attributes: { 'http.route': '/a', 'http.response.status_code': 200 },
        startMs: TIMES.startMs,
        atMs: TIMES.nowMs,
      },
      {
        name: 'headgate.errors',
        kind: 'sum',
        isMonotonic: true,
        value: 7,
        attributes: { cause: 'a "b" \\ \n, c="d"' },
      },
    ]);
  });

  it('are split where there are many', () => {
    const lines = Array.from(
      { length: 20_000 },
      (_none, index) => `headgate_x_total{route="/r/${index}"} ${index}`,
    );
    const text = `# HELP headgate_x_total X\n# TYPE headgate_x_total counter\n${lines.join('\n')}\n`;
    const requests = metricRequests(readFamilies(text), ORIGIN, TIMES, 'cumulative');
    expect(requests.length).toBeGreaterThan(1);
    expect(Math.max(...requests.map(({ body }) => body.length))).toBeLessThan(1_048_576);
    const values = requests.flatMap(({ body }) => decodeMetrics(body).map(({ value }) => value));
    expect(values).toEqual(lines.map((_line, index) => index));
    expect(requests.reduce((sum, { points }) => sum + points, 0)).toBe(20_000);
  });

  it('have names that a collector makes those of Prometheus of again', async () => {
    const text = await renderMetrics(new MetricsMerger().merge([], new Set()), { version: '1' });
    const suffixes = { s: '_seconds', By: '_bytes', '': '' } as const;
    for (const [, family = '', type] of text.matchAll(/^# TYPE (headgate_\w+) (\w+)$/gm)) {
      const { name, unit } = metricName(family) ?? { name: '', unit: '' };
      if (name === 'http.server.request.duration') continue;
      const made = `${name.replaceAll('.', '_')}${suffixes[unit as keyof typeof suffixes]}`;
      expect(`${made}${type === 'counter' ? '_total' : ''}`).toBe(family);
    }
  });
});
