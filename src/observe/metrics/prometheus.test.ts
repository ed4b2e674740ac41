import { describe, expect, it } from 'vitest';
import { heapBytes } from '../../../test/support/measure/garbage.ts';
import { WorkerMetrics } from './metrics.ts';
import { MetricsMerger } from './metrics-merger.ts';
import { renderMetrics } from './prometheus.ts';

const NODE = { version: '1.2.3' };

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Exposition {
  readonly types: ReadonlyMap<string, string>;
  readonly helps: ReadonlySet<string>;
  readonly samples: readonly Sample[];
}

const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;

/** A strict parser for text format 0.0.4: throws for anything outside the grammar. */
function parse(text: string): Exposition {
  const types = new Map<string, string>();
  const helps = new Set<string>();
  const samples: Sample[] = [];
  if (!text.endsWith('\n')) throw new Error('no newline at the end');
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line);
    const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (comment !== null) {
      const [, kind, name = '', rest = ''] = comment;
      if (kind === 'TYPE' && types.has(name)) throw new Error(`${name} has two types`);
      if (kind === 'TYPE') types.set(name, rest);
      else helps.add(name);
    } else if (sample !== null) {
      const [, name = '', labels = '', value = ''] = sample;
      samples.push({ name, labels: parseLabels(labels), value: Number(value.replace('Inf', 'Infinity')) });
    } else throw new Error(`not a line of the format: ${line}`);
  }
  return { types, helps, samples };
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const match = LABEL.exec(text);
    if (match === null) throw new Error(`not labels: ${text}`);
    const [, name = '', value = ''] = match;
    labels[name] = value.replace(/\\(.)/g, (_all, escaped: string) => (escaped === 'n' ? '\n' : escaped));
  }
  return labels;
}

async function render(fill: (metrics: WorkerMetrics) => void): Promise<Exposition> {
  const metrics = new WorkerMetrics();
  fill(metrics);
  const merged = new MetricsMerger().merge([structuredClone(metrics.sample(1))]);
  metrics.close();
  return parse(await renderMetrics(merged, NODE));
}

const labels = { app: 'billing', version: 'v1', revision: 'r1', route: '/billing/v1/{id}' };

describe('the text', () => {
  it('is well-formed, with one HELP and one TYPE for every sample', async () => {
    const { types, helps, samples } = await render((metrics) =>
      metrics.routeRecord(labels).observe(200, 0.1),
    );
    const families = [...types.keys()];
    expect([...helps].toSorted()).toEqual(families.toSorted());
    const orphans = samples.filter(
      ({ name }) => !types.has(name) && types.get(name.replace(/_(?:bucket|sum|count)$/, '')) !== 'histogram',
    );
    expect(orphans.filter(({ name }) => !/_(?:sum|count)$/.test(name))).toEqual([]);
    expect(families.filter((name) => !/^(?:headgate|process|nodejs)_/.test(name))).toEqual([]);
    expect(families).toContain('process_cpu_seconds_total');
  });

  it('can be rendered repeatedly', async () => {
    const merger = new MetricsMerger();
    expect(parse(await renderMetrics(merger.merge([]), NODE)).types.size).toBe(
      parse(await renderMetrics(merger.merge([]), NODE)).types.size,
    );
  });
});

describe('requests', () => {
  it('are a counter by app, version, revision, route, method and status', async () => {
    const { types, samples } = await render((metrics) => {
      const record = metrics.routeRecord(labels);
      for (const status of [200, 200, 404]) record.observe(status, 0.1);
    });
    expect(types.get('headgate_requests_total')).toBe('counter');
    expect(samples.filter(({ name }) => name === 'headgate_requests_total')).toEqual([
      { name: 'headgate_requests_total', labels: { ...labels, method: 'GET', status: '200' }, value: 2 },
      { name: 'headgate_requests_total', labels: { ...labels, method: 'GET', status: '404' }, value: 1 },
    ]);
  });

  it('have a histogram with cumulative buckets, sum and count', async () => {
    const { types, samples } = await render((metrics) => {
      const record = metrics.routeRecord(labels);
      for (const seconds of [0.004, 0.2, 0.2, 60]) record.observe(200, seconds);
    });
    const of = (name: string): Sample[] =>
      samples.filter((sample) => sample.name === `headgate_request_duration_seconds_${name}`);
    expect(types.get('headgate_request_duration_seconds')).toBe('histogram');
    expect(of('bucket').map((sample) => [sample.labels['le'], sample.value])).toEqual([
      ...['0.0001', '0.00025', '0.0005', '0.00075', '0.001', '0.0015', '0.002', '0.003'].map((bound) => [
        bound,
        0,
      ]),
      ...['0.005', '0.0075', '0.01', '0.025', '0.05', '0.1'].map((bound) => [bound, 1]),
      ...['0.25', '0.5', '1', '2.5', '5', '10', '30'].map((bound) => [bound, 3]),
      ['60', 4],
      ['+Inf', 4],
    ]);
    expect(of('count')[0]?.value).toBe(4);
    expect(of('sum')[0]?.value).toBeCloseTo(60.404);
  });

  it('escape labels', async () => {
    const nasty = { app: 'a"b', version: 'back\\slash', revision: 'new\nline', route: '/{id}",x="' };
    const { samples } = await render((metrics) => metrics.routeRecord(nasty).observe(200, 0.1));
    const [sample] = samples.filter(({ name }) => name === 'headgate_requests_total');
    expect(sample?.labels).toEqual({ ...nasty, method: 'GET', status: '200' });
  });
});

describe('a quantile of the histogram', () => {
  /** The algorithm of `histogram_quantile` in Prometheus. */
  function quantile(buckets: readonly Sample[], part: number): number {
    const rank = part * (buckets.at(-1)?.value ?? 0);
    let [lowerBound, lowerCount] = [0, 0];
    for (const { labels: own, value } of buckets) {
      const bound = Number(own['le']?.replace('+Inf', 'Infinity'));
      if (value >= rank)
        return lowerBound + (bound - lowerBound) * ((rank - lowerCount) / (value - lowerCount));
      [lowerBound, lowerCount] = [bound, value];
    }
    return NaN;
  }

  it.each([0.0003, 0.00096, 0.0012, 0.0028, 0.006])('is close for times around %d s', async (median) => {
    const { samples } = await render((metrics) => {
      const record = metrics.routeRecord(labels);
      for (let index = 0; index < 1_000; index++) record.observe(200, median * (0.6 + (0.8 * index) / 1_000));
    });
    const buckets = samples.filter(({ name }) => name === 'headgate_request_duration_seconds_bucket');
    expect(Math.abs(quantile(buckets, 0.5) / median - 1)).toBeLessThan(0.2);
  });
});

describe('the node', () => {
  it('reports its database, its certificates, and the breakers of revisions', async () => {
    const text = await renderMetrics(new MetricsMerger().merge([]), {
      version: '1',
      database: { driver: 'sqlite', isUp: false },
      history: { versions: 3, bytes: 4_096, failedAtMs: 1_700_000_000_999 },
      certificates: { traffic: [{ names: ['a.test', 'b.test'], expiresAtMs: 4_102_444_800_000 }] },
      breakers: (['closed', 'half_open', 'open'] as const).map((state) => ({
        labels: { app: 'a', version: 'v1', revision: state },
        state,
      })),
    });
    expect(text).toContain('\nheadgate_database_up{driver="sqlite"} 0\n');
    expect(text).toContain('\nheadgate_config_history_versions 3\n');
    expect(text).toContain('\nheadgate_config_history_bytes 4096\n');
    expect(text).toContain('\nheadgate_config_history_last_failure_timestamp_seconds 1700000000\n');
    expect(text).toContain(
      '\nheadgate_tls_certificate_expiry_seconds{listener="traffic",certificate="1",name="a.test"} 4102444800\n',
    );
    for (const [value, state] of ['closed', 'half_open', 'open'].entries())
      expect(text).toContain(`\nheadgate_breaker_state{app="a",version="v1",revision="${state}"} ${value}\n`);
  });
});

describe('other numbers', () => {
  it('have their names', async () => {
    const { samples, types } = await render((metrics) => {
      metrics.unroutedRequest('bad_path', 400);
      metrics.revisionRecord({ app: 'billing', version: 'v1', revision: 'r1' }).upstreamError('reset');
      metrics.handshakeFailed('timeout');
      metrics.routeRecord(labels).observe(200, 0.1, 2, 30, 4_000);
      metrics.limiter('policy', false);
      metrics.auth('missing');
      metrics.shadowDenial('rate_limit');
      metrics.setConnections({
        downstream: 7,
        upstreamIdle: 3,
        upstreamHttp2: 2,
        exchanges: 0,
        upstreamQueue: 0,
        requestBufferBytes: 0,
      });
      metrics.setConfigVersion(42);
    });
    const text = samples.map((sample) => `${sample.name} ${JSON.stringify(sample.labels)} ${sample.value}`);
    expect(text).toEqual(
      expect.arrayContaining([
        'headgate_unrouted_requests_total {"code":"bad_path","status":"400"} 1',
        'headgate_upstream_errors_total {"app":"billing","version":"v1","revision":"r1","cause":"reset"} 1',
        'headgate_tls_handshake_failures_total {"reason":"timeout"} 1',
        `headgate_request_body_bytes_total ${JSON.stringify(labels)} 30`,
        `headgate_response_body_bytes_total ${JSON.stringify(labels)} 4000`,
        'headgate_rate_limit_decisions_total {"kind":"policy","decision":"refused"} 1',
        'headgate_auth_decisions_total {"outcome":"missing"} 1',
        'headgate_shadow_denials_total {"part":"rate_limit"} 1',
        `headgate_build_info {"version":"1.2.3","node":"${process.version}"} 1`,
        'headgate_internal_errors_total {} 0',
        'headgate_log_lines_dropped_total {} 0',
        'headgate_workers {} 1',
        'headgate_downstream_connections {"worker":"1"} 7',
        'headgate_upstream_idle_connections {"worker":"1"} 3',
        'headgate_config_version {"worker":"1"} 42',
      ]),
    );
    expect(types.get('headgate_event_loop_delay_seconds')).toBe('gauge');
    expect(samples.filter(({ name }) => name === 'headgate_event_loop_seconds_total')).toHaveLength(2);
  });

  it('can be rendered after the metrics of a worker were given up', async () => {
    // In a function of its own, so that nothing keeps them.
    const made = (): number => Array.from({ length: 20 }, () => new WorkerMetrics()).length;
    expect(made()).toBe(20);
    heapBytes();
    expect(await renderMetrics(new MetricsMerger().merge([]), NODE)).toContain('nodejs_');
  });
});
