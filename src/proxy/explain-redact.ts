/** Header fields as explain shows them: the values of those that may hold a credential are never shown. */
import type { FieldSection } from '../http/field-section.ts';
import { REDACTED, type HeaderField } from '../model/schemas/explain.ts';

const SECRET_NAME =
  /auth(?!enticat)|cookie|token|secret|passw|pwd|credential|session|signature|api-?_?key|x-headgate-debug/i;
/** Fields whose names look like it and that hold none. */
const PLAIN_NAME = /^access-control-/i;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !PLAIN_NAME.test(name);
}

export function shownField(name: string, value: string): HeaderField {
  return { name, value: isSecretName(name) ? REDACTED : value };
}

/** The fields of a head that was read without an error. */
export function fieldsOf(head: FieldSection): HeaderField[] {
  const fields: HeaderField[] = [];
  for (let index = 0; index < head.count; index++)
    fields.push(shownField(head.name(index), head.value(index)));
  return fields;
}

/** The fields of header lines that the gateway has written, each `Name: value` and CRLF. */
export function fieldsOfLines(lines: string): HeaderField[] {
  const fields: HeaderField[] = [];
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) fields.push(shownField(line.slice(0, colon), line.slice(colon + 1).trim()));
  }
  return fields;
}
