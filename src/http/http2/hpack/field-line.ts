/**
 * A field of a header section as HPACK gives it, with what RFC 9113 sections 8.2 and 8.3 say about it alone. That is
 * worked out once, because a field in a table comes back in message after message.
 */
import { FIELD_TEXT, ODD_BIT, TOKEN } from '../../characters.ts';
import { CONNECTION_FIELDS } from '../../fields/field-lists.ts';

/** RFC 7541 section 4.1. */
const OVERHEAD_BYTES = 32;
const COLON = 0x3a;

export interface FieldLine {
  /** One character per byte, as is the value. */
  readonly name: string;
  readonly value: string;
  /** `name: value` and CRLF; '' unless the field is sound and no pseudo-field. */
  readonly line: string;
  readonly kind: FieldLineKind;
  /** RFC 7541 section 4.1. */
  readonly size: number;
}

/** `malformed`: the field makes every message malformed that has it. */
export type FieldLineKind = 'regular' | 'length' | 'pseudo' | 'malformed';

export function fieldLine(name: string, value: string): FieldLine {
  const kind = kindOf(name, value);
  const isLine = kind === 'regular' || kind === 'length';
  return {
    name,
    value,
    line: isLine ? `${name}: ${value}\r\n` : '',
    kind,
    size: name.length + value.length + OVERHEAD_BYTES,
  };
}

function kindOf(name: string, value: string): FieldLineKind {
  if (!isFieldValue(value)) return 'malformed';
  if (name.charCodeAt(0) === COLON) return 'pseudo';
  if (!isFieldName(name) || CONNECTION_FIELDS.has(name)) return 'malformed';
  return name === 'content-length' ? 'length' : 'regular';
}

/** RFC 9113 section 8.2.1: a token without upper case. */
function isFieldName(name: string): boolean {
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at);
    if (code !== ((TOKEN[code] ?? 0) & ~ODD_BIT)) return false;
  }
  return name !== '';
}

/** No control character but HTAB, and no white space around it. */
function isFieldValue(value: string): boolean {
  const { length } = value;
  for (let at = 0; at < length; at++) if (FIELD_TEXT[value.charCodeAt(at)] !== 1) return false;
  return length === 0 || !(isBlank(value.charCodeAt(0)) || isBlank(value.charCodeAt(length - 1)));
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
