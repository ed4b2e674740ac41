/**
 * An unsaved edit of a policy: one value, shown as a form and as YAML. The YAML counts as soon as it can be parsed;
 * until then the value stays unchanged, and the text is kept as typed. Pure.
 */
import { stringify } from 'yaml';
import { MASK } from '../../api/mask.ts';
import { editorWords } from '../../text/editor.ts';
import { valueOfYaml } from '../../ui/editor/yaml-places.ts';
import { isFields, isSame, mergePatchOf, withValueAt, type Fields } from '../save/merge-patch.ts';

export interface Draft {
  /** The policy as read, and the ETag of its record. */
  readonly base: Fields;
  readonly etag: string | undefined;
  readonly value: Fields;
  readonly text: string;
  /** Why the text cannot be read. */
  readonly problem?: string | undefined;
}

export function draftOf(policy: unknown, etag: string | undefined): Draft {
  const base = withoutNulls(policy);
  return { base, etag, value: base, text: yamlOf(base) };
}

export function withValue(draft: Draft, value: Fields): Draft {
  return { ...draft, value, text: yamlOf(value), problem: undefined };
}

export function withText(draft: Draft, text: string): Draft {
  const { value = {}, problem } = valueOfYaml(text);
  if (problem !== undefined) return { ...draft, text, problem };
  if (!isFields(value)) return { ...draft, text, problem: editorWords.mustBeFields };
  return { ...draft, text, value: withoutNulls(value), problem: undefined };
}

/** Sets one part to another value; undefined inherits it again. */
export function withPart(draft: Draft, part: string, value: unknown): Draft {
  return withValue(draft, withValueAt(draft.value, [part], value));
}

export function isDirty({ base, value, problem }: Draft): boolean {
  return problem !== undefined || !isSame(base, value);
}

export function patchOf({ base, value }: Draft): Fields {
  return mergePatchOf(base, value);
}

export function changedParts(draft: Draft): readonly string[] {
  return Object.keys(patchOf(draft));
}

export function yamlOf(value: unknown): string {
  if (isFields(value) && Object.keys(value).length === 0) return '';
  return stringify(value, { lineWidth: 0 });
}

/** A part that is null inherits, like one that is absent. */
function withoutNulls(policy: unknown): Fields {
  return isFields(policy)
    ? Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== null))
    : {};
}

/** A value of a wider level as a start for this one, without secrets, which are not shown and cannot be copied. */
export function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied);
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== MASK)
      .map(([name, member]) => [name, copied(member)]),
  );
}

/** A secret that was typed: such a draft is not kept in the browser's storage. */
export function hasTypedSecret({ value, text }: Draft): boolean {
  const secrets = [...text.matchAll(/^\s*["']?secret["']?\s*:\s*(.+)$/gm)].map((match) =>
    (match[1] ?? '').trim(),
  );
  return secrets.some((secret) => secret.replaceAll(/["']/g, '') !== MASK) || hasSecret(value);
}

function hasSecret(value: unknown): boolean {
  if (!isFields(value)) return false;
  return Object.entries(value).some(([name, member]) =>
    name === 'secret' ? member !== MASK : hasSecret(member),
  );
}
