import { expect, it } from 'vitest';
import { decodeLogs, type LogRecord } from '../../../test/support/backends/collector.ts';
import { createLogger } from '../../observe/log.ts';
import { writeRequest } from '../export/export-request.ts';
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import { BatchReader, droppedItems } from '../ring/batch-ring.ts';
import { createLogRing, createLogTap } from './log-tap.ts';
import { writeLogRecord } from './log-records.ts';

const NOW_MS = 1_767_225_600_123;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

function decoded(lines: readonly string[], nowMs = NOW_MS): LogRecord[] {
  const writer = new ProtobufWriter();
  writeRequest(writer, { resource: { 'service.name': 'edge' }, version: '1' }, () => {
    for (const line of lines) writeLogRecord(writer, line, nowMs);
  });
  return decodeLogs(writer.bytes);
}

it('has time, severity, message, ids of the trace and attributes of every kind', () => {
  const line = {
    level: 'warn',
    time: new Date(NOW_MS - 5).toISOString(),
    worker: 2,
    request_id: 'r-1',
    trace_id: TRACE,
    span_id: SPAN,
    app: 'shop',
    ok: true,
    share: 0.5,
    behind: -3,
    list: ['a', { b: 1 }],
    none: null,
    msg: 'größer',
  };
  expect(decoded([JSON.stringify(line)])).toEqual([
    {
      atMs: expect.closeTo(NOW_MS - 5, 2) as number,
      observedMs: expect.closeTo(NOW_MS, 2) as number,
      severity: 13,
      severityText: 'warn',
      body: 'größer',
      traceId: TRACE,
      spanId: SPAN,
      attributes: {
        'headgate.worker': 2,
        'headgate.request_id': 'r-1',
        'headgate.app': 'shop',
        'headgate.ok': true,
        'headgate.share': 0.5,
        'headgate.behind': -3,
        'headgate.list': '["a",{"b":1}]',
      },
      resource: { 'service.name': 'edge' },
    },
  ]);
});

it('has errors by the names of the conventions, and secrets masked as in the log', () => {
  const lines: string[] = [];
  const log = createLogger({
    level: 'trace',
    format: 'text',
    output: { write: () => undefined },
    clock: { nowMs: () => NOW_MS, monotonicMs: () => 0 },
    onLine: (line) => void lines.push(line),
  });
  const refused = Object.assign(new Error('to postgres://root:hunter2@db/x'), { code: 'ECONNREFUSED' });
  log.fatal({ err: refused, token: 'hunter2' }, 'Bearer hunter2hunter2');
  log.trace({ err: new Error('defect') }, 'x');
  const [fatal, trace] = decoded(lines);
  expect(fatal).toMatchObject({
    severity: 21,
    body: 'Bearer ***',
    attributes: {
      'exception.type': 'Error',
      'exception.message': 'to postgres://***@db/x',
      'error.type': 'ECONNREFUSED',
      'headgate.token': '[redacted]',
    },
  });
  expect(trace).toMatchObject({ severity: 1, attributes: { 'exception.stacktrace': expect.any(String) } });
});

it('takes what is no such line, and lines of any size', () => {
  const many = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`f${index}`, '€'.repeat(9_000)]),
  );
  const wrong = { trace_id: 'x', msg: { a: 1 }, time: 'never', level: 7 };
  const [plain, odd, large] = decoded([
    'no JSON\n',
    JSON.stringify(wrong),
    JSON.stringify({ ...many, msg: 'x'.repeat(1_000_000) }),
  ]);
  expect(plain).toMatchObject({ atMs: expect.closeTo(NOW_MS, 2), severity: 0, body: 'no JSON' });
  expect(odd).toMatchObject({
    atMs: expect.closeTo(NOW_MS, 2),
    body: '{"a":1}',
    traceId: '',
    attributes: { 'headgate.trace_id': 'x' },
  });
  expect(large?.body).toHaveLength(16_384);
  expect(Object.keys(large?.attributes ?? {})).toHaveLength(32);
  expect(String(large?.attributes['headgate.f0'])).toMatch(/^€{4093}\.{3}$/);
});

it('drops and counts lines without room, asks to be read, and never waits', () => {
  const ring = createLogRing();
  let asked = 0;
  const tap = createLogTap(ring, { nowMs: () => NOW_MS }, () => asked++);
  const line = JSON.stringify({
    level: 'info',
    time: new Date(NOW_MS).toISOString(),
    msg: 'm'.repeat(1_000),
  });
  for (let count = 0; count < 2_000; count++) tap(line);
  const dropped = droppedItems(ring);
  expect(dropped).toBeGreaterThan(900);
  expect(asked).toBe(1);
  expect(new BatchReader(ring).take(Infinity, () => undefined).items).toBe(2_000 - dropped);
});
