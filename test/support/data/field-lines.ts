/** Fields as the decoder of HPACK gives them. */
import { fieldLine, type FieldLine } from '../../../src/http/http2/hpack/field-line.ts';

/** @param fields names and values alternating */
export function fieldLines(fields: readonly string[]): FieldLine[] {
  const lines: FieldLine[] = [];
  for (let index = 0; index < fields.length; index += 2)
    lines.push(fieldLine(fields[index] as string, fields[index + 1] as string));
  return lines;
}
