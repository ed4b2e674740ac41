/** The nested settings of OpenTelemetry: each signal has its own value or the common one. Pure. */
import type { OtelSignal } from '../areas/otel-settings.ts';
import { pairsOf } from './otel-pairs.ts';
import type { SettingValues } from '../settings-table.ts';
import type { OtelConnection, OtelSettings } from '../settings-types.ts';

/** undefined when nothing is exported. */
export function otelSettings(v: SettingValues): OtelSettings | undefined {
  const { GATEWAY_OTEL__ENDPOINT: base } = v;
  const urlOf = (signal: OtelSignal, whole: string | undefined): string | undefined => {
    if (!v.GATEWAY_OTEL__SIGNALS.includes(signal)) return undefined;
    return whole ?? (base && `${base.replace(/\/+$/, '')}/v1/${signal}`);
  };
  const tracesUrl = urlOf('traces', v.GATEWAY_OTEL__TRACES_ENDPOINT);
  const metricsUrl = urlOf('metrics', v.GATEWAY_OTEL__METRICS_ENDPOINT);
  const logsUrl = urlOf('logs', v.GATEWAY_OTEL__LOGS_ENDPOINT);
  if ((tracesUrl ?? metricsUrl ?? logsUrl) === undefined) return undefined;
  const keeps = v.GATEWAY_OTEL__KEEP;
  return {
    tracesUrl,
    metricsUrl,
    logsUrl,
    connections: {
      traces: connectionOf(v, 'TRACES'),
      metrics: connectionOf(v, 'METRICS'),
      logs: connectionOf(v, 'LOGS'),
    },
    metricsIntervalMs: v.GATEWAY_OTEL__METRICS_INTERVAL_MS,
    temporality: v.GATEWAY_OTEL__METRICS_TEMPORALITY,
    traceUrl: v.GATEWAY_OTEL__TRACE_URL,
    serviceName: v.GATEWAY_OTEL__SERVICE_NAME,
    resourceAttributes: pairsOf(v.GATEWAY_OTEL__RESOURCE_ATTRIBUTES),
    sampleRatio: Number(v.GATEWAY_OTEL__SAMPLE_RATIO),
    keep: {
      errors: keeps.includes('errors'),
      denials: keeps.includes('denials'),
      retries: keeps.includes('retries'),
      slow: keeps.includes('slow'),
    },
    maxQueueBytes: v.GATEWAY_OTEL__MAX_QUEUE_BYTES,
  };
}

/** The certificate and its key are used as a pair. */
function connectionOf(v: SettingValues, signal: Uppercase<OtelSignal>): OtelConnection {
  const headers = v[`GATEWAY_OTEL__${signal}_HEADERS`];
  const own = v[`GATEWAY_OTEL__${signal}_CLIENT_CERT_FILE`];
  return {
    headers: pairsOf(headers.length > 0 ? headers : v.GATEWAY_OTEL__HEADERS),
    timeoutMs: v[`GATEWAY_OTEL__${signal}_TIMEOUT_MS`] ?? v.GATEWAY_OTEL__TIMEOUT_MS,
    compression: v[`GATEWAY_OTEL__${signal}_COMPRESSION`] ?? v.GATEWAY_OTEL__COMPRESSION,
    caFile: v[`GATEWAY_OTEL__${signal}_CA_FILE`] ?? v.GATEWAY_OTEL__CA_FILE,
    certFile: own ?? v.GATEWAY_OTEL__CLIENT_CERT_FILE,
    keyFile:
      own === undefined ? v.GATEWAY_OTEL__CLIENT_KEY_FILE : v[`GATEWAY_OTEL__${signal}_CLIENT_KEY_FILE`],
  };
}
