/**
 * References in texts of a declared configuration, resolved where the file is applied and never written back:
 * `${env:NAME}` is a variable of the environment, `${file:path}` the content of a file without its last line end, its
 * path relative to the file that names it. `$${env:` and `$${file:` stand for the text itself. Other `${…}` are texts
 * of their own and stay. Reads no environment and no file itself.
 */
import { startOf } from './field-lines.ts';
import { escapeToken } from '../lib/text/json-pointer.ts';
import type { DeclaredDocument, Problem } from './yaml-reader.ts';

/** Where references are looked up. Each function returns the text, or what is wrong. */
export interface ReferenceSources {
  readonly env: (name: string) => string | undefined;
  /** @param base the document that contains the reference */
  readonly file: (path: string, base: string) => { readonly text: string } | { readonly problem: string };
}

export interface Resolved {
  readonly value: unknown;
  /** Pointers of texts that consist of one reference alone: only these can give a number or a boolean. */
  readonly whole: ReadonlySet<string>;
  readonly problems: readonly Problem[];
}

const REFERENCE = /\$?\$\{(env|file):([^{}]*)\}/g;

/** @returns a copy of the value in which every reference is replaced; the parts without one are shared */
export function resolveReferences(document: DeclaredDocument, sources: ReferenceSources): Resolved {
  const whole = new Set<string>();
  const problems: Problem[] = [];
  const refuse = (pointer: string, detail: string): void => {
    const place = document.locate(pointer) ?? startOf(document.file);
    problems.push({ ...place, pointer, detail });
  };
  const resolveText = (text: string, pointer: string): string => {
    if (!text.includes('${')) return text;
    return text.replaceAll(REFERENCE, (match, kind: string, name: string) => {
      if (match.startsWith('$$')) return match.slice(1);
      if (match.length === text.length) whole.add(pointer);
      if (kind === 'env') {
        const found = sources.env(name);
        if (found === undefined) refuse(pointer, `needs the environment variable ${name}, which is not set`);
        return found ?? '';
      }
      const found = sources.file(name, document.file);
      if ('text' in found) return found.text;
      refuse(pointer, `needs the file ${name}: ${found.problem}`);
      return '';
    });
  };
  const resolve = (value: unknown, pointer: string): unknown => {
    if (typeof value === 'string') return resolveText(value, pointer);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item, index) => resolve(item, `${pointer}/${index}`));
    const copy: Record<string, unknown> = {};
    for (const [name, member] of Object.entries(value))
      copy[name] = resolve(member, `${pointer}/${escapeToken(name)}`);
    return copy;
  };
  return { value: resolve(document.value, ''), whole, problems };
}

/** A copy for a file: what looks like a reference in its texts is escaped, so that it is read back unchanged. */
export function escapeReferences(value: unknown): unknown {
  if (typeof value === 'string')
    return value.includes('${') ? value.replaceAll(REFERENCE, (match) => `$${match}`) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(escapeReferences);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, escapeReferences(member)]));
}
