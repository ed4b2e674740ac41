import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { startCollector, type TestCollector } from '../../../test/support/backends/collector.ts';
import { until } from '../../../test/support/measure/until.ts';
import { BatchWriter, createBatchRing, droppedItems, queuedBytes } from '../ring/batch-ring.ts';
import { Collector } from './collector.ts';
import { RingExporter } from './ring-exporter.ts';

const RING_BYTES = 262_144;
const BATCH = 8_000;
/** A field that readers pass over: the exporter does not look into batches. */
const batchOf = (): Uint8Array => {
  const bytes = new Uint8Array(BATCH);
  // Field 1,000, of three bytes of length: 2 + 3 + the rest.
  bytes.set([
    0xc2,
    0x3e,
    ...[BATCH - 5].flatMap((n) => [(n & 0x7f) | 0x80, ((n >> 7) & 0x7f) | 0x80, n >> 14]),
  ]);
  return bytes;
};

let collector: TestCollector;
afterEach(() => collector.close());

async function start(
  timeoutMs = 300,
  probeMs = 60_000,
): Promise<{
  readonly exporter: RingExporter;
  readonly done: number[];
  readonly connection: Collector;
}> {
  collector = await startCollector();
  const done: number[] = [];
  const connection = new Collector('traces', `${collector.url}/v1/traces`, {
    headers: {},
    timeoutMs,
    compression: 'none',
    ca: undefined,
    cert: undefined,
    key: undefined,
  });
  const exporter = new RingExporter({
    collector: connection,
    origin: { resource: {}, version: '1' },
    endedRingsMax: 1,
    onRingDone: (id) => done.push(id),
    intervalMs: 10,
    probeMs,
  });
  return { exporter, done, connection };
}

describe('a collector that takes nothing', () => {
  it.each([
    ['hangs', () => undefined],
    ['refuses', (response: ServerResponse) => void response.writeHead(400).end()],
  ])('and %s costs no more memory than the ring, and every span is counted', async (_name, behave) => {
    const { exporter, connection } = await start();
    collector.behave(behave);
    const ring = createBatchRing(RING_BYTES);
    exporter.addRing(1, ring);
    const writer = new BatchWriter(ring, () => exporter.wake());
    let sent = 0;
    for (let round = 0; round < 20; round++) {
      for (let count = 0; count < 20; count++) writer.push(batchOf(), 10);
      sent += 200;
      expect(queuedBytes(ring)).toBeLessThan(RING_BYTES);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await until(() => exporter.state.failed > 0);
    collector.behave((response) => void response.writeHead(200).end());
    writer.push(batchOf(), 10);
    await until(() => exporter.state.exported >= 10);
    await exporter.finish();
    const { exported, failed, dropped, problem } = exporter.state;
    expect(exported + failed + dropped + droppedItems(ring)).toBe(sent + 10);
    expect([queuedBytes(ring), problem]).toEqual([0, '']);
    connection.close();
  });
});

it('asks a collector that has failed again, with nothing in it, until it takes exports', async () => {
  const { exporter, connection } = await start(1_000, 50);
  collector.behave((response) => void response.writeHead(404).end());
  const ring = createBatchRing(RING_BYTES);
  exporter.addRing(1, ring);
  new BatchWriter(ring).push(batchOf(), 10);
  await until(() => collector.requests.length >= 3);
  expect(exporter.state).toMatchObject({
    failed: 10,
    problem: expect.stringMatching(/^the collector answers 404: /),
  });
  collector.behave((response) => void response.writeHead(200).end());
  await until(() => exporter.state.problem === '');
  const { length } = collector.requests;
  await exporter.finish();
  expect(collector.requests.slice(0, length).at(-1)?.bytes).toBeLessThan(200);
  expect(exporter.state).toMatchObject({ exported: 0, failed: 10, dropped: 0 });
  connection.close();
});

it('sends nothing for as long as the collector asks, and then what it had sent, once more', async () => {
  const { exporter, connection } = await start(500);
  const waits: number[] = [];
  let askedMs = 0;
  collector.behave((response) => {
    if (askedMs > 0) waits.push(performance.now() - askedMs);
    else askedMs = performance.now();
    const isFirst = waits.length === 0;
    response.writeHead(isFirst ? 429 : 200, isFirst ? { 'Retry-After': '2' } : {}).end();
  });
  const ring = createBatchRing(RING_BYTES);
  exporter.addRing(1, ring);
  const writer = new BatchWriter(ring);
  writer.push(batchOf(), 10);
  await until(() => exporter.state.problem !== '');
  expect(exporter.state.problem).toBe('the collector answers 429: it asks to wait 2 s');
  writer.push(batchOf(), 10);
  await until(() => exporter.state.exported === 20);
  await exporter.finish();
  expect(waits[0]).toBeGreaterThan(1_900);
  expect(exporter.state).toMatchObject({ exported: 20, failed: 0, dropped: 0, problem: '' });
  connection.close();
});

describe('what a collector asks to send later', () => {
  const askLater = (response: ServerResponse): void =>
    void response.writeHead(503, { 'Retry-After': '1' }).end();

  it('is given up after one more try', async () => {
    const { exporter, connection } = await start(200);
    collector.behave(askLater);
    const ring = createBatchRing(RING_BYTES);
    exporter.addRing(1, ring);
    new BatchWriter(ring).push(batchOf(), 10);
    await until(() => exporter.state.failed > 0);
    expect(collector.requests).toHaveLength(2);
    expect([queuedBytes(ring), exporter.state]).toMatchObject([0, { failed: 10, exported: 0 }]);
    await exporter.finish();
    connection.close();
  });

  it('is lost at once where the room is needed', async () => {
    const { exporter, connection } = await start(200);
    collector.behave(askLater);
    const ring = createBatchRing(RING_BYTES);
    const writer = new BatchWriter(ring);
    for (let bytes = 0; bytes < RING_BYTES / 3; bytes += BATCH) writer.push(batchOf(), 10);
    exporter.addRing(1, ring);
    await until(() => exporter.state.failed > 0);
    expect(collector.requests).toHaveLength(1);
    await exporter.finish();
    connection.close();
  });

  it('is tried once more when the gateway stops, without the wait', async () => {
    const { exporter, connection } = await start(5_000);
    collector.behave((response) => void response.writeHead(503, { 'Retry-After': '120' }).end());
    const ring = createBatchRing(RING_BYTES);
    exporter.addRing(1, ring);
    new BatchWriter(ring).push(batchOf(), 10);
    await until(() => exporter.state.problem !== '');
    expect(queuedBytes(ring)).toBeGreaterThan(0);
    collector.behave(undefined);
    await exporter.finish();
    expect([queuedBytes(ring), exporter.state]).toMatchObject([0, { failed: 0, exported: 10 }]);
    connection.close();
  });
});

it('leaves what it sends in the ring until the collector has it, so that another thread can send it', async () => {
  const { exporter, connection } = await start(60_000);
  collector.behave(() => undefined);
  const ring = createBatchRing(RING_BYTES);
  exporter.addRing(1, ring);
  new BatchWriter(ring).push(batchOf(), 10);
  await until(() => collector.requests.length === 1);
  const hanging = collector;
  // As if the thread had died now.
  const next = await start();
  next.exporter.addRing(1, ring);
  await next.exporter.finish();
  expect(next.exporter.state).toMatchObject({ exported: 10, failed: 0, dropped: 0 });
  expect(queuedBytes(ring)).toBe(0);
  connection.close();
  next.connection.close();
  await hanging.close();
});

describe('rings of workers that have ended', () => {
  it('are exported and given back; of too many the oldest is given up and counted', async () => {
    const { exporter, done, connection } = await start(1_000);
    collector.behave(() => undefined);
    for (const id of [1, 2, 3]) {
      const ring = createBatchRing(RING_BYTES);
      exporter.addRing(id, ring);
      new BatchWriter(ring).push(batchOf(), 10);
      if (id === 1) await until(() => collector.requests.length === 1);
    }
    for (const id of [1, 2, 3]) exporter.endRing(id);
    // The first is empty, as its batch is under way; of the others one is too many.
    expect(exporter.state.dropped).toBe(10);
    await collector.close();
    await exporter.finish();
    expect(new Set(done)).toEqual(new Set([1, 2, 3]));
    expect(exporter.state).toMatchObject({ dropped: 10, failed: 20 });
    connection.close();
  });
});
