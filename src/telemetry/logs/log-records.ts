/**
 * Log lines as OTLP: LogRecord of opentelemetry/proto/logs/v1/logs.proto, 1.x. Takes lines as the logger has
 * finished them, with secrets masked.
 */
import { cut } from '../../observe/cut.ts';
import { attributeName } from '../metrics/metric-names.ts';
import { attributeKey, writeAttribute } from '../otlp/attributes.ts';
import type { ProtobufWriter } from '../otlp/protobuf-writer.ts';

/** The number of the field in ScopeLogs. */
const RECORDS = 2;
const RECORD = {
  time: 1,
  severity: 2,
  severityText: 3,
  body: 5,
  attributes: 6,
  traceId: 9,
  spanId: 10,
  observed: 11,
} as const;
const ANY_STRING = 1;
const ANY_DOUBLE = 4;
const ATTRIBUTE_VALUE = 2;
/** SeverityNumber: the lowest number of each range. */
const SEVERITIES: Readonly<Record<string, number>> = {
  trace: 1,
  debug: 5,
  info: 9,
  warn: 13,
  error: 17,
  fatal: 21,
};
const IDS = [
  ['trace_id', RECORD.traceId, /^[0-9a-f]{32}$/],
  ['span_id', RECORD.spanId, /^[0-9a-f]{16}$/],
] as const;
/** Limits of a record that keep it far below what a collector accepts in one request. */
const LONG_CHARS_MAX = 16_384;
const VALUE_CHARS_MAX = 4_096;
const ATTRIBUTES_MAX = 32;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Writes a line as a field of ScopeLogs.
 * @param line a JSON object with `time`, `level` and `msg`; any other text becomes the body of a record
 * @param nowMs Unix milliseconds, for a line without its time
 */
export function writeLogRecord(writer: ProtobufWriter, line: string, nowMs: number): void {
  const { time, level, msg, err, ...rest } = fieldsOf(line);
  const start = writer.begin(RECORDS);
  const parsedMs = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  writer.nanoseconds(RECORD.time, Number.isNaN(parsedMs) ? nowMs : parsedMs);
  writer.nanoseconds(RECORD.observed, nowMs);
  const word = typeof level === 'string' ? level : '';
  writer.varint(RECORD.severity, SEVERITIES[word] ?? 0);
  writer.string(RECORD.severityText, word);
  const body = writer.begin(RECORD.body);
  writer.string(ANY_STRING, cut(textOf(msg ?? ''), LONG_CHARS_MAX));
  writer.end(body);
  writeError(writer, err);
  const attributes = { ...rest };
  for (const [name, field, pattern] of IDS) {
    const id = attributes[name];
    if (typeof id !== 'string' || !pattern.test(id)) continue;
    writer.short(field, Buffer.from(id, 'hex'));
    delete attributes[name];
  }
  for (const [name, value] of Object.entries(attributes).slice(0, ATTRIBUTES_MAX))
    writeValue(writer, nameOf(name), value);
  writer.end(start);
}

function fieldsOf(line: string): Fields {
  try {
    const parsed = JSON.parse(line) as unknown;
    if (typeof parsed === 'object' && parsed !== null) return parsed as Fields;
  } catch {
    // Handled below.
  }
  return { msg: line.trimEnd() };
}

/** The name of the attribute for a field of the log. */
function nameOf(field: string): string {
  const known = attributeName(field);
  return known.includes('.') ? known : `headgate.${field}`;
}

/** Uses the names of the semantic conventions for exceptions. */
function writeError(writer: ProtobufWriter, err: unknown): void {
  if (err === undefined || err === null) return;
  if (typeof err !== 'object') return writeValue(writer, 'exception.message', err);
  const { type, message, stack, code } = err as Fields;
  writeValue(writer, 'exception.type', type);
  writeValue(writer, 'exception.message', message);
  if (typeof stack === 'string')
    writeAttribute(writer, RECORD.attributes, 'exception.stacktrace', cut(stack, LONG_CHARS_MAX));
  writeValue(writer, 'error.type', code);
}

function writeValue(writer: ProtobufWriter, name: string, value: unknown): void {
  if (value === undefined || value === null) return;
  if (typeof value === 'boolean' || (Number.isSafeInteger(value) && (value as number) >= 0))
    return writeAttribute(writer, RECORD.attributes, name, value as boolean | number);
  if (typeof value === 'number') return writeDouble(writer, name, value);
  writeAttribute(writer, RECORD.attributes, name, cut(textOf(value), VALUE_CHARS_MAX));
}

function writeDouble(writer: ProtobufWriter, name: string, value: number): void {
  const start = writer.begin(RECORD.attributes);
  writer.raw(attributeKey(name));
  const valueStart = writer.begin(ATTRIBUTE_VALUE);
  writer.double(ANY_DOUBLE, value);
  writer.end(valueStart);
  writer.end(start);
}

/** The value as text; lists and objects become JSON. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
