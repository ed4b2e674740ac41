/**
 * docs/reference/policies.md: the table of parts, how each is switched off, and a section for each part, from what the
 * parts say of themselves. The rest of the page is written by hand. Pure.
 */
import { jsonSchema } from '../../src/model/json-schema.ts';
import type { PolicyPart } from '../../src/policy/part.ts';
import { PARTS } from '../../src/policy/registry.ts';
import { code, jsonOnOneLine, jsonBlock, table } from './markdown.ts';

const END = '<!-- end -->';
const EXAMPLE_LINE_LENGTH_MAX = 140;

/** The page with its generated regions as the registry has them. */
export function policiesPage(page: string, parts: readonly PolicyPart[] = PARTS): string {
  const says = parts.map(({ name, docs }) => [code(name), docs.summary]);
  const offs = parts.flatMap(({ name, off }) => (off === undefined ? [] : [[code(name), offText(off)]]));
  const regions = [
    ['Table of parts', table(['part', 'says'], says)],
    ['How parts are switched off', table(['part', 'off'], offs)],
    ['Sections of the parts', parts.map(section).join('\n\n')],
  ] as const;
  return regions.reduce((text, [name, content]) => withRegion(text, name, content), page);
}

function withRegion(page: string, name: string, content: string): string {
  const begin = `<!-- ${name}: made by scripts/docs.ts from src/policy/parts; do not edit. -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf(END, from);
  if (from < 0 || to < 0) throw new Error(`docs/reference/policies.md has lost the place of "${name}"`);
  return `${page.slice(0, from + begin.length)}\n\n${content}\n\n${page.slice(to)}`;
}

function offText({ example, note }: NonNullable<PolicyPart['off']>): string {
  const value = code(jsonOnOneLine(example));
  return note === undefined ? value : `${value}: ${note}`;
}

function section({ name, schema, docs }: PolicyPart): string {
  const value = { [name]: docs.example };
  const line = jsonOnOneLine(value);
  const example = line.length > EXAMPLE_LINE_LENGTH_MAX ? jsonBlock(value) : `\`\`\`json\n${line}\n\`\`\``;
  return [`## ${name}`, example, docs.text ?? jsonSchema(schema).description].join('\n\n');
}
