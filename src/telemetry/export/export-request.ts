/** The body of an export: ExportTraceServiceRequest of opentelemetry/proto/collector/trace/v1, 1.x. */
import { writeAttribute } from '../otlp/attributes.ts';
import { ProtobufWriter } from '../otlp/protobuf-writer.ts';

const RESOURCE_SPANS = 1;
const FIELD = { resource: 1, scopeSpans: 2, schemaUrl: 3 } as const;
const RESOURCE_ATTRIBUTES = 1;
const SCOPE = { scope: 1, name: 1, version: 2 } as const;
const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.45.0';

export interface Origin {
  readonly resource: Readonly<Record<string, string>>;
  /** Version of this program. */
  readonly version: string;
}

/**
 * Writes a request. Metrics and logs have messages with the same fields.
 * @param writeRecords writes fields of ScopeSpans
 * @throws RangeError beyond 2 MiB
 */
export function writeRequest<T>(writer: ProtobufWriter, origin: Origin, writeRecords: () => T): T {
  const { resource, scope, schema } = blocksOf(origin);
  const resourceSpans = writer.begin(RESOURCE_SPANS);
  writer.raw(resource);
  const scopeSpans = writer.begin(FIELD.scopeSpans);
  writer.raw(scope);
  const written = writeRecords();
  writer.raw(schema);
  writer.end(scopeSpans);
  writer.raw(schema);
  writer.end(resourceSpans);
  return written;
}

/**
 * Begins a request whose records are written later.
 * @param recordsBytes length of all records together
 * @returns the length of the request
 * @throws RangeError beyond 2 MiB
 */
export function beginRequest(writer: ProtobufWriter, origin: Origin, recordsBytes: number): number {
  const { resource, scope, schema } = blocksOf(origin);
  const resourceSpans = writer.begin(RESOURCE_SPANS);
  writer.raw(resource);
  const scopeSpans = writer.begin(FIELD.scopeSpans);
  writer.raw(scope);
  writer.end(scopeSpans, recordsBytes + schema.length);
  writer.end(resourceSpans, recordsBytes + 2 * schema.length);
  return writer.length + recordsBytes + 2 * schema.length;
}

/** Writes the end of the request, after the records. */
export function endRequest(writer: ProtobufWriter, origin: Origin): void {
  const { schema } = blocksOf(origin);
  writer.raw(schema);
  writer.raw(schema);
}

interface Blocks {
  readonly resource: Uint8Array;
  readonly scope: Uint8Array;
  /** The schema URL of the semantic conventions, as a field of each of the two messages. */
  readonly schema: Uint8Array;
}

/** Cached: the same in each request. */
const blocks = new WeakMap<Origin, Blocks>();

function blocksOf(origin: Origin): Blocks {
  let made = blocks.get(origin);
  if (made === undefined) blocks.set(origin, (made = makeBlocks(origin)));
  return made;
}

function makeBlocks({ resource, version }: Origin): Blocks {
  const writer = new ProtobufWriter();
  const resourceStart = writer.begin(FIELD.resource);
  for (const [name, value] of Object.entries(resource))
    writeAttribute(writer, RESOURCE_ATTRIBUTES, name, value);
  writer.end(resourceStart);
  const scopeAt = writer.length;
  const scope = writer.begin(SCOPE.scope);
  writer.string(SCOPE.name, 'headgate');
  writer.string(SCOPE.version, version);
  writer.end(scope);
  const schemaAt = writer.length;
  writer.string(FIELD.schemaUrl, SCHEMA_URL);
  return {
    resource: writer.bytes.slice(0, scopeAt),
    scope: writer.bytes.slice(scopeAt, schemaAt),
    schema: writer.bytes.slice(schemaAt),
  };
}
