/** The recorder's bounds, with a clock that the test moves and the engine on a socket without a network. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Connection } from '../../../src/proxy/downstream/connection.ts';
import type { ProxyContext } from '../../../src/proxy/interfaces/proxy-context.ts';
import { ExchangeRecorder, RECORDS_MAX, RECORDS_PER_SECOND_MAX } from '../../../src/explain/recorder.ts';
import { ExplainSocket } from '../../../src/explain/described-socket.ts';
import type { Explanation } from '../../../src/explain/schema.ts';
import { heapBytes } from '../../support/measure/garbage.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';

const SETTINGS = { globals: undefined, perIp: undefined, authFailuresPerMinute: 0 };

let proxy: TestProxy;
let recorder: ExchangeRecorder;
let nowMs: number;
/** From the beginning of an exchange to its end. */
let tookMs: number;
let lastId: string;

beforeAll(async () => {
  const policy = { allowed_methods: ['PUT'] };
  proxy = await startProxy(oneRoute({ backendPort: 1, policy, endpoints: [{ path: '/u/{id}' }] }));
});
afterAll(() => proxy.close());
beforeEach(() => {
  recorder = new ExchangeRecorder();
  nowMs = 1_767_225_600_000;
  tookMs = 0;
});

/** Sends one request that is refused with 405; its id is `lastId`. */
function refused(head = '', path = '/a/v1/x'): string {
  const context: ProxyContext = {
    ...proxy.context,
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
    observer: {
      ...proxy.context.observer,
      exchangeEnded: (exchange) => {
        lastId = exchange.requestId;
        nowMs += tookMs;
        recorder.record(exchange);
      },
    },
  };
  const socket = new ExplainSocket();
  void new Connection(socket, '127.0.0.1', false, context, () => undefined);
  socket.receive(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: h\r\n${head}\r\n`, 'latin1'));
  expect(socket.written).toMatch(/^HTTP\/1\.1 405 /);
  return lastId;
}

const LOOKUPS = { findKey: () => undefined, findAtAnyHost: () => undefined, findNear: () => undefined };
const explained = (id: string): Explanation | undefined =>
  recorder.explain({ requestId: id }, SETTINGS, LOOKUPS)?.explanation;

it('keeps the last thousand', () => {
  const ids: string[] = [];
  for (let count = 0; count < RECORDS_MAX + 10; count++) {
    nowMs += 10;
    ids.push(refused());
  }
  expect(ids.slice(0, 10).filter((id) => explained(id) !== undefined)).toEqual([]);
  expect(ids.slice(10).filter((id) => explained(id) === undefined)).toEqual([]);
});

it('shows when an exchange began, even if it took long', () => {
  tookMs = 90_000;
  expect(explained(refused())?.recorded_at).toBe('2026-01-01T00:00:00.000Z');
});

it('writes down no more than so many of an app in a second, however many are refused', () => {
  const first = Array.from({ length: RECORDS_PER_SECOND_MAX + 5 }, () => refused());
  expect(first.map((id) => explained(id) !== undefined).lastIndexOf(true)).toBe(
    (9 * RECORDS_PER_SECOND_MAX) / 10 - 1,
  );
  nowMs += 1_000;
  expect(explained(refused())?.code).toBe('method_not_allowed');
});

it('cuts what is long, and keeps forty fields', () => {
  const fields = Array.from(
    { length: 60 },
    (_, index) => `${index === 0 ? 'Accept' : `X-${index}`}: ${'v'.repeat(300)}\r\n`,
  ).join('');
  const headers = explained(refused(fields))?.request.headers ?? [];
  expect(headers).toHaveLength(40);
  expect(headers[1]).toEqual({ name: 'Accept', value: `${'v'.repeat(256)}...` });
});

it('keeps no request alive: of a large head only what it shows', () => {
  const [requests, headBytes] = [300, 16_000];
  const before = heapBytes();
  let id = '';
  for (let count = 0; count < requests; count++) {
    id = refused(`X-Pad: ${'v'.repeat(headBytes)}\r\n`, `/a/v1/u/${String(count).padStart(40, '0')}`);
  }
  expect(heapBytes() - before).toBeLessThan((requests * headBytes) / 2);
  expect(explained(id)?.endpoint?.parameters).toEqual({ id: '299'.padStart(40, '0') });
});

it('the latest of several exchanges with one id is found', () => {
  const id = refused();
  expect(explained(id)?.recorded_at).toBe('2026-01-01T00:00:00.000Z');
  expect(explained('unknown')).toBeUndefined();
});
