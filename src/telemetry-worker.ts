/**
 * The program of the thread that exports: takes spans and log records from the memory that it shares with other
 * threads, and readings of the metrics from the main thread, and sends them to a collector, so that neither proxy
 * workers nor the main thread wait for one. Exists only where a collector is set.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { requireVersion } from './control/threads/program-version.ts';
import { Collector } from './telemetry/export/collector.ts';
import type {
  ExportStart,
  ExportState,
  FromExporter,
  RingSignal,
  Signal,
  ToExporter,
} from './telemetry/export/export-messages.ts';
import { lowerPriority } from './telemetry/export/low-priority.ts';
import { MetricExporter } from './telemetry/export/metric-exporter.ts';
import { RingExporter } from './telemetry/export/ring-exporter.ts';

const STATE_MS = 1_000;

const port = parentPort;
if (port === null) throw new Error('telemetry-worker.ts runs as a worker thread only');
const start = workerData as ExportStart;
const { urls, connections, resource, version, endedRingsMax } = start;
requireVersion(import.meta.url, version);
void lowerPriority();
const send = (message: FromExporter): void => port.postMessage(message);
const origin = { resource, version };
/** The collectors connect at their first export. */
const collectors = {
  traces: collectorOf('traces'),
  metrics: collectorOf('metrics'),
  logs: collectorOf('logs'),
};
const rings = { traces: ringExporter('traces'), logs: ringExporter('logs') };
const metrics = new MetricExporter({ ...start, collector: collectors.metrics, origin });

function collectorOf(signal: Signal): Collector {
  return new Collector(signal, urls[signal] ?? 'http://localhost', connections[signal], (warning) =>
    send({ type: 'warning', signal, warning }),
  );
}

function ringExporter(signal: RingSignal): RingExporter {
  return new RingExporter({
    collector: collectors[signal],
    origin,
    endedRingsMax,
    onRingDone: (id) => send({ type: 'ring_done', signal, id }),
  });
}

function state(): ExportState {
  return {
    type: 'state',
    signals: {
      traces: { ...rings.traces.state, lastFailure: collectors.traces.lastFailure },
      // A reading that is not exported is included in the next one.
      metrics: { ...metrics.state, dropped: 0, lastFailure: collectors.metrics.lastFailure },
      logs: { ...rings.logs.state, lastFailure: collectors.logs.lastFailure },
    },
  };
}

let told = JSON.stringify(state());
const tell = (): void => {
  const text = JSON.stringify(state());
  if (text === told) return;
  told = text;
  send(state());
};
setInterval(tell, STATE_MS).unref();

port.on('message', (message: ToExporter) => {
  switch (message.type) {
    case 'ring':
      return rings[message.signal].addRing(message.id, message.ring);
    case 'ring_ended':
      return rings[message.signal].endRing(message.id);
    case 'connections':
      for (const signal of ['traces', 'metrics', 'logs'] as const)
        collectors[signal].renew(message.connections[signal]);
      return;
    case 'wake':
      rings.traces.wake();
      return rings.logs.wake();
    case 'metrics':
      return metrics.add(message.text, message.nowMs);
    case 'finish':
      void Promise.all([rings.traces.finish(), rings.logs.finish(), metrics.finish()]).then(() => {
        tell();
        for (const collector of Object.values(collectors)) collector.close();
        port.close();
      });
  }
});
