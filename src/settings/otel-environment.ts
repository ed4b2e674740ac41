/**
 * Variables of the OpenTelemetry specification ("Environment Variable Specification", 1.4x) that mean more than one
 * value of a setting: switches and samplers. What means one value is the other name of that
 * setting (`Setting.otherName`). Pure.
 */

import { DEFAULT_OTEL_SIGNALS, OTEL_SIGNALS, type OtelSignal } from './areas/otel-settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const RATIO = 'GATEWAY_OTEL__SAMPLE_RATIO';
const SIGNALS = 'GATEWAY_OTEL__SIGNALS';
const ENDPOINTS = [
  ['GATEWAY_OTEL__ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
  ['GATEWAY_OTEL__TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'],
  ['GATEWAY_OTEL__METRICS_ENDPOINT', 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT'],
  ['GATEWAY_OTEL__LOGS_ENDPOINT', 'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT'],
] as const;
const EXPORTERS = {
  traces: 'OTEL_TRACES_EXPORTER',
  metrics: 'OTEL_METRICS_EXPORTER',
  logs: 'OTEL_LOGS_EXPORTER',
} as const;

/** The environment with what these variables mean for the settings. */
export function withOtelVariables(env: Environment): Environment {
  const given = (name: string): string => (env[name] ?? '').trim();
  const added: Record<string, string | undefined> = {};
  const isOff = given('OTEL_SDK_DISABLED').toLowerCase() === 'true';
  const isAskedFor = (signal: OtelSignal): boolean =>
    DEFAULT_OTEL_SIGNALS.includes(signal) ||
    given('GATEWAY_OTEL__LOGS_ENDPOINT') !== '' ||
    (!isOff && (given('OTEL_EXPORTER_OTLP_LOGS_ENDPOINT') !== '' || given(EXPORTERS.logs) === 'otlp'));
  const signals = OTEL_SIGNALS.filter(
    (signal) => given(EXPORTERS[signal]) !== 'none' && isAskedFor(signal),
  ).join(',');
  // Settings of our own are meant for this program.
  if (isOff) for (const [own, standard] of ENDPOINTS) if (given(own) === '') added[standard] = undefined;
  if (given(SIGNALS) === '' && signals !== DEFAULT_OTEL_SIGNALS.join(',')) added[SIGNALS] = signals || 'none';
  if (given(RATIO) === '')
    added[RATIO] = ratioOf(given('OTEL_TRACES_SAMPLER'), given('OTEL_TRACES_SAMPLER_ARG'));
  return { ...env, ...added };
}

/** '' if the sampler is not one of those that the specification defines. */
function ratioOf(sampler: string, argument: string): string {
  switch (sampler.replace(/^parentbased_/, '')) {
    case 'always_on':
      return '1';
    case 'always_off':
      return '0';
    case 'traceidratio':
      return argument === '' ? '1' : argument;
    default:
      return '';
  }
}

const PROTOCOLS = [
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
  'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL',
  'OTEL_EXPORTER_OTLP_LOGS_PROTOCOL',
];

/** Warnings about what is asked for and not done. */
export function otelWarnings(env: Environment): string[] {
  const warnings: string[] = [];
  for (const name of PROTOCOLS) {
    const protocol = (env[name] ?? '').trim();
    if (protocol !== '' && protocol !== 'http/protobuf')
      warnings.push(`${name}=${JSON.stringify(protocol)} is ignored: exports are by http/protobuf.`);
  }
  return warnings;
}
