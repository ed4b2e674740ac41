/** The command that makes the change which an explanation names, as a line for a shell. Pure. */
import { printable } from '../io.ts';
import type { Json } from '../everyday/everyday-command.ts';

/** @returns undefined for a fix that is no change of a record, and for one that a line cannot show */
export function fixCommand({ app, version, revision, endpoint, fix }: Json): string | undefined {
  const { action, target, value } = fix;
  if (target === null || app === null) return undefined;
  const words = (...names: readonly unknown[]): readonly string[] | undefined =>
    names.every((name) => typeof name === 'string') ? names : undefined;
  const inRevision = [app.slug, version?.version, target.id === revision?.id ? revision.revision : target.id];
  const records: Readonly<Record<string, readonly string[] | undefined>> = {
    app: words('apps', 'edit', app.slug),
    version: words('versions', 'edit', app.slug, version?.version),
    revision: words('revisions', 'edit', ...inRevision),
    endpoint: words('endpoints', 'edit', app.slug, version?.version, revision?.revision, endpoint?.id),
    token: words('keys', 'edit', app.slug, target.id),
  };
  if (action === 'activate_revision' && target.type === 'revision')
    return lineOf(words('revisions', 'activate', ...inRevision));
  if (action === 'register_endpoint')
    return lineOf(words('endpoints', 'create', ...inRevision, `${value.method} ${value.path}`));
  const fields = fieldsOf(value, action === 'set_policy' ? 'policy.' : '');
  const record = records[target.type];
  return record === undefined || fields === undefined ? undefined : lineOf([...record, ...fields]);
}

function fieldsOf(value: unknown, prefix: string): readonly string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = Object.entries(value).map(
    ([name, field]) => `${prefix}${name}=${typeof field === 'string' ? field : JSON.stringify(field)}`,
  );
  return fields.length === 0 ? undefined : fields;
}

function lineOf(words: readonly string[] | undefined): string | undefined {
  if (words === undefined) return undefined;
  const line = ['headgate', ...words].map(quoted).join(' ');
  return printable(line) === line ? line : undefined;
}

function quoted(word: string): string {
  return /^[\w./:=-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
