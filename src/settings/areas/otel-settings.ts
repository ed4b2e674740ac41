/** Settings of OpenTelemetry. The variables of its specification apply when these are not set. */
import { integer, list, oneOf, text, url, type Parsed, type Setting } from '../settings-values.ts';
import { otelHeader, otelPair } from '../otel/otel-pairs.ts';
import { OTEL_TIMEOUT_MS, signalSettings } from '../otel/otel-signal-settings.ts';

/** Kinds of exchanges that are kept in addition to the sampled ones. */
const KEEP_RULES = ['errors', 'denials', 'retries', 'slow'] as const;
type KeepRule = (typeof KEEP_RULES)[number];

export const OTEL_SIGNALS = ['traces', 'metrics', 'logs'] as const;
export type OtelSignal = (typeof OTEL_SIGNALS)[number];
/**
 * Logs are not exported by default: in most places they are collected from standard output, and would arrive
 * twice.
 */
export const DEFAULT_OTEL_SIGNALS: readonly OtelSignal[] = ['traces', 'metrics'];

const RATIO = /^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/;
/** Excludes all characters that could end an attribute or begin a credential. */
const TRACE_URL = /^https?:\/\/[\w.:[\]-]{1,255}\/[^\s"'<>{}\\]{0,1024}\{trace_id\}[^\s"'<>{}\\]{0,1024}$/;
const otelSignal = (name: string): Parsed<OtelSignal | 'none'> => {
  const found = ([...OTEL_SIGNALS, 'none'] as const).find((candidate) => candidate === name);
  return found === undefined
    ? { expected: `names from ${OTEL_SIGNALS.join(', ')}, or none` }
    : { value: found };
};
const keepRule = (name: string): Parsed<KeepRule | 'none'> => {
  const found = ([...KEEP_RULES, 'none'] as const).find((candidate) => candidate === name);
  return found === undefined
    ? { expected: `names from ${KEEP_RULES.join(', ')}, or none` }
    : { value: found };
};

export const OTEL_SETTINGS = {
  GATEWAY_OTEL__ENDPOINT: url(['http:', 'https:'], {
    default: undefined,
    defaultText: 'none: nothing is exported',
    otherName: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    description:
      'Base URL of a collector that takes OTLP over HTTP (protobuf), such as `http://localhost:4318`. Traces go to `/v1/traces` below it, metrics to `/v1/metrics`, logs to `/v1/logs`.',
  }),
  GATEWAY_OTEL__TRACES_ENDPOINT: url(['http:', 'https:'], {
    default: undefined,
    defaultText: '`/v1/traces` below `GATEWAY_OTEL__ENDPOINT`',
    otherName: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    description: 'Whole URL for traces.',
  }),
  GATEWAY_OTEL__METRICS_ENDPOINT: url(['http:', 'https:'], {
    default: undefined,
    defaultText: '`/v1/metrics` below `GATEWAY_OTEL__ENDPOINT`',
    otherName: 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    description: 'Whole URL for metrics.',
  }),
  GATEWAY_OTEL__LOGS_ENDPOINT: url(['http:', 'https:'], {
    default: undefined,
    defaultText: '`/v1/logs` below `GATEWAY_OTEL__ENDPOINT`',
    otherName: 'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT',
    description: 'Whole URL for logs.',
  }),
  GATEWAY_OTEL__SIGNALS: list('names, comma-separated', otelSignal, {
    default: DEFAULT_OTEL_SIGNALS,
    description:
      'What is exported where there is an endpoint for it: `traces`, `metrics`, `logs`; or `none`. Without it, `OTEL_TRACES_EXPORTER=none`, `OTEL_METRICS_EXPORTER=none` and `OTEL_LOGS_EXPORTER` (`otlp` or `none`) apply, and an endpoint for logs alone switches them on.',
  }),
  GATEWAY_OTEL__TRACE_URL: text('URL with {trace_id}', {
    default: undefined,
    defaultText: 'none: there is no link',
    pattern: TRACE_URL,
    expected: 'a URL that begins with http:// or https:// and has {trace_id} once, behind the host',
    description:
      'Page that shows a trace, such as `https://tempo.example/trace/{trace_id}`: the console and explain link to it.',
  }),
  GATEWAY_OTEL__METRICS_INTERVAL_MS: integer(
    { min: 1_000, max: 3_600_000 },
    {
      default: 60_000,
      otherName: 'OTEL_METRIC_EXPORT_INTERVAL',
      description: 'Interval between two exports of metrics.',
    },
  ),
  GATEWAY_OTEL__METRICS_TEMPORALITY: oneOf(['cumulative', 'delta', 'lowmemory'], {
    default: 'cumulative',
    otherName: 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE',
    description:
      'What counters and histograms are exported as: `cumulative`: the totals since the start of the gateway; `delta`: what was added since the previous export; `lowmemory`: as `delta`, except that counters of the process and of Node.js are cumulative.',
  }),
  GATEWAY_OTEL__HEADERS: list('name=value, comma-separated', otelHeader, {
    default: [],
    defaultText: 'none',
    secret: true,
    otherName: 'OTEL_EXPORTER_OTLP_HEADERS',
    description:
      'Header fields of requests to the collector, such as `x-api-key=…`. Values are percent-decoded.',
  }),
  GATEWAY_OTEL__TIMEOUT_MS: integer(OTEL_TIMEOUT_MS, {
    default: 10_000,
    otherName: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    description:
      'How long an export may take, including retries. Spans that are not exported by then are lost.',
  }),
  GATEWAY_OTEL__COMPRESSION: oneOf(['none', 'gzip'], {
    default: 'none',
    otherName: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    description: 'Compression of exports.',
  }),
  GATEWAY_OTEL__CA_FILE: text('path', {
    default: undefined,
    defaultText: 'those of Node.js',
    otherName: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    description:
      'File with the certificates (PEM) of the authorities that may sign the certificate of the collector.',
  }),
  GATEWAY_OTEL__CLIENT_CERT_FILE: text('path', {
    default: undefined,
    defaultText: 'none',
    otherName: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    description:
      'File with the client certificate (PEM) for the collector. Needs `GATEWAY_OTEL__CLIENT_KEY_FILE`.',
  }),
  GATEWAY_OTEL__CLIENT_KEY_FILE: text('path', {
    default: undefined,
    defaultText: 'none',
    otherName: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    description: 'File with the private key (PEM) of that certificate.',
  }),
  ...signalSettings('TRACES', 'traces'),
  ...signalSettings('METRICS', 'metrics'),
  ...signalSettings('LOGS', 'logs'),
  GATEWAY_OTEL__SERVICE_NAME: text('text', {
    default: 'headgate',
    otherName: 'OTEL_SERVICE_NAME',
    description: '`service.name` of all exports.',
  }),
  GATEWAY_OTEL__RESOURCE_ATTRIBUTES: list('name=value, comma-separated', otelPair, {
    default: [],
    defaultText: 'none',
    otherName: 'OTEL_RESOURCE_ATTRIBUTES',
    description:
      'Attributes of everything that is exported, such as `deployment.environment.name=production`. Values are percent-decoded.',
  }),
  GATEWAY_OTEL__SAMPLE_RATIO: text('number, 0 to 1', {
    default: '0.01',
    pattern: RATIO,
    expected: 'a number from 0 to 1 with a point, such as 0.01',
    otherName: 'OTEL_TRACES_SAMPLER_ARG',
    description:
      'Share of the requests that are traced and announced as such to backends (`traceparent`), in addition to those of `GATEWAY_OTEL__KEEP`. Trusted proxies (`GATEWAY_TRUSTED_PROXY_IPS`) decide this for their requests themselves. Without this setting, `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` apply.',
  }),
  GATEWAY_OTEL__KEEP: list('names, comma-separated', keepRule, {
    default: KEEP_RULES,
    description:
      'Requests that are traced regardless of the ratio. This is decided when they end: `errors` (5xx, or ended early), `denials`, `retries`, `slow` (the slowest 1 % of each route); or `none`.',
  }),
  GATEWAY_OTEL__MAX_QUEUE_BYTES: integer(
    { min: 1_048_576, max: 1_073_741_824 },
    {
      default: 16_777_216,
      description:
        'Memory for spans that wait for the collector. When it is full, further spans are dropped and counted.',
    },
  ),
} as const satisfies Record<string, Setting<unknown>>;
