/** The body of an export: ExportTraceServiceRequest of opentelemetry/proto/collector/trace/v1, 1.x. */
import { writeAttribute } from '../otlp/attributes.ts';
import type { ProtobufWriter } from '../otlp/protobuf-writer.ts';

const RESOURCE_SPANS = 1;
const FIELD = { resource: 1, scopeSpans: 2, schemaUrl: 3 } as const;
const RESOURCE_ATTRIBUTES = 1;
const SCOPE = { scope: 1, name: 1, version: 2 } as const;
const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.45.0';

export interface Origin {
  readonly resource: Readonly<Record<string, string>>;
  /** Of this program. */
  readonly version: string;
}

/**
 * Writes a request. The messages of metrics and logs have the same fields.
 * @param writeRecords writes fields of ScopeSpans
 * @throws RangeError beyond 2 MiB
 */
export function writeRequest<T>(
  writer: ProtobufWriter,
  { resource, version }: Origin,
  writeRecords: () => T,
): T {
  const resourceSpans = writer.begin(RESOURCE_SPANS);
  const resourceStart = writer.begin(FIELD.resource);
  for (const [name, value] of Object.entries(resource))
    writeAttribute(writer, RESOURCE_ATTRIBUTES, name, value);
  writer.end(resourceStart);
  const scopeSpans = writer.begin(FIELD.scopeSpans);
  const scope = writer.begin(SCOPE.scope);
  writer.string(SCOPE.name, 'headgate');
  writer.string(SCOPE.version, version);
  writer.end(scope);
  const written = writeRecords();
  writer.string(FIELD.schemaUrl, SCHEMA_URL);
  writer.end(scopeSpans);
  writer.string(FIELD.schemaUrl, SCHEMA_URL);
  writer.end(resourceSpans);
  return written;
}
