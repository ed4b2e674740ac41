/**
 * The program of the thread that exports traces: takes spans from the memory that it shares with the workers and sends
 * them to a collector, so that neither proxy workers nor the main thread wait for one. Exists only where a collector is
 * set.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Collector } from './telemetry/export/collector.ts';
import type { ExportStart, FromExporter, ToExporter } from './telemetry/export/export-messages.ts';
import { SpanExporter } from './telemetry/export/span-exporter.ts';

const STATE_MS = 1_000;

const port = parentPort;
if (port === null) throw new Error('telemetry-worker.ts runs as a worker thread only');
const start = workerData as ExportStart;
const send = (message: FromExporter): void => port.postMessage(message);
const collector = new Collector(start);
const exporter = new SpanExporter({
  collector,
  origin: { resource: start.resource, version: start.version },
  underWay: start.underWay,
  endedRingsMax: start.endedRingsMax,
  onRingDone: (id) => send({ type: 'ring_done', id }),
});

let told = JSON.stringify(exporter.state);
const tell = (): void => {
  const { state } = exporter;
  const text = JSON.stringify(state);
  if (text === told) return;
  told = text;
  send(state);
};
setInterval(tell, STATE_MS).unref();

port.on('message', (message: ToExporter) => {
  switch (message.type) {
    case 'ring':
      return exporter.addRing(message.id, message.ring);
    case 'ring_ended':
      return exporter.endRing(message.id);
    case 'wake':
      return exporter.wake();
    case 'finish':
      void exporter.finish().then(() => {
        tell();
        collector.close();
        port.close();
      });
  }
});
