/** Wires the export of traces and metrics: what describes this gateway, and the files that the connection needs. */
import { readFileSync } from 'node:fs';
import { TraceExport } from '../control/reporting/trace-export.ts';
import { systemClock } from '../lib/clock.ts';
import type { Logger } from '../observe/log.ts';
import type { OtelSettings } from '../settings/settings-types.ts';
import { startError } from './start-error.ts';

export interface TraceExportParts {
  readonly otel: OtelSettings | undefined;
  readonly version: string;
  readonly workers: number;
  /** Of this gateway. */
  readonly nodeName: string;
  readonly log: Logger;
  /** Of the thread's program. */
  readonly url: URL;
}

/** undefined: nothing is exported. @throws StartError for a file that cannot be read */
export function createTraceExport(parts: TraceExportParts): TraceExport | undefined {
  const { otel, version, workers, nodeName, log, url } = parts;
  if (otel === undefined) return undefined;
  return new TraceExport({
    url,
    log,
    maxQueueBytes: otel.maxQueueBytes,
    workers,
    metricsIntervalMs: otel.metricsIntervalMs,
    start: {
      urls: { traces: otel.tracesUrl, metrics: otel.metricsUrl },
      startMs: systemClock.nowMs(),
      connection: {
        headers: otel.headers,
        timeoutMs: otel.timeoutMs,
        compression: otel.compression,
        ca: contentOf('GATEWAY_OTEL__CA_FILE', otel.caFile),
        cert: contentOf('GATEWAY_OTEL__CLIENT_CERT_FILE', otel.certFile),
        key: contentOf('GATEWAY_OTEL__CLIENT_KEY_FILE', otel.keyFile),
      },
      resource: {
        'service.name': otel.serviceName,
        'service.version': version,
        'service.instance.id': nodeName,
        ...otel.resourceAttributes,
      },
      version,
    },
  });
}

function contentOf(setting: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw startError(`Cannot read ${setting}=${JSON.stringify(path)}`, error);
  }
}
