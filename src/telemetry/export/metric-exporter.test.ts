import { afterAll, beforeAll, expect, it } from 'vitest';
import { startCollector, type TestCollector } from '../../../test/support/backends/collector.ts';
import { Collector } from './collector.ts';
import { MetricExporter, type MetricExporterOptions } from './metric-exporter.ts';

const text = (value: number): string =>
  `# HELP headgate_x_total X\n# TYPE headgate_x_total counter\nheadgate_x_total ${value}\n`;
const TEXT = text(1);

let collector: TestCollector;
beforeAll(async () => {
  collector = await startCollector();
});
afterAll(() => collector.close());

function exporterWith(extra: Partial<MetricExporterOptions> = {}) {
  const connection = new Collector('metrics', `${collector.url}/v1/metrics`, {
    headers: {},
    timeoutMs: 1_000,
    compression: 'gzip',
    ca: undefined,
    cert: undefined,
    key: undefined,
  });
  const exporter = new MetricExporter({
    collector: connection,
    origin: { resource: {}, version: '1' },
    startMs: 1,
    temporality: 'cumulative',
    isReplacement: false,
    ...extra,
  });
  return { connection, exporter };
}

it('counts what a collector takes and refuses, and leaves out a reading that comes too early', async () => {
  const { connection, exporter } = exporterWith();
  exporter.add(TEXT, 2);
  exporter.add(TEXT, 3);
  await exporter.finish();
  expect(exporter.state).toEqual({ exported: 1, failed: 0, problem: '' });
  expect(collector.points).toMatchObject([{ name: 'headgate.x', value: 1 }]);
  // As one that takes traces alone.
  collector.behave((response) => void response.writeHead(404).end());
  exporter.add(TEXT, 4);
  await exporter.finish();
  expect(exporter.state).toEqual({
    exported: 1,
    failed: 1,
    problem: expect.stringMatching(/^the collector answers 404: /),
  });
  connection.close();
});

it('leaves readings out for as long as the collector asks', async () => {
  const { connection, exporter } = exporterWith();
  collector.behave((response) => void response.writeHead(503, { 'Retry-After': '3600' }).end());
  const before = collector.requests.length;
  for (const nowMs of [2, 3]) {
    exporter.add(TEXT, nowMs);
    await exporter.finish();
  }
  expect(collector.requests.length - before).toBe(1);
  const problem = 'the collector answers 503: it asks to wait 3600 s';
  expect(exporter.state).toEqual({ exported: 0, failed: 1, problem });
  collector.behave(undefined);
  connection.close();
});

it('exports deltas: after an export that failed, the next one has all of it', async () => {
  collector.points.length = 0;
  const { connection, exporter } = exporterWith({ temporality: 'delta' });
  const add = async (value: number, nowMs: number): Promise<void> => {
    exporter.add(text(value), nowMs);
    await exporter.finish();
  };
  collector.behave((response) => void response.writeHead(404).end());
  await add(3, 2);
  collector.behave(undefined);
  await add(5, 3);
  await add(5, 4);
  await add(6, 5);
  expect(collector.points).toMatchObject([
    { value: 5, startMs: 1, atMs: 3, temporality: 1 },
    { value: 1, startMs: 3, atMs: 5, temporality: 1 },
  ]);
  expect(exporter.state).toEqual({ exported: 2, failed: 1, problem: '' });
  connection.close();
});

it('counts nothing twice after it has replaced an exporter that ended', async () => {
  collector.points.length = 0;
  const { connection, exporter } = exporterWith({ temporality: 'delta', isReplacement: true });
  for (const value of [100, 102]) {
    exporter.add(text(value), value);
    await exporter.finish();
  }
  expect(collector.points).toMatchObject([{ value: 2, startMs: 100, atMs: 102 }]);
  connection.close();
});
