/**
 * Warnings about variables of the OpenTelemetry specification ("Environment Variable Specification", 1.4x) that ask
 * for something the export does not do. A value that asks for the usual behaviour gets no warning. Pure.
 */
import type { OtelSignal } from '../areas/otel-settings.ts';
import {
  isTimeout,
  PROCESSOR_TIMEOUTS,
  ratioOf,
  timeoutNames,
  type Environment,
} from '../otel-environment.ts';
import type { OtelSettings } from '../settings-types.ts';
import { OTEL_TIMEOUT_MS } from './otel-signal-settings.ts';

const PROTOCOLS = [
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
  'OTEL_EXPORTER_OTLP_METRICS_PROTOCOL',
  'OTEL_EXPORTER_OTLP_LOGS_PROTOCOL',
];

interface Ignored {
  readonly names: readonly string[];
  /** The variable has no effect when none of these signals is exported. */
  readonly signals: readonly OtelSignal[];
  readonly why: string;
}

/** Variables that are ignored whatever their value is. */
const IGNORED: readonly Ignored[] = [
  {
    names: ['OTEL_BSP_SCHEDULE_DELAY', 'OTEL_BSP_MAX_QUEUE_SIZE', 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE'],
    signals: ['traces'],
    why: 'exports of spans follow the traffic, and GATEWAY_OTEL__MAX_QUEUE_BYTES limits the spans that wait',
  },
  {
    names: ['OTEL_BLRP_SCHEDULE_DELAY', 'OTEL_BLRP_MAX_QUEUE_SIZE', 'OTEL_BLRP_MAX_EXPORT_BATCH_SIZE'],
    signals: ['logs'],
    why: 'exports of log records follow what is logged, and each thread keeps up to 1 MiB of records that wait',
  },
  {
    names: [
      'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT',
      'OTEL_ATTRIBUTE_COUNT_LIMIT',
      'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
      'OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT',
      'OTEL_SPAN_EVENT_COUNT_LIMIT',
      'OTEL_SPAN_LINK_COUNT_LIMIT',
      'OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT',
      'OTEL_LINK_ATTRIBUTE_COUNT_LIMIT',
      'OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT',
      'OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT',
    ],
    signals: ['traces', 'logs'],
    why: 'spans and log records have limits of their own',
  },
];

/** @param otel undefined when nothing is exported, or when other settings are wrong and it is not known */
export function otelWarnings(env: Environment, otel: OtelSettings | undefined): string[] {
  const given = (name: string): string => (env[name] ?? '').trim();
  const warnings = PROTOCOLS.filter((name) => !['', 'http/protobuf'].includes(given(name))).map(
    (name) => `${name}=${JSON.stringify(given(name))} is ignored: exports are by http/protobuf.`,
  );
  if (otel === undefined) return warnings;
  const isOn = (signal: OtelSignal): boolean => otel[`${signal}Url`] !== undefined;
  for (const { names, signals, why } of IGNORED) {
    const found = names.filter((name) => given(name) !== '');
    if (found.length > 0 && signals.some(isOn))
      warnings.push(`${found.join(', ')} ${found.length === 1 ? 'is' : 'are'} ignored: ${why}.`);
  }
  for (const signal of ['traces', 'metrics', 'logs'] as const)
    if (isOn(signal)) warnings.push(...timeoutWarnings(signal, given));
  if (isOn('traces')) warnings.push(...traceWarnings(given));
  return warnings;
}

type Given = (name: string) => string;

function timeoutWarnings(signal: OtelSignal, given: Given): string[] {
  const name = PROCESSOR_TIMEOUTS[signal];
  const text = given(name);
  const first = timeoutNames(signal).find((other) => given(other) !== '');
  if (text === '' || (first === undefined && isTimeout(text))) return [];
  const { min, max } = OTEL_TIMEOUT_MS;
  const why =
    first === undefined
      ? `expected a whole number of milliseconds from ${min} to ${max}`
      : `${first} is the time that an export may take`;
  return [`${name}=${JSON.stringify(text)} is ignored: ${why}.`];
}

function traceWarnings(given: Given): string[] {
  const warnings: string[] = [];
  const propagators = given('OTEL_PROPAGATORS');
  const names = propagators.split(',').map((name) => name.trim());
  // Baggage is forwarded like all header fields.
  const isDone =
    names.includes('tracecontext') && names.every((name) => ['tracecontext', 'baggage'].includes(name));
  if (propagators !== '' && !isDone)
    warnings.push(
      `OTEL_PROPAGATORS=${JSON.stringify(propagators)} is ignored: traces continue by traceparent (tracecontext), and baggage is forwarded unchanged.`,
    );
  if (given('GATEWAY_OTEL__SAMPLE_RATIO') !== '') return warnings;
  const sampler = given('OTEL_TRACES_SAMPLER');
  const argument = given('OTEL_TRACES_SAMPLER_ARG');
  if (sampler !== '' && ratioOf(sampler, argument) === '')
    warnings.push(
      `OTEL_TRACES_SAMPLER=${JSON.stringify(sampler)} is ignored: GATEWAY_OTEL__SAMPLE_RATIO is the share of requests that are traced.`,
    );
  if (argument !== '' && !sampler.endsWith('traceidratio'))
    warnings.push('OTEL_TRACES_SAMPLER_ARG is ignored: only the sampler traceidratio uses it.');
  return warnings;
}
