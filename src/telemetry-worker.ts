/**
 * The program of the thread that exports traces: takes batches of spans from the main thread and sends them to a
 * collector, so that neither proxy workers nor the main thread wait for one. Exists only where a collector is set.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Collector } from './telemetry/export/collector.ts';
import type { ExportStart, ExportState, ToExporter } from './telemetry/export/export-messages.ts';
import { SpanExporter } from './telemetry/export/span-exporter.ts';

const STATE_MS = 1_000;

const port = parentPort;
if (port === null) throw new Error('telemetry-worker.ts runs as a worker thread only');
const start = workerData as ExportStart;
const collector = new Collector(start);
const exporter = new SpanExporter({
  collector,
  origin: { resource: start.resource, version: start.version },
  maxQueueBytes: start.maxQueueBytes,
});

let told = JSON.stringify(exporter.state);
const tell = (): void => {
  const { state } = exporter;
  const text = JSON.stringify(state);
  if (text === told) return;
  told = text;
  port.postMessage(state satisfies ExportState);
};
setInterval(tell, STATE_MS).unref();

port.on('message', (message: ToExporter) => {
  if (message.type === 'spans') return exporter.add(message);
  void exporter.finish().then(() => {
    tell();
    collector.close();
    port.close();
  });
});
