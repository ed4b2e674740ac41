/**
 * The program of the thread that exports: takes spans and log records from the memory that it shares with other threads,
 * and readings of the metrics from the main thread, and sends them to a collector, so that neither proxy workers nor the
 * main thread wait for one. Exists only where a collector is set.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Collector, type Signal } from './telemetry/export/collector.ts';
import type {
  ExportStart,
  ExportState,
  FromExporter,
  RingSignal,
  ToExporter,
} from './telemetry/export/export-messages.ts';
import { lowerPriority } from './telemetry/export/low-priority.ts';
import { MetricExporter } from './telemetry/export/metric-exporter.ts';
import { RingExporter } from './telemetry/export/ring-exporter.ts';

const STATE_MS = 1_000;

const port = parentPort;
if (port === null) throw new Error('telemetry-worker.ts runs as a worker thread only');
const start = workerData as ExportStart;
const { urls, connections, resource, version, underWay, endedRingsMax } = start;
void lowerPriority();
const send = (message: FromExporter): void => port.postMessage(message);
const origin = { resource, version };
const collectors: Collector[] = [];
const rings = { traces: ringExporter('traces'), logs: ringExporter('logs') };
const metrics = new MetricExporter({ ...start, collector: collectorOf('metrics'), origin });

function ringExporter(signal: RingSignal): RingExporter {
  return new RingExporter({
    collector: collectorOf(signal),
    origin,
    underWay: underWay[signal],
    endedRingsMax,
    onRingDone: (id) => send({ type: 'ring_done', signal, id }),
  });
}

/** Connects when it exports for the first time. */
function collectorOf(signal: Signal): Collector {
  const collector = new Collector(signal, urls[signal] ?? 'http://localhost', connections[signal]);
  collectors.push(collector);
  return collector;
}

function state(): ExportState {
  const { problem: ofMetrics, ...points } = metrics.state;
  const { problem: ofTraces, ...traces } = rings.traces.state;
  const { problem: ofLogs, ...logs } = rings.logs.state;
  return {
    type: 'state',
    items: { traces, logs },
    points,
    problem: ofTraces || (ofMetrics && `metrics: ${ofMetrics}`) || (ofLogs && `logs: ${ofLogs}`),
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
    case 'wake':
      rings.traces.wake();
      return rings.logs.wake();
    case 'metrics':
      return metrics.add(message.text, message.nowMs);
    case 'finish':
      void Promise.all([rings.traces.finish(), rings.logs.finish(), metrics.finish()]).then(() => {
        tell();
        for (const collector of collectors) collector.close();
        port.close();
      });
  }
});
