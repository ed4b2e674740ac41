/**
 * docs/reference/metrics.md: every family of `GET /metrics` with its type, labels and help, read from a page that the
 * gateway's own code renders for a node on which everything was counted once.
 */
import { WorkerMetrics } from '../../src/observe/metrics/metrics.ts';
import { MetricsMerger } from '../../src/observe/metrics/metrics-merger.ts';
import { renderMetrics } from '../../src/observe/metrics/prometheus.ts';
import { code, page, sentence, table } from './markdown.ts';

export interface MetricFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** A label of more metrics than these is described once. */
const METRICS_NAMED_MAX = 2;
const SIGNAL = { exported: 1, dropped: 1, failed: 1, queuedBytes: 1 };

/** What a label means; `metric.label` wins over `label`. */
const LABELS: Readonly<Record<string, string>> = {
  app: 'slug of the app',
  version: 'label of the version',
  'headgate_build_info.version': 'version of Headgate',
  node: 'version of Node.js',
  revision: 'label of the revision',
  target: 'host and port',
  route:
    'gateway path and path template of the endpoint; `other` for routes beyond 5,000, and for routes of one app beyond nine times the number that is still free',
  method: '`GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE`, `OPTIONS` or `other`',
  status:
    'HTTP status of the response; `2xx` to `5xx`, with `method` `other`, for combinations of method and status beyond 64 in a route or 30,000 in a worker',
  code: '[error code](errors.md)',
  cause: 'why the attempt failed',
  worker: 'number of the worker',
  reason: 'the reason, one of a fixed set',
  'headgate_upstream_retries_total.reason':
    'why the previous attempt failed: `connect`, `reset`, `timeout`, `500`, `502`, `503`, `504`, or `unsent` for a pooled connection that was dead',
  'headgate_upstream_retries_refused_total.reason': 'as for `headgate_upstream_retries_total`',
  'headgate_overload_refusals_total.reason':
    '`exchanges`, `exchanges_of_app`, `connections`, `connections_per_ip`, `upstream_queue`, `upstream_queue_timeout` or `descriptors`',
  kind: 'kind of limit: `policy`, `key`, `ip` or `concurrency`',
  decision: '`admitted` or `refused`',
  outcome: 'how it ended',
  'headgate_limit_store_calls_total.outcome': '`answered`, `timed_out` or `failed`',
  'headgate_discovery_looks_total.outcome':
    '`changed`, `same`, `doubted` (less than half of the targets, looked up again) or `failed`',
  'headgate_discovery_looks_total.type': '`dns`, `dns_srv` or `file`',
  by: '`on_store_failure` of the limit: `share`, `allow` or `deny`',
  policy: '`maxmemory-policy` of the server',
  part: 'part of the policy',
  level:
    'level that set the limit: `endpoint`, `revision`, `version`, `app`, `global`, `keys`, `ip`, `auth_failures` or `other`',
  driver: '`sqlite` or `postgres`',
  listener:
    '`traffic` or `management`; `backends` and `collectors`: the gateway presents it to backends, or to collectors of telemetry; `clients`: the gateway verifies client certificates with it',
  certificate: 'position of the certificate in the setting or in its folder, from 1',
  name: 'first name in the certificate; for `backends` and `clients` the name of its files',
  result: '`applied`, `unchanged` or `refused`',
  'headgate_live_events_total.result':
    '`shown`, `dropped` because of `per_second` or too many, or `lost` because the reader was too slow',
  'headgate_acme_orders_total.result':
    '`issued`, `failed`, or `interrupted` because the directory or the database did not answer or another gateway took over',
  'headgate_webhook_sends_total.result':
    '`delivered`, `refused`, `unavailable` (no answer, 5xx, 408, 421, 425 or 429) or `gone` (410); `given_up` counts events',
  'headgate_webhooks.state': '`ok`, `failing` or `disabled`',
  'headgate_acme_certificates.state': '`valid`, `expires_soon`, `expired`, `not_valid_yet` or `missing`',
  statistic: '`p50`, `p99` or `max`',
  state: '`active` or `idle`',
};

export async function metricsPage(): Promise<string> {
  const families = await metricFamilies();
  const rows = families.map(({ name, type, labels, help }) => [
    code(name),
    type,
    labels.map(code).join(', '),
    sentence(help),
  ]);
  return page(
    'Metrics',
    `\`GET /metrics\` of the management listener answers in the text format of Prometheus. It needs an admin token with
the role \`viewer\`. Besides the families below it has the \`process_*\` and \`nodejs_*\` families of
[prom-client](https://github.com/siimon/prom-client) for the main thread.`,
    table(['Name', 'Type', 'Labels', 'Meaning'], rows),
    `Histograms have the usual \`_bucket\` (with the label \`le\`), \`_sum\` and \`_count\`. Their bounds go from 0.1 ms over
0.5, 0.75, 1, 1.5, 2 and 3 ms to 60 s.`,
    `## Labels

Labels never contain text from a client.

${table(['Label', 'Metric', 'Value'], labelRows(families))}`,
  );
}

/** The families that carry the name of the gateway, in the order of the page. */
export async function metricFamilies(): Promise<MetricFamily[]> {
  const text = await renderSample();
  return [...text.matchAll(/^# HELP (headgate_\w+) (.*)\n# TYPE \S+ (\w+)\n(.*)$/gm)].map(
    ([, name = '', help = '', type = '', sample = '']) => {
      if (!sample.startsWith(name)) throw new Error(`metrics-page.ts must count ${name} in its sample`);
      const labels = [...sample.matchAll(/(\w+)="/g)].map(([, label = '']) => label);
      return { name, type, help, labels: labels.filter((label) => label !== 'le') };
    },
  );
}

function labelRows(families: readonly MetricFamily[]): string[][] {
  const metricsOf = new Map<string, string[]>();
  for (const { name, labels } of families)
    for (const label of labels) {
      const meaning = LABELS[`${name}.${label}`] ?? LABELS[label];
      if (meaning === undefined)
        throw new Error(`metrics-page.ts must say what the label ${label} of ${name} is`);
      const key = JSON.stringify([label, meaning]);
      metricsOf.set(key, [...(metricsOf.get(key) ?? []), name]);
    }
  return [...metricsOf]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, metrics]) => {
      const [label, meaning] = JSON.parse(key) as [string, string];
      const where = metrics.length > METRICS_NAMED_MAX ? 'other metrics' : metrics.map(code).join(', ');
      return [code(label), where, meaning];
    });
}

async function renderSample(): Promise<string> {
  const labels = { app: 'a', version: 'v', revision: 'r' };
  const worker = new WorkerMetrics();
  worker.routeRecord({ ...labels, route: '/a' }).observe(200, 0.001);
  const revision = worker.revisionRecord(labels);
  revision.observeUpstream(0.001);
  revision.upstreamError('connect');
  worker.unroutedRequest('no_route', 404);
  worker.handshakeFailed('closed');
  worker.upstreamRetry('connect');
  worker.upstreamRetryRefused('connect');
  worker.limiter('policy', true);
  worker.auth('api_key');
  worker.shadowDenial('auth');
  worker.overloaded('exchanges');
  const counts = { answered: 1, timedOut: 1, failed: 1, waited: 1, share: 1, allow: 1, deny: 1 };
  worker.setLimitStore({ connected: true, counts });
  const sample = worker.sample(1);
  worker.close();
  // Counted when a route is removed, which takes a configuration.
  const deleted = { name: 'deleted_requests' as const, labels: { status: '200' }, value: 1 };
  const merger = new MetricsMerger();
  const merged = merger.merge([{ ...sample, counters: [...sample.counters, deleted] }]);
  return renderMetrics(merged, {
    version: '0.0.0',
    bounds: { workers: 1, connections: 1, exchanges: 1, heapBytes: 1 },
    keys: { size: 1, bytes: 1 },
    stats: { bytes: 1, bytesMax: 1 },
    limitCounters: { counters: 1, bytes: 1, bytesPeak: 1, bytesMax: 1, evictions: new Map([['app', 1]]) },
    certificates: { traffic: [{ names: ['example.com'], expiresAtMs: 1_000 }] },
    acme: { orders: new Map([['issued', 1]]), states: new Map([['valid', 1]]) },
    orderedCertificates: [{ names: ['example.com'], expiresAtMs: 1_000 }],
    breakers: [{ labels, state: 'closed' }],
    targets: [
      {
        labels: { ...labels, target: 't' },
        isInService: true,
        inFlight: 1,
        requests: 1,
        failures: 1,
        ejections: 1,
      },
    ],
    discovery: {
      looks: new Map([['dns', { changed: 1, same: 1, doubted: 1, failed: 1 }]]),
      revisions: [{ labels, targets: 1, isStale: false }],
    },
    database: { driver: 'sqlite', isUp: true },
    configFile: { loadedAt: '1970-01-01T00:00:01Z', problem: undefined, reloads: { applied: 1 } },
    history: { versions: 1, bytes: 1, failedAtMs: undefined },
    clockAheadMs: 1,
    limitStore: { nodes: 1, memory: { usedBytes: 1, maxBytes: 1, policy: 'noeviction' } },
    live: { streams: 1, shown: 1, dropped: 1, lost: 1, refused: 1 },
    events: {
      waiting: 1,
      dropped: 1,
      sent: new Map([['delivered', 1]]),
      webhooks: { ok: 1, failing: 1, disabled: 1, deadLetters: 1 },
    },
    traces: { traces: SIGNAL, metrics: SIGNAL, logs: SIGNAL },
  });
}
