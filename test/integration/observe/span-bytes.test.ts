/**
 * Spans are written as bytes from what an exchange knows, with most of them kept from earlier ones. The twin makes
 * objects of the SDK from the same exchange, which the official serialiser writes: both must be read alike.
 */
import { Agent, createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { maskCredentials } from '../../../src/observe/log.ts';
import { TestKeys } from '../../../src/policy/test-fixtures.ts';
import type { ExchangeView } from '../../../src/proxy/interfaces/exchange-view.ts';
import type { ExchangeTrace } from '../../../src/proxy/tracing/exchange-trace.ts';
import { writeRequest } from '../../../src/telemetry/export/export-request.ts';
import { ProtobufWriter } from '../../../src/telemetry/otlp/protobuf-writer.ts';
import { ExchangeSpans } from '../../../src/telemetry/spans/exchange-spans.ts';
import { keptExchange, type KeptExchange } from '../../../src/telemetry/spans/kept-exchange.ts';
import { decodeSpans, type Span } from '../../support/backends/collector.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';

const EPOCH_MS = 1_790_000_000_000.25;
const ORIGIN = { resource: { 'service.name': 'edge' }, version: '1' };
const REQUESTS = 250;
const SERVER_ID = 'feedfacecafebeef';
type OfficialSpan = Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0][number];
type Attributes = Record<string, string | number | boolean | undefined>;

const segment = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9._-]{1,30}$/),
  fc.constantFrom('%E2%82%AC', 'a:b', 'eyJ', 'Jey', `hgk_${'x'.repeat(24)}`, 'n'.repeat(1_500)),
  fc.constantFrom('fail', 'reset', `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.${'s'.repeat(43)}`),
);
const hex = (length: number): fc.Arbitrary<string> => fc.stringMatching(new RegExp(`^[1-9a-f]{${length}}$`));
const sent = fc.record({
  method: fc.constantFrom('GET', 'GET', 'POST', 'DELETE', 'PURGE'),
  path: fc.array(segment, { maxLength: 3 }).map((parts) => ['/a/v1', ...parts].join('/')),
  agent: fc.constantFrom(
    undefined,
    'curl/8',
    'Bearer abcdefgh',
    'm\u00fcsli',
    'u'.repeat(120),
    'v'.repeat(400),
  ),
  host: fc.constantFrom('127.0.0.1', 'api.example:8443', '[::1]:80'),
  parent: fc.option(fc.tuple(hex(32), hex(16)).map(([trace, span]) => `00-${trace}-${span}-01`)),
  hasKey: fc.boolean(),
});

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 3)}...` : text;
const time = (ms: number): [number, number] => [
  Math.floor((EPOCH_MS + ms) / 1_000),
  Math.round(((EPOCH_MS + ms) % 1_000) * 1e6),
];

/** The SDK drops what has no value. */
const defined = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));

interface SpanFacts {
  readonly ids: readonly [trace: string, span: string, parent: string | undefined];
  readonly name: string;
  /** As the API has it. */
  readonly kind: 1 | 2;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly isError: boolean;
  readonly events?: readonly {
    readonly name: string;
    readonly atMs: number;
    readonly attributes: Attributes;
  }[];
}

function officialSpan({
  ids,
  name,
  kind,
  startMs,
  endMs,
  attributes,
  isError,
  events = [],
}: SpanFacts): OfficialSpan {
  const [traceId, spanId, parentId] = ids;
  return {
    name,
    kind,
    spanContext: () => ({ traceId, spanId, traceFlags: 1 }),
    ...(parentId !== undefined && { parentSpanContext: { traceId, spanId: parentId, traceFlags: 1 } }),
    startTime: time(startMs),
    endTime: time(endMs),
    status: { code: isError ? 2 : 0 },
    attributes: defined(attributes),
    links: [],
    events: events.map((event) => ({
      name: event.name,
      time: time(event.atMs),
      attributes: event.attributes,
    })),
    duration: [0, 0],
    ended: true,
    resource: { attributes: ORIGIN.resource } as unknown as OfficialSpan['resource'],
    instrumentationScope: { name: 'headgate', version: ORIGIN.version },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

function twinOf(exchange: ExchangeView, trace: ExchangeTrace, serverId: string): OfficialSpan[] {
  const { route, status, startedMs, evaluation, connection, errorCode, retries } = exchange;
  const endMs = startedMs + exchange.durationMs;
  const method = exchange.method === 'PURGE' ? '_OTHER' : exchange.method;
  const agent = connection.head.get('user-agent');
  const [host = '', port] = connection.head.host.split(/:(?=\d+$)/);
  const parent = trace.isContinued ? connection.head.get('traceparent')?.split('-')[2] : undefined;
  const { caller, limit, deniedBy, shadowDenials = [] } = evaluation;
  const decidedMs = trace.attempts[0]?.startedMs ?? endMs;
  const isKnown = caller.kind !== 'anonymous';
  const server = officialSpan({
    ids: [trace.traceId, serverId, parent],
    name: route === undefined ? method : `${method} ${route.template}`,
    kind: 1,
    startMs: startedMs,
    endMs,
    isError: status >= 500,
    attributes: {
      'http.route': route?.template,
      'headgate.app': route?.version.app.slug,
      'headgate.version': route?.version.label,
      'headgate.revision': route?.revision.label,
      'headgate.revision_id': route?.revision.id,
      'http.request.method': method,
      'http.response.status_code': status,
      'network.protocol.name': 'http',
      'network.protocol.version': '1.1',
      'url.scheme': 'http',
      'error.type': status >= 500 ? (errorCode ?? String(status)) : undefined,
      'headgate.error_code': errorCode,
      'headgate.config_version': exchange.configVersion,
      'server.address': host,
      'server.port': port === undefined ? undefined : Number(port),
      'headgate.caller.kind': isKnown ? caller.kind : undefined,
      'headgate.caller.id': isKnown ? caller.id : undefined,
      'url.path': maskCredentials(cut(exchange.path, 1_024)),
      'client.address': '127.0.0.1',
      'headgate.request_id': exchange.requestId,
      'user_agent.original': agent === undefined ? undefined : maskCredentials(cut(agent, 256)),
      'http.request.method_original': method === '_OTHER' ? exchange.method : undefined,
      'headgate.retries': retries > 0 ? retries : undefined,
    },
    events: [
      ...(limit === undefined
        ? []
        : [
            {
              name: 'headgate.rate_limit',
              atMs: decidedMs,
              attributes: {
                'headgate.limit': limit.limit,
                'headgate.limit.admitted': limit.admitted,
                'headgate.limit.remaining': Math.max(0, limit.remaining),
              },
            },
          ]),
      ...shadowDenials.map(({ part, denial }) => ({
        name: 'headgate.would_deny',
        atMs: decidedMs,
        attributes: { 'headgate.part': part, 'headgate.error_code': denial.kind.code },
      })),
      ...(errorCode === undefined || deniedBy === undefined
        ? []
        : [
            {
              name: 'headgate.denied',
              atMs: endMs,
              attributes: { 'headgate.part': deniedBy, 'headgate.error_code': errorCode },
            },
          ]),
    ],
  });
  const clients = trace.attempts.map((attempt, index) => {
    const error = attempt.failure || (attempt.status >= 400 ? String(attempt.status) : undefined);
    const path = exchange.path.slice('/a/v1'.length) || '/';
    return officialSpan({
      ids: [trace.traceId, attempt.traceparent.split('-')[2] ?? '', serverId],
      name: method,
      kind: 2,
      startMs: attempt.startedMs,
      endMs: Math.max(attempt.startedMs, attempt.failedMs ?? endMs),
      isError: error !== undefined,
      attributes: {
        'http.request.method': method,
        'server.address': '127.0.0.1',
        'server.port': Number(attempt.target.split(':')[1]),
        'http.response.status_code': attempt.status === 0 ? undefined : attempt.status,
        'network.protocol.version': attempt.failedMs === undefined ? '1.1' : undefined,
        'error.type': error,
        'url.full': `http://${attempt.target}${maskCredentials(cut(path, 1_024))}`,
        'http.request.resend_count': index > 0 ? index : undefined,
      },
    });
  });
  return [server, ...clients];
}

/** Its own id, or that of its parent, is drawn when the spans are written. */
const underServer = (span: Span, serverId: string | undefined): Span => ({
  ...span,
  ...(span.spanId === serverId && { spanId: SERVER_ID }),
  ...(span.parentId === serverId && { parentId: SERVER_ID }),
});

/** Times apart, which the two round in different ways. */
const untimed = ({ startMs: _start, endMs: _end, events, ...span }: Span): object => ({
  ...span,
  events: events.map(({ atMs: _at, ...event }) => event),
});
const times = ({ startMs, endMs, events }: Span): number[] => [
  startMs,
  endMs,
  ...events.map(({ atMs }) => atMs),
];

it('are read as those that the official serialiser writes', async () => {
  const backend = createServer((request, response) => {
    if (request.url?.endsWith('/reset') === true) request.socket.destroy();
    else response.writeHead(request.url?.endsWith('/fail') === true ? 503 : 200).end();
  });
  await new Promise<void>((done) => void backend.listen(0, '127.0.0.1', done));
  const { token, key } = new TestKeys().create({ app_id: 'app-1' });
  const spans = new ExchangeSpans();
  const writer = new ProtobufWriter();
  const ended: { readonly kept: KeptExchange; readonly twin: Span[] }[] = [];
  const setup = {
    backendPort: (backend.address() as AddressInfo).port,
    keys: [key],
    policy: {
      auth: { auth_type: 'api_key' as const },
      rate_limit: { enabled: true, requests: 90, window_seconds: 3_600 },
      retries: { max: 2, on: ['reset' as const] },
      allowed_methods: ['GET' as const, 'DELETE' as const],
      shadow: ['allowed_methods' as const],
    },
  };
  const proxy = await startProxy(oneRoute(setup), {
    tracing: { samples: () => ended.length % 3 > 0 },
    observer: {
      exchangeEnded: (exchange) => {
        const trace = exchange.traced();
        if (trace === undefined) return;
        const twin = twinOf(exchange, trace, SERVER_ID);
        const bytes = ProtobufTraceSerializer.serializeRequest(twin) ?? new Uint8Array();
        ended.push({ kept: keptExchange(exchange, trace), twin: decodeSpans(bytes) });
      },
    },
  });
  const agent = new Agent({ keepAlive: true });
  const headersOf = (each: (typeof all)[number]): Record<string, string> => ({
    host: each.host,
    ...(each.agent !== undefined && { 'user-agent': each.agent }),
    ...(each.parent !== null && { traceparent: each.parent }),
    ...(each.hasKey && { authorization: `Bearer ${token}` }),
  });
  const all = fc.sample(sent, { numRuns: REQUESTS, seed: 20_261_123 });
  for (const each of all) {
    await new Promise((done, fail) => {
      const options = {
        port: proxy.port,
        method: each.method,
        path: each.path,
        headers: headersOf(each),
        agent,
      };
      const request = httpRequest(options, (response) => response.resume().on('end', done));
      request.on('error', fail).end();
    });
  }
  expect(ended).toHaveLength(REQUESTS);
  // Only now, when the connections have long served other requests.
  const pairs = ended.map(({ kept, twin }) => {
    writer.clear();
    const count = writeRequest(writer, ORIGIN, () => spans.write(writer, kept, EPOCH_MS));
    const ours = decodeSpans(writer.bytes);
    return { ours: ours.map((span) => underServer(span, ours[0]?.spanId)), twin, count };
  });
  for (const { ours, twin, count } of pairs) {
    expect(count).toBe(ours.length);
    expect(ours.map(untimed)).toEqual(twin.map(untimed));
    ours
      .flatMap(times)
      .forEach((ms, index) => expect(Math.abs(ms - (twin.flatMap(times)[index] ?? 0))).toBeLessThan(0.002));
  }
  // All kinds were there.
  const lengths = new Set(pairs.map(({ ours }) => ours.length));
  expect([...lengths].toSorted((a, b) => a - b)).toEqual([1, 2, 4]);
  const events = new Set(
    pairs.flatMap(({ ours }) => ours.flatMap((span) => span.events.map(({ name }) => name))),
  );
  expect(events).toEqual(new Set(['headgate.rate_limit', 'headgate.would_deny', 'headgate.denied']));
  agent.destroy();
  await proxy.close();
  backend.close();
});
