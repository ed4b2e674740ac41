/**
 * Wires the telemetry of the gateway: the log of the main thread, and the export of traces, metrics and logs, with
 * the attributes of this gateway and the files that connections need.
 */
import { TraceExport } from '../control/reporting/trace-export.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger, gapLine, type Logger } from '../observe/log.ts';
import { standardOutput, type LogOutput } from '../observe/log-output.ts';
import type { OtelSettings } from '../settings/settings-types.ts';
import type { Settings } from '../settings/settings.ts';
import {
  CollectorFilesWatch,
  readConnections,
  type Connections,
} from '../control/reporting/collector-files.ts';
import { createLogRing, createLogTap } from '../telemetry/logs/log-tap.ts';
import type { BatchRing } from '../telemetry/ring/batch-ring.ts';
import type { Parts } from './parts.ts';
import { StartError } from './start-error.ts';

export interface Logging {
  readonly log: Logger;
  /** Writes to the same output and is never exported: for messages about the export itself. */
  readonly ownLog: Logger;
  readonly output: LogOutput;
  /** undefined when logs are not exported. */
  readonly exported: ExportedLines | undefined;
}

interface ExportedLines {
  /** Holds lines from the start on. */
  readonly ring: BatchRing;
  /** @param wake called when the ring should be read */
  onFilling(wake: () => void): void;
}

export function createLogging(settings: Settings): Logging {
  const output = standardOutput({ gapLine: gapLine(settings.log.format, systemClock) });
  const options = { ...settings.log, output, clock: systemClock };
  const ownLog = createLogger(options);
  if (settings.otel?.logsUrl === undefined) return { output, log: ownLog, ownLog, exported: undefined };
  const ring = createLogRing();
  let wake = (): void => undefined;
  const onLine = createLogTap(ring, systemClock, () => wake());
  const exported = { ring, onFilling: (next: () => void) => void (wake = next) };
  return { output, log: createLogger({ ...options, onLine }), ownLog, exported };
}

export interface TraceExportParts {
  readonly otel: OtelSettings | undefined;
  /** The result of `readCollectorFiles`. */
  readonly connections: Connections | undefined;
  readonly version: string;
  readonly workers: number;
  /** The name of this gateway. */
  readonly nodeName: string;
  readonly logging: Logging;
  /** The program of the exporting thread. */
  readonly url: URL;
}

/** undefined when nothing is exported. */
export function createTraceExport(parts: TraceExportParts): TraceExport | undefined {
  const { otel, connections, version, workers, nodeName, logging, url } = parts;
  if (otel === undefined || connections === undefined) return undefined;
  const traces = new TraceExport({
    url,
    log: logging.ownLog,
    mainLogs: logging.exported?.ring,
    maxQueueBytes: otel.maxQueueBytes,
    workers,
    metricsIntervalMs: otel.metricsIntervalMs,
    start: {
      urls: { traces: otel.tracesUrl, metrics: otel.metricsUrl, logs: otel.logsUrl },
      startMs: systemClock.nowMs(),
      temporality: otel.temporality,
      connections,
      resource: {
        'service.name': otel.serviceName,
        'service.version': version,
        'service.instance.id': nodeName,
        ...otel.resourceAttributes,
      },
      version,
    },
  });
  logging.exported?.onFilling(() => traces.wake());
  return traces;
}

/** @throws StartError for a file that cannot be read or used */
export function readCollectorFiles({ otel }: Settings): Connections | undefined {
  if (otel === undefined) return undefined;
  const read = readConnections(otel.connections);
  if ('problem' in read) throw new StartError(read.problem, read.cause);
  return read;
}

/** undefined when nothing is exported. */
export function watchCollectorFiles(
  { traces, settings: { otel }, clock, log }: Pick<Parts, 'traces' | 'settings' | 'clock' | 'log'>,
  read: Connections | undefined,
): CollectorFilesWatch | undefined {
  if (traces === undefined || otel === undefined || read === undefined) return undefined;
  const { connections } = otel;
  const publish = (renewed: Connections): void => traces.setConnections(renewed);
  return new CollectorFilesWatch({ connections, read, publish, clock, log });
}
