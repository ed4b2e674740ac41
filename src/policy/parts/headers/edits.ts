/**
 * The edits of one direction as a `FieldEditor`: one look at each field that passes, and the lines that are added.
 * Names are compared as `foldedName` gives them, because a backend may read another spelling as the same name.
 */
import { foldedName } from '../../../lib/folded-name.ts';
import type { FieldEditor, FieldSubject } from '../../stage.ts';
import { compileTemplate, type FieldValue } from './field-values.ts';
import type { FieldEdits } from './schema.ts';
import { parseTemplate } from './template.ts';

/** A line that is the same for every request, or the start of a line and its value. */
type Line = string | { readonly start: string; readonly value: FieldValue };

export interface Withheld {
  /** Folded names of fields that the edits leave alone. */
  readonly edited: ReadonlySet<string>;
  /** Folded names of request fields that values must not contain. */
  readonly read: ReadonlySet<string>;
}

/** @returns undefined where nothing is left to edit */
export function compileEdits(edits: FieldEdits | undefined, withheld: Withheld): FieldEditor | undefined {
  const { set = {}, add = {}, remove = [], rename = {} } = edits ?? {};
  const isEditable = (name: string): boolean => !withheld.edited.has(foldedName(name));
  const editable = (values: Readonly<Record<string, string>>) =>
    Object.entries(values).filter(([name]) => isEditable(name));
  const names = new Map<string, string>();
  for (const name of remove.filter(isEditable)) names.set(foldedName(name), '');
  for (const [name] of editable(set)) names.set(foldedName(name), '');
  // A field that may not have its new name does not keep the old one.
  for (const [name, newName] of editable(rename))
    names.set(foldedName(name), isEditable(newName) ? newName : '');
  const lines = joined(
    [...editable(set), ...editable(add)].map(([name, text]) => lineOf(name, text, withheld)),
  );
  if (names.size === 0 && lines.length === 0) return undefined;
  return Object.freeze({
    nameOf: (name: string) => names.get(foldedName(name)),
    lines: linesWriter(lines),
  });
}

function lineOf(name: string, text: string, { read }: Withheld): Line {
  const template = parseTemplate(text);
  if ('error' in template)
    throw new Error(`Cannot use the value of the header "${name}": it ${template.error}`);
  const value = compileTemplate(template, (header) => read.has(foldedName(header)));
  return typeof value === 'string' ? `${name}: ${value}\r\n` : { start: `${name}: `, value };
}

/** Neighbouring lines that are the same for every request, as one text. */
function joined(lines: readonly Line[]): readonly Line[] {
  const all: Line[] = [];
  for (const line of lines) {
    const last = all.at(-1);
    if (typeof line === 'string' && typeof last === 'string') all[all.length - 1] = last + line;
    else all.push(line);
  }
  return all;
}

function linesWriter(lines: readonly Line[]): FieldEditor['lines'] {
  const [only = ''] = lines;
  if (lines.length < 2 && typeof only === 'string') return () => only;
  return (subject: FieldSubject) => {
    let text = '';
    for (const line of lines) {
      if (typeof line === 'string') {
        text += line;
        continue;
      }
      const value = line.value(subject);
      if (value !== undefined) text += `${line.start}${value}\r\n`;
    }
    return text;
  };
}
