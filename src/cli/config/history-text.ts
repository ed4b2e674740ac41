/** Texts about the history of the configuration: the list of versions, one version, a difference, a rollback. */
import { cellText, recordText, tableText, type Column } from '../show/text-table.ts';
import { painter } from '../show/colour.ts';
import { printable, type CliIo } from '../io.ts';
import { planText, type ShownPlan } from './plan-text.ts';

export interface ShownVersion {
  readonly config_version: number;
  readonly at: string;
  readonly actor: string;
  readonly address: string | null;
  readonly request_id: string | null;
  readonly source: string;
  readonly commit: string | null;
  readonly action: string;
  readonly message: string | null;
  readonly changed_records: number;
  readonly is_complete: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

export interface ShownRecordChange {
  readonly change: 'create' | 'update' | 'delete';
  readonly type: string;
  readonly path: readonly string[];
  readonly before: Fields | null;
  readonly after: Fields | null;
}

export interface ShownRollback extends ShownPlan {
  readonly not_restored: readonly {
    readonly app: string;
    readonly key: string;
    readonly reasons: readonly string[];
  }[];
  readonly not_restored_total: number;
}

export interface ShownDiff extends ShownPlan {
  readonly text: string | null;
}

const COMMIT_DIGITS_SHOWN = 7;

const COLUMNS: readonly Column<ShownVersion>[] = [
  { title: 'VERSION', value: ({ config_version: version }) => version },
  { title: 'WHEN', value: ({ at }) => `${at.slice(0, 19)}Z` },
  { title: 'WHO', value: ({ actor }) => actor },
  { title: 'FROM', value: sourceText },
  { title: 'ACTION', value: ({ action }) => action },
  { title: 'RECORDS', value: ({ changed_records: records }) => records },
  { title: 'MESSAGE', value: ({ message }) => message },
];

export function historyText(versions: readonly ShownVersion[], total: number, io: CliIo): string {
  const more = total - versions.length;
  return tableText(COLUMNS, versions, io) + (more > 0 ? `… and ${more} more; see --limit\n` : '');
}

function sourceText({ source, commit }: ShownVersion): string {
  return commit === null ? source : `${source} ${commit.slice(0, COMMIT_DIGITS_SHOWN)}`;
}

const SHOWN_FIELDS = [
  'config_version',
  'at',
  'actor',
  'address',
  'request_id',
  'source',
  'commit',
  'action',
  'message',
] as const satisfies readonly (keyof ShownVersion)[];

/** @param total number of changes, which may exceed the listed ones */
export function versionText(
  version: ShownVersion,
  changes: readonly ShownRecordChange[],
  total: number,
  io: CliIo,
): string {
  const said = Object.fromEntries(
    SHOWN_FIELDS.filter((name) => version[name] !== null).map((name) => [name, version[name]]),
  );
  if (!version.is_complete) return `${recordText(said, io)}\nIt changed more than the history may hold.\n`;
  const totals = { create: 0, update: 0, delete: 0 };
  for (const { change } of changes) totals[change] += 1;
  const shown = { base_version: 0, totals, changes: changes.map(shownChange) };
  const rest = total > changes.length ? `… and ${total - changes.length} more\n` : '';
  return `${recordText(said, io)}\n${planText(shown, true, io)}${rest}`;
}

/** Fields that change with every write. */
const NOT_SHOWN: ReadonlySet<string> = new Set(['updated_at', 'last_used_at']);

function shownChange({ change, type, path, before, after }: ShownRecordChange): ShownPlan['changes'][number] {
  const [old, fresh] = [before ?? {}, after ?? {}];
  const names = [...new Set([...Object.keys(old), ...Object.keys(fresh)])].sort();
  const differing = names.filter(
    (name) => !NOT_SHOWN.has(name) && JSON.stringify(old[name]) !== JSON.stringify(fresh[name]),
  );
  const fields = differing.map((name) => [name, { before: old[name] ?? null, after: fresh[name] ?? null }]);
  return { change, type, path, fields: Object.fromEntries(fields) };
}

export function diffText(diff: ShownDiff, io: CliIo): string {
  if (diff.changes.length === 0) return 'No difference.\n';
  const text = diff.text === null ? 'Too much to show line by line.\n' : painted(diff.text, io);
  return `${text}\n${planText(diff, true, io)}`;
}

function painted(text: string, io: CliIo): string {
  const paint = painter(io);
  return text
    .split('\n')
    .map((line) => {
      if (line.startsWith('+')) return paint('green', printable(line));
      if (line.startsWith('-')) return paint('red', printable(line));
      return line.startsWith('@@') ? paint('dim', printable(line)) : printable(line);
    })
    .join('\n');
}

const REASONS: Readonly<Record<string, string>> = {
  deleted: 'it was deleted and does not come back',
  expired: 'it has expired and does not come back',
  value: 'it keeps its present value',
  inactive: 'it stays inactive',
  scopes: 'it gets no scope that it does not have now',
  expires_at: 'it keeps its present expiry',
};

export function rollbackText(done: ShownRollback, isDone: boolean, io: CliIo): string {
  const lines = done.not_restored.map(
    ({ app, key, reasons }) =>
      `  ${cellText(app)} ${cellText(key)}: ${reasons.map((reason) => REASONS[reason] ?? printable(reason)).join('; ')}`,
  );
  const more = done.not_restored_total - done.not_restored.length;
  if (more > 0) lines.push(`  … and ${more} more`);
  const keys = lines.length === 0 ? '' : `\nKeys that are not restored in full:\n${lines.join('\n')}\n`;
  return planText(done, isDone, io) + keys;
}
