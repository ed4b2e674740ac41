/**
 * Metrics as OTLP (opentelemetry/proto/metrics/v1/metrics.proto, 1.x): counters as sums, gauges, and histograms with
 * their buckets. Split into several requests if there are many.
 */
import { writeRequest, type Origin } from '../export/export-request.ts';
import { writeAttribute } from '../otlp/attributes.ts';
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';
import { isDelta, type Temporality } from './metric-deltas.ts';
import type { Family, HistogramPoint, Point } from './metric-families.ts';
import { attributeName, metricName, type MetricName } from './metric-names.ts';

/** The number of the field in ScopeMetrics. */
const METRICS_FIELD = 2;
const METRIC = { name: 1, description: 2, unit: 3, gauge: 5, sum: 7, histogram: 9 } as const;
const DATA = { points: 1, temporality: 2, isMonotonic: 3 } as const;
const TEMPORALITY = { delta: 1, cumulative: 2 } as const;
const NUMBER = { start: 2, time: 3, double: 4, attributes: 7 } as const;
const HISTOGRAM = { start: 2, time: 3, count: 4, sum: 5, buckets: 6, bounds: 7, attributes: 9 } as const;
const STATUS_CODE = 'http.response.status_code';
/** Size at which a request is ended; the families written last may exceed it. */
const REQUEST_BYTES = 524_288;
const POINTS_AT_ONCE = 500;

export interface Times {
  /** Unix milliseconds. */
  readonly startMs: number;
  readonly nowMs: number;
}

export interface MetricRequest {
  readonly body: Uint8Array;
  readonly points: number;
  /** The families in the request. */
  readonly families: readonly Family[];
}

export function metricRequests(
  families: readonly Family[],
  origin: Origin,
  times: Times,
  temporality: Temporality,
): MetricRequest[] {
  const requests: MetricRequest[] = [];
  const parts = families.flatMap(partsOf);
  let next = 0;
  while (next < parts.length) {
    const writer = new ProtobufWriter();
    const written: Family[] = [];
    writeRequest(writer, origin, () => {
      while (next < parts.length && writer.length < REQUEST_BYTES) {
        const part = parts[next++] as Part;
        writeMetric(writer, part, times, isDelta(temporality, part.family) ? 'delta' : 'cumulative');
        written.push(part.family);
      }
    });
    const points = written.reduce((sum, family) => sum + family.points.length, 0);
    requests.push({ body: writer.bytes, points, families: written });
  }
  return requests;
}

interface Part {
  readonly family: Family;
  readonly names: MetricName;
}

function partsOf(family: Family): Part[] {
  const names = metricName(family.name);
  if (names === undefined) return [];
  const parts: Part[] = [];
  for (let start = 0; start < family.points.length; start += POINTS_AT_ONCE) {
    const points = family.points.slice(start, start + POINTS_AT_ONCE);
    parts.push({ family: { ...family, points } as Family, names });
  }
  return parts;
}

function writeMetric(
  writer: ProtobufWriter,
  { family, names }: Part,
  times: Times,
  temporality: keyof typeof TEMPORALITY,
): void {
  const metric = writer.begin(METRICS_FIELD);
  writer.string(METRIC.name, names.name);
  writer.string(METRIC.description, family.help);
  if (names.unit !== '') writer.string(METRIC.unit, names.unit);
  const kind = { counter: METRIC.sum, gauge: METRIC.gauge, histogram: METRIC.histogram }[family.type];
  const data = writer.begin(kind);
  if (family.type === 'histogram')
    for (const point of family.points) writeHistogram(writer, point, names, times);
  else for (const point of family.points) writeNumber(writer, point, names, times, family.type === 'counter');
  if (family.type !== 'gauge') writer.varint(DATA.temporality, TEMPORALITY[temporality]);
  if (family.type === 'counter') writer.boolean(DATA.isMonotonic, true);
  writer.end(data);
  writer.end(metric);
}

function writeNumber(
  writer: ProtobufWriter,
  { labels, value, startMs }: Point,
  names: MetricName,
  times: Times,
  isCounter: boolean,
): void {
  const start = writer.begin(DATA.points);
  if (isCounter) writer.nanoseconds(NUMBER.start, startMs ?? times.startMs);
  writer.nanoseconds(NUMBER.time, times.nowMs);
  writer.double(NUMBER.double, value);
  writeLabels(writer, NUMBER.attributes, labels, names);
  writer.end(start);
}

function writeHistogram(
  writer: ProtobufWriter,
  { labels, bounds, counts, sum, startMs }: HistogramPoint,
  names: MetricName,
  times: Times,
): void {
  const start = writer.begin(DATA.points);
  writer.nanoseconds(HISTOGRAM.start, startMs ?? times.startMs);
  writer.nanoseconds(HISTOGRAM.time, times.nowMs);
  writer.fixed64(
    HISTOGRAM.count,
    counts.reduce((total, count) => total + count, 0),
  );
  writer.double(HISTOGRAM.sum, sum);
  const buckets = Buffer.alloc(8 * counts.length);
  counts.forEach((count, index) => buckets.writeBigUInt64LE(BigInt(count), 8 * index));
  writer.delimited(HISTOGRAM.buckets, buckets);
  const limits = Buffer.alloc(8 * bounds.length);
  bounds.forEach((bound, index) => limits.writeDoubleLE(bound, 8 * index));
  writer.delimited(HISTOGRAM.bounds, limits);
  writeLabels(writer, HISTOGRAM.attributes, labels, names);
  writer.end(start);
}

function writeLabels(
  writer: ProtobufWriter,
  field: number,
  labels: Point['labels'],
  { attributes }: MetricName,
): void {
  for (const [name, value] of Object.entries(attributes)) writeAttribute(writer, field, name, value);
  for (const [label, value] of labels) {
    const name = attributeName(label);
    writeAttribute(writer, field, name, name === STATUS_CODE ? Number(value) || 0 : value);
  }
}
