/** Attributes as OTLP has them: KeyValue and AnyValue of opentelemetry/proto/common/v1/common.proto, 1.x. */
import { ProtobufWriter } from './protobuf-writer.ts';

const KEY_VALUE = { key: 1, value: 2 } as const;
const ANY_VALUE = { string: 1, bool: 2, int: 3 } as const;

export type AttributeValue = string | number | boolean;

/** Writes one attribute. @param field of the message that holds attributes. @param value a number must be an integer */
export function writeAttribute(
  writer: ProtobufWriter,
  field: number,
  key: string,
  value: AttributeValue,
): void {
  const start = writer.begin(field);
  writer.string(KEY_VALUE.key, key);
  const valueStart = writer.begin(KEY_VALUE.value);
  if (typeof value === 'string') writer.string(ANY_VALUE.string, value);
  else if (typeof value === 'number') writer.varint(ANY_VALUE.int, value);
  else writer.boolean(ANY_VALUE.bool, value);
  writer.end(valueStart);
  writer.end(start);
}

/** Attributes as bytes that are written again and again. */
export function attributeBytes(
  field: number,
  attributes: Readonly<Record<string, AttributeValue | undefined>>,
): Uint8Array {
  const writer = new ProtobufWriter();
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined) writeAttribute(writer, field, key, value);
  return writer.take().slice();
}
