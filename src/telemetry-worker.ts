/**
 * The program of the thread that exports: takes spans from the memory that it shares with the workers, and readings of
 * the metrics from the main thread, and sends them to a collector, so that neither proxy workers nor the main thread
 * wait for one. Exists only where a collector is set.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Collector, type Signal } from './telemetry/export/collector.ts';
import type {
  ExportStart,
  ExportState,
  FromExporter,
  ToExporter,
} from './telemetry/export/export-messages.ts';
import { MetricExporter } from './telemetry/export/metric-exporter.ts';
import { SpanExporter } from './telemetry/export/span-exporter.ts';

const STATE_MS = 1_000;

const port = parentPort;
if (port === null) throw new Error('telemetry-worker.ts runs as a worker thread only');
const { urls, connection, resource, version, underWay, endedRingsMax, startMs } = workerData as ExportStart;
const send = (message: FromExporter): void => port.postMessage(message);
const origin = { resource, version };
const collectors: Collector[] = [];
const spans = new SpanExporter({
  collector: collectorOf('traces'),
  origin,
  underWay,
  endedRingsMax,
  onRingDone: (id) => send({ type: 'ring_done', id }),
});
const metrics = new MetricExporter({ collector: collectorOf('metrics'), origin, startMs });

/** Connects when it exports for the first time. */
function collectorOf(signal: Signal): Collector {
  const collector = new Collector(signal, urls[signal] ?? 'http://localhost', connection);
  collectors.push(collector);
  return collector;
}

function state(): ExportState {
  const { problem, ...points } = metrics.state;
  const ofSpans = spans.state;
  return {
    type: 'state',
    ...ofSpans,
    points,
    problem: ofSpans.problem || (problem && `metrics: ${problem}`),
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
      return spans.addRing(message.id, message.ring);
    case 'ring_ended':
      return spans.endRing(message.id);
    case 'wake':
      return spans.wake();
    case 'metrics':
      return metrics.add(message.text, message.nowMs);
    case 'finish':
      void Promise.all([spans.finish(), metrics.finish()]).then(() => {
        tell();
        for (const collector of collectors) collector.close();
        port.close();
      });
  }
});
