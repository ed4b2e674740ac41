/** Settings of OpenTelemetry. Variables of the OpenTelemetry specification count where these are not set. */
import { integer, list, oneOf, text, url, type Parsed, type Setting } from '../settings-values.ts';

/** Kinds of exchanges that are kept beside those that are sampled. */
export const KEEP_RULES = ['errors', 'denials', 'retries', 'slow'] as const;
export type KeepRule = (typeof KEEP_RULES)[number];

const RATIO = /^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/;
/** `name=value` pairs, percent-encoded where needed (W3C Baggage, as the OpenTelemetry specification has it). */
const PAIRS = /^[!#$%&'*+.^_`|~\w/-]{1,256}=[\x21-\x2b\x2d-\x7e]{0,1024}$/;
const pair = (value: string): Parsed<string> =>
  PAIRS.test(value) ? { value } : { expected: 'name=value, separated by commas' };
const keepRule = (name: string): Parsed<KeepRule | 'none'> => {
  const found = ([...KEEP_RULES, 'none'] as const).find((candidate) => candidate === name);
  return found === undefined
    ? { expected: `names from ${KEEP_RULES.join(', ')}, or none` }
    : { value: found };
};

export const OTEL_SETTINGS = {
  GATEWAY_OTEL__ENDPOINT: url(['http:', 'https:'], {
    default: undefined,
    defaultText: 'none: traces are not exported',
    otherName: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    description:
      'Base URL of a collector that takes OTLP over HTTP (protobuf), such as `http://localhost:4318`. Traces go to `/v1/traces` below it.',
  }),
  GATEWAY_OTEL__TRACES_ENDPOINT: url(['http:', 'https:'], {
    default: undefined,
    defaultText: '`/v1/traces` below `GATEWAY_OTEL__ENDPOINT`',
    otherName: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    description: 'Whole URL for traces.',
  }),
  GATEWAY_OTEL__HEADERS: list('name=value, comma-separated', pair, {
    default: [],
    defaultText: 'none',
    secret: true,
    otherName: 'OTEL_EXPORTER_OTLP_HEADERS',
    description:
      'Header fields of requests to the collector, such as `x-api-key=…`. Values are percent-decoded.',
  }),
  GATEWAY_OTEL__TIMEOUT_MS: integer(
    { min: 100, max: 60_000 },
    {
      default: 10_000,
      otherName: 'OTEL_EXPORTER_OTLP_TIMEOUT',
      description:
        'How long an export may take, attempts after the first included. Later its spans are lost.',
    },
  ),
  GATEWAY_OTEL__COMPRESSION: oneOf(['none', 'gzip'], {
    default: 'none',
    otherName: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    description: 'Compression of exports.',
  }),
  GATEWAY_OTEL__CA_FILE: text('path', {
    default: undefined,
    defaultText: 'those of Node.js',
    otherName: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    description: 'File with the certificates (PEM) of the authorities that the collector is trusted by.',
  }),
  GATEWAY_OTEL__CLIENT_CERT_FILE: text('path', {
    default: undefined,
    defaultText: 'none',
    otherName: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
    description:
      'File with the certificate (PEM) that the collector gets. Needs `GATEWAY_OTEL__CLIENT_KEY_FILE`.',
  }),
  GATEWAY_OTEL__CLIENT_KEY_FILE: text('path', {
    default: undefined,
    defaultText: 'none',
    otherName: 'OTEL_EXPORTER_OTLP_CLIENT_KEY',
    description: 'File with its private key (PEM).',
  }),
  GATEWAY_OTEL__SERVICE_NAME: text('text', {
    default: 'headgate',
    otherName: 'OTEL_SERVICE_NAME',
    description: '`service.name` of what is exported.',
  }),
  GATEWAY_OTEL__RESOURCE_ATTRIBUTES: list('name=value, comma-separated', pair, {
    default: [],
    defaultText: 'none',
    otherName: 'OTEL_RESOURCE_ATTRIBUTES',
    description:
      'Attributes of all that is exported, such as `deployment.environment.name=production`. Values are percent-decoded.',
  }),
  GATEWAY_OTEL__SAMPLE_RATIO: text('number, 0 to 1', {
    default: '0.01',
    pattern: RATIO,
    expected: 'a number from 0 to 1 with a point, such as 0.01',
    description:
      'Share of the requests that are traced, and of which backends are told so (`traceparent`), beside those of `GATEWAY_OTEL__KEEP`. Trusted proxies (`GATEWAY_TRUSTED_PROXY_IPS`) decide this for their requests themselves. Without it, `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` count.',
  }),
  GATEWAY_OTEL__KEEP: list('names, comma-separated', keepRule, {
    default: KEEP_RULES,
    description:
      'Requests that are traced whatever the ratio, decided when they end: `errors` (5xx, or ended early), `denials`, `retries`, `slow` (the slowest 1 % of each route); or `none`.',
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
