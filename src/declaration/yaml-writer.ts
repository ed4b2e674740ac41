/**
 * Writes a configuration as YAML that reads back as the same data: block style, two spaces, members in the order in
 * which they are given, texts quoted where any reader could take them for something else. The same data gives the same
 * bytes. Knows objects, arrays, texts, numbers, booleans and null; no anchors, comments or long-line folding.
 */
import { visibleJson } from '../lib/text/visible-json.ts';

/**
 * A plain text that no reader takes for something else: no indicator, no number, no boolean of any version of
 * YAML.
 */
const PLAIN_TEXT = /^[A-Za-z_/][\w./+-]*(?: [\w./{}*+-]+)*$/;
const RESERVED = /^(?:y|n|yes|no|on|off|true|false|null|~|\.inf|\.nan)$/i;

/** @param value plain data; `undefined` members are left out */
export function writeYaml(value: unknown): string {
  const lines: string[] = [];
  if (isEmpty(value) || !isNested(value)) return `${inline(value)}\n`;
  block(value, '', lines);
  return `${lines.join('\n')}\n`;
}

type Nested = readonly unknown[] | Readonly<Record<string, unknown>>;

function block(value: Nested, indent: string, lines: string[]): void {
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) {
      if (!isNested(item) || isEmpty(item)) lines.push(`${indent}- ${inline(item)}`);
      else {
        const from = lines.length;
        block(item, `${indent}  `, lines);
        lines[from] = `${indent}- ${(lines[from] ?? '').slice(indent.length + 2)}`;
      }
    }
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const key = keyOf(name, indent);
    if (!isNested(member) || isEmpty(member)) lines.push(`${key} ${inlineMember(member, indent)}`);
    else {
      lines.push(key);
      block(member, `${indent}  `, lines);
    }
  }
}

/** YAML 1.2 section 8.2.2: a key on the line of its value has at most 1,024 characters. */
const KEY_CHARS_MAX = 1_000;

function keyOf(name: string, indent: string): string {
  const key = textOf(name);
  return key.length > KEY_CHARS_MAX ? `${indent}? ${key}\n${indent}:` : `${indent}${key}:`;
}

/** A member on the line of its key. Texts of several lines, such as certificates, become literal blocks. */
function inlineMember(member: unknown, indent: string): string {
  if (typeof member !== 'string' || !isLiteralText(member)) return inline(member);
  const body = member.endsWith('\n') ? member.slice(0, -1) : member;
  const lines = body.split('\n').map((line) => (line === '' ? '' : `${indent}  ${line}`));
  return `${member.endsWith('\n') ? '|' : '|-'}\n${lines.join('\n')}`;
}

/** Whether a literal block reads back as exactly this text. */
function isLiteralText(text: string): boolean {
  return (
    /^[\x21-\x7e][\x20-\x7e]*(?:\n[\x20-\x7e]*)*\n?$/.test(text) &&
    text.includes('\n') &&
    !text.endsWith('\n\n')
  );
}

function inline(value: unknown): string {
  if (typeof value === 'string') return textOf(value);
  if (Array.isArray(value)) return '[]';
  if (typeof value === 'object' && value !== null) return '{}';
  return String(value);
}

function textOf(text: string): string {
  return PLAIN_TEXT.test(text) && !RESERVED.test(text) ? text : visibleJson(text);
}

function isNested(value: unknown): value is Nested {
  return typeof value === 'object' && value !== null;
}

function isEmpty(value: unknown): boolean {
  if (!isNested(value)) return false;
  if (Array.isArray(value)) return value.length === 0;
  return Object.values(value).every((member) => member === undefined);
}
