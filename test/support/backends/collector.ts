/**
 * A collector of traces, metrics and logs: takes OTLP over HTTP and keeps what it got, decoded by a library of others
 * with the messages of opentelemetry-proto 1.x (the fields that are needed here).
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';

/** What all signals have. */
const COMMON = `
  syntax = "proto3";
  message Resource { repeated KeyValue attributes = 1; }
  message Scope { string name = 1; string version = 2; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
`;
const { root } = protobuf.parse(`${COMMON}
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
  message ScopeSpans { Scope scope = 1; repeated Span spans = 2; string schema_url = 3; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5;
    int32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9; repeated Event events = 11; Status status = 15; fixed32 flags = 16;
  }
  message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
  message Status { string message = 2; int32 code = 3; }
`);
const RequestType = root.lookupType('Request');
const { root: metricsRoot } = protobuf.parse(`${COMMON}
  message Request { repeated ResourceMetrics resource_metrics = 1; }
  message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; string schema_url = 3; }
  message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; string schema_url = 3; }
  message Metric { string name = 1; string description = 2; string unit = 3; Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; }
  message Gauge { repeated Number data_points = 1; }
  message Sum { repeated Number data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
  message Histogram { repeated HistogramPoint data_points = 1; int32 aggregation_temporality = 2; }
  message Number { repeated KeyValue attributes = 7; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; double as_double = 4; }
  message HistogramPoint {
    repeated KeyValue attributes = 9; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; fixed64 count = 4;
    double sum = 5; repeated fixed64 bucket_counts = 6; repeated double explicit_bounds = 7;
  }
`);
const MetricsType = metricsRoot.lookupType('Request');
const { root: logsRoot } = protobuf.parse(`${COMMON}
  message Request { repeated ResourceLogs resource_logs = 1; }
  message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; string schema_url = 3; }
  message ScopeLogs { Scope scope = 1; repeated LogRecord log_records = 2; string schema_url = 3; }
  message LogRecord {
    fixed64 time_unix_nano = 1; int32 severity_number = 2; string severity_text = 3; AnyValue body = 5;
    repeated KeyValue attributes = 6; uint32 dropped_attributes_count = 7; fixed32 flags = 8; bytes trace_id = 9;
    bytes span_id = 10; fixed64 observed_time_unix_nano = 11; string event_name = 12;
  }
`);
const LogsType = logsRoot.lookupType('Request');

export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** '' at the root. */
  readonly parentId: string;
  readonly name: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  /** Unix milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly events: readonly {
    readonly name: string;
    readonly atMs: number;
    readonly attributes: Attributes;
  }[];
  /** 2: error, 0: not set. */
  readonly status: number;
  /** Of the service. */
  readonly resource: Attributes;
}

/** A point of a metric. */
export interface MetricPoint {
  readonly name: string;
  readonly unit: string;
  readonly kind: 'gauge' | 'sum' | 'histogram';
  /** Unix milliseconds. */
  readonly startMs: number;
  readonly atMs: number;
  /** Of a histogram: its count. */
  readonly value: number;
  readonly sum: number | undefined;
  readonly buckets: readonly number[];
  readonly bounds: readonly number[];
  readonly attributes: Attributes;
  /** 1: delta, 2: cumulative. */
  readonly temporality: number | undefined;
  readonly isMonotonic: boolean | undefined;
  readonly resource: Attributes;
}

/** A line of a log. */
export interface LogRecord {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly observedMs: number;
  readonly severity: number;
  readonly severityText: string;
  readonly body: string;
  /** '' for none, as below. */
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: Attributes;
  readonly resource: Attributes;
}

export interface CollectorRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: number;
}

export interface TestCollector {
  readonly url: string;
  readonly port: number;
  readonly spans: Span[];
  readonly points: MetricPoint[];
  readonly records: LogRecord[];
  readonly requests: CollectorRequest[];
  /** What it does from now on; it takes everything at first, and where nothing is given. */
  behave(answer: ((response: ServerResponse) => void) | undefined): void;
  close(): Promise<void>;
}

const taken = (response: ServerResponse): void => void response.writeHead(200).end();

export async function startCollector(): Promise<TestCollector> {
  const spans: Span[] = [];
  const points: MetricPoint[] = [];
  const records: LogRecord[] = [];
  const requests: CollectorRequest[] = [];
  let answer = taken;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const plain = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
      requests.push({ path: request.url ?? '', headers: request.headers, bytes: body.length });
      // A collector that refuses has not taken anything.
      if (answer === taken && request.url?.endsWith('/metrics') === true)
        points.push(...decodeMetrics(plain));
      else if (answer === taken && request.url?.endsWith('/logs') === true)
        records.push(...decodeLogs(plain));
      else if (answer === taken) spans.push(...decodeSpans(plain));
      answer(response);
    });
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    spans,
    points,
    records,
    requests,
    behave: (next) => (answer = next ?? taken),
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => void server.close(done));
    },
  };
}

interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, string | number | boolean>>;
}

/** @throws Error if the bytes are no such request */
export function decodeSpans(bytes: Uint8Array): Span[] {
  const options = { longs: Number, defaults: true, oneofs: false } as const;
  const decoded = RequestType.toObject(RequestType.decode(bytes), { ...options, bytes: Array });
  // oxlint-disable-next-line typescript/no-explicit-any -- as the library gives it
  return (decoded['resourceSpans'] as any[]).flatMap(({ resource, scopeSpans }) =>
    // oxlint-disable-next-line typescript/no-explicit-any -- as above
    (scopeSpans as any[]).flatMap(({ spans }) =>
      // oxlint-disable-next-line typescript/no-explicit-any -- as above
      (spans as any[]).map((span) => ({
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentId: hex(span.parentSpanId),
        name: span.name,
        kind: span.kind,
        startMs: span.startTimeUnixNano / 1e6,
        endMs: span.endTimeUnixNano / 1e6,
        attributes: attributesOf(span.attributes),
        // oxlint-disable-next-line typescript/no-explicit-any -- as above
        events: (span.events as any[]).map(({ name, timeUnixNano, attributes }) => ({
          name,
          atMs: timeUnixNano / 1e6,
          attributes: attributesOf(attributes),
        })),
        status: span.status?.code ?? 0,
        resource: attributesOf(resource.attributes),
      })),
    ),
  );
}

/** @throws Error if the bytes are no such request */
export function decodeMetrics(bytes: Uint8Array): MetricPoint[] {
  const decoded = MetricsType.toObject(MetricsType.decode(bytes), {
    longs: Number,
    defaults: true,
    arrays: true,
  });
  // oxlint-disable-next-line typescript/no-explicit-any -- as the library gives it
  return (decoded['resourceMetrics'] as any[]).flatMap(({ resource, scopeMetrics }) =>
    // oxlint-disable-next-line typescript/no-explicit-any -- as above
    (scopeMetrics as any[]).flatMap(({ metrics }) =>
      // oxlint-disable-next-line typescript/no-explicit-any -- as above
      (metrics as any[]).flatMap(({ name, unit, gauge, sum, histogram }) => {
        const data = gauge ?? sum ?? histogram;
        // oxlint-disable-next-line typescript/no-explicit-any -- as above
        return (data.dataPoints as any[]).map((point) => ({
          name,
          unit,
          kind: gauge ? ('gauge' as const) : sum ? ('sum' as const) : ('histogram' as const),
          startMs: point.startTimeUnixNano / 1e6,
          atMs: point.timeUnixNano / 1e6,
          value: point.asDouble ?? point.count,
          sum: point.sum,
          buckets: point.bucketCounts ?? [],
          bounds: point.explicitBounds ?? [],
          attributes: attributesOf(point.attributes),
          temporality: data.aggregationTemporality,
          isMonotonic: data.isMonotonic,
          resource: attributesOf(resource.attributes),
        }));
      }),
    ),
  );
}

/** @throws Error if the bytes are no such request */
export function decodeLogs(bytes: Uint8Array): LogRecord[] {
  const options = { longs: Number, defaults: true, arrays: true, bytes: Array } as const;
  const decoded = LogsType.toObject(LogsType.decode(bytes), options);
  // oxlint-disable-next-line typescript/no-explicit-any -- as the library gives it
  return (decoded['resourceLogs'] as any[]).flatMap(({ resource, scopeLogs }) =>
    // oxlint-disable-next-line typescript/no-explicit-any -- as above
    (scopeLogs as any[]).flatMap(({ logRecords }) =>
      // oxlint-disable-next-line typescript/no-explicit-any -- as above
      (logRecords as any[]).map((record) => ({
        atMs: record.timeUnixNano / 1e6,
        observedMs: record.observedTimeUnixNano / 1e6,
        severity: record.severityNumber,
        severityText: record.severityText,
        body: record.body.stringValue,
        traceId: hex(record.traceId),
        spanId: hex(record.spanId),
        attributes: attributesOf(record.attributes),
        resource: attributesOf(resource.attributes),
      })),
    ),
  );
}

function attributesOf(list: readonly KeyValue[]): Attributes {
  return Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0] ?? '']));
}

const hex = (bytes: readonly number[]): string => Buffer.from(bytes).toString('hex');
