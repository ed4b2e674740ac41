import { afterAll, beforeAll, expect, it } from 'vitest';
import { startCollector, type TestCollector } from '../../../test/support/backends/collector.ts';
import { Collector } from './collector.ts';
import { MetricExporter } from './metric-exporter.ts';

const TEXT = '# HELP headgate_x_total X\n# TYPE headgate_x_total counter\nheadgate_x_total 1\n';

let collector: TestCollector;
beforeAll(async () => {
  collector = await startCollector();
});
afterAll(() => collector.close());

it('counts what a collector takes and refuses, and leaves out a reading that comes too early', async () => {
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
  });
  exporter.add(TEXT, 2);
  exporter.add(TEXT, 3);
  await exporter.finish();
  expect(exporter.state).toEqual({ exported: 1, failed: 0, problem: '' });
  expect(collector.points).toMatchObject([{ name: 'headgate.x', value: 1 }]);
  // As one that takes traces alone.
  collector.behave((response) => void response.writeHead(404).end());
  exporter.add(TEXT, 4);
  await exporter.finish();
  expect(exporter.state).toEqual({ exported: 1, failed: 1, problem: 'the collector answers 404' });
  connection.close();
});
