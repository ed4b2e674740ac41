/**
 * Variables of the OpenTelemetry specification ("Environment Variable Specification", 1.4x) that affect more than one
 * setting: switches, samplers and time-outs of processors. A variable that corresponds to a single setting is the other
 * name of that setting (`Setting.otherName`). Pure.
 */

import { DEFAULT_OTEL_SIGNALS, OTEL_SIGNALS, type OtelSignal } from './areas/otel-settings.ts';
import { OTEL_TIMEOUT_MS } from './otel/otel-signal-settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const RATIO = 'GATEWAY_OTEL__SAMPLE_RATIO';
/** Its other name: set to the ratio that the sampler asks for. */
const RATIO_ARGUMENT = 'OTEL_TRACES_SAMPLER_ARG';
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

/** Time-outs of one export by a processor or reader of an SDK; the time-out of its exporter has priority. */
export const PROCESSOR_TIMEOUTS = {
  traces: 'OTEL_BSP_EXPORT_TIMEOUT',
  metrics: 'OTEL_METRIC_EXPORT_TIMEOUT',
  logs: 'OTEL_BLRP_EXPORT_TIMEOUT',
} as const satisfies Record<OtelSignal, string>;

/** The time-outs of exporters; each has priority over those of processors. */
export function timeoutNames(signal: OtelSignal): readonly [string, ...string[]] {
  const upper = signal.toUpperCase();
  return [
    `GATEWAY_OTEL__${upper}_TIMEOUT_MS`,
    `OTEL_EXPORTER_OTLP_${upper}_TIMEOUT`,
    'GATEWAY_OTEL__TIMEOUT_MS',
    'OTEL_EXPORTER_OTLP_TIMEOUT',
  ];
}

/** Whether the gateway accepts the text as a time-out; SDKs accept more values. */
export function isTimeout(text: string): boolean {
  const ms = Number(text);
  return /^\d{1,9}$/.test(text) && ms >= OTEL_TIMEOUT_MS.min && ms <= OTEL_TIMEOUT_MS.max;
}

/** The environment, with the settings that these variables imply. */
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
  // Settings with Headgate's own names are kept.
  if (isOff) for (const [own, standard] of ENDPOINTS) if (given(own) === '') added[standard] = undefined;
  if (given(SIGNALS) === '' && signals !== DEFAULT_OTEL_SIGNALS.join(',')) added[SIGNALS] = signals || 'none';
  if (given(RATIO) === '')
    added[RATIO_ARGUMENT] = ratioOf(given('OTEL_TRACES_SAMPLER'), given(RATIO_ARGUMENT));
  for (const signal of OTEL_SIGNALS) {
    const [first, ...others] = timeoutNames(signal);
    const text = given(PROCESSOR_TIMEOUTS[signal]);
    if (isTimeout(text) && [first, ...others].every((name) => given(name) === '')) added[first] = text;
  }
  return { ...env, ...added };
}

/** The ratio of a sampler; '' when the sampler has none. */
export function ratioOf(sampler: string, argument: string): string {
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
