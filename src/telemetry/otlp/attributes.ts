/** Attributes in OTLP: KeyValue and AnyValue of opentelemetry/proto/common/v1/common.proto, 1.x. */
import { ProtobufWriter } from './protobuf-writer.ts';

const KEY_VALUE = { key: 1, value: 2 } as const;
const ANY_VALUE = { bool: 2 } as const;

export type AttributeValue = string | number | boolean;

/** Cached keys: their names come from this program and, for the resource, from its settings. */
const keys = new Map<string, Uint8Array>();
const keyWriter = new ProtobufWriter();

/**
 * Writes one attribute.
 * @param field number of the field for attributes in the surrounding message
 * @param value a number must be an integer
 */
export function writeAttribute(
  writer: ProtobufWriter,
  field: number,
  name: string,
  value: AttributeValue,
): void {
  const key = attributeKey(name);
  if (typeof value === 'string') return writer.textAttribute(field, key, value);
  if (typeof value === 'number') return writer.integerAttribute(field, key, value);
  const start = writer.begin(field);
  writer.raw(key);
  const valueStart = writer.begin(KEY_VALUE.value);
  writer.boolean(ANY_VALUE.bool, value);
  writer.end(valueStart);
  writer.end(start);
}

/** The encoded key of an attribute, for the attribute functions of the writer. */
export function attributeKey(name: string): Uint8Array {
  let key = keys.get(name);
  if (key === undefined) {
    keyWriter.clear();
    keyWriter.string(KEY_VALUE.key, name);
    keys.set(name, (key = keyWriter.bytes.slice()));
  }
  return key;
}
