/**
 * `headgate config history | show | diff | rollback`: earlier configurations, who changed them, and the way back.
 * Exit code 2: there is a difference, or a dry run found something to change.
 */
import type { Command } from 'commander';
import { queryText } from '../connection/query.ts';
import { addServerFlags } from '../connection/server-flags.ts';
import { listAll } from '../everyday/pages.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { createClient, RefusedCall, type ServerFlags } from '../gateway-client.ts';
import { CliError, type CliIo } from '../io.ts';
import {
  addExamples,
  addOutputFlag,
  withPointer,
  writeJson,
  writeWarnings,
  type OutputFlags,
} from '../show/output-format.ts';
import { wholeNumber } from '../whole-number.ts';
import {
  diffText,
  historyText,
  rollbackText,
  versionText,
  type ShownDiff,
  type ShownRecordChange,
  type ShownRollback,
  type ShownVersion,
} from './history-text.ts';
import { writerNames } from './writer-names.ts';

interface HistoryFlags extends ServerFlags, OutputFlags {
  readonly limit: string;
  readonly app?: string;
  readonly actor?: string;
  readonly source?: string;
  readonly since?: string;
  readonly until?: string;
}

interface RollbackFlags extends ServerFlags, OutputFlags {
  readonly app?: string;
  readonly deleteKeys?: true;
  readonly dryRun?: true;
  readonly message?: string;
}

const CHANGES_SHOWN_MAX = 1_000;

async function historyCommand(flags: HistoryFlags, io: CliIo): Promise<void> {
  const limit = wholeNumber('--limit', flags.limit, 0);
  const { app, actor, source, since, until } = flags;
  const path = `/config/versions${queryText({ app, actor, source, since, until })}`;
  const client = createClient(flags, io);
  const { rows: versions, total } = await listAll(client, path, limit);
  if (flags.output === 'json') return writeJson({ total, versions }, io);
  const shown: readonly ShownVersion[] = versions;
  const nameOf = await writerNames(
    client,
    shown.map((version) => version.actor),
  );
  const named = shown.map((version) => ({ ...version, actor: nameOf(version.actor) ?? version.actor }));
  io.out(historyText(named, total, io));
}

async function showCommand(text: string, flags: ServerFlags & OutputFlags, io: CliIo): Promise<void> {
  const version = wholeNumber('The version', text, 0);
  const client = createClient(flags, io);
  const isJson = flags.output === 'json';
  let entry: ShownVersion | undefined;
  const changesOf = ({ changes, ...rest }: ShownVersion & { readonly changes: ShownRecordChange[] }) => {
    entry ??= rest;
    return changes;
  };
  const most = isJson ? Infinity : CHANGES_SHOWN_MAX;
  const { rows, total } = await listAll(client, `/config/versions/${version}`, most, changesOf);
  if (entry === undefined) throw new CliError(`The gateway did not describe config version ${version}`);
  if (isJson) return writeJson({ ...entry, changes: rows }, io);
  const name = (await writerNames(client, [entry.actor]))(entry.actor);
  const actor = name === undefined ? entry.actor : `${name} (${entry.actor})`;
  io.out(versionText({ ...entry, actor }, rows, total, io));
}

async function diffCommand(
  from: string,
  to: string | undefined,
  flags: ServerFlags & OutputFlags & { readonly app?: string },
  io: CliIo,
): Promise<void> {
  const query = queryText({
    from: String(wholeNumber('The version', from, 0)),
    to: to === undefined ? undefined : String(wholeNumber('The version', to, 0)),
    app: flags.app,
  });
  const path = `/config/versions/diff${query}`;
  const diff = (await createClient(flags, io).call('GET', path)) as ShownDiff;
  if (flags.output === 'json') writeJson(diff, io);
  else io.out(diffText(diff, io));
  if (diff.changes.length > 0) io.exit(EXIT_CODES.differs.code);
}

async function rollbackCommand(text: string, flags: RollbackFlags, io: CliIo): Promise<void> {
  const version = wholeNumber('The version', text, 0);
  const isTry = flags.dryRun === true;
  const body = {
    ...(flags.app !== undefined && { app: flags.app }),
    ...(flags.deleteKeys === true && { delete_keys: true }),
    ...(isTry && { dry_run: true }),
    ...(flags.message !== undefined && { message: flags.message }),
  };
  const answer = await createClient(flags, io)
    .ask('POST', `/config/versions/${version}/rollback`, body)
    .catch((error: unknown) => {
      throw withDeleteKeysOption(error);
    });
  const done = answer.data as ShownRollback;
  writeWarnings(answer.warnings.map(withPointer), io);
  if (flags.output === 'json') writeJson(done, io);
  else io.out(rollbackText(done, !isTry, io));
  if (isTry && done.changes.length > 0) io.exit(EXIT_CODES.differs.code);
}

/** The gateway names its field; this adds the option of the command. */
function withDeleteKeysOption(error: unknown): unknown {
  if (!(error instanceof RefusedCall) || !error.detail.includes('delete_keys')) return error;
  const { status, detail, errors, code } = error;
  const shown = `${detail} (here the option --delete-keys)`;
  return new RefusedCall(status, shown, { errors, ...(code !== undefined && { code }) });
}

export function addHistoryCommands(config: Command, io: CliIo): void {
  const command = (name: string): Command => addOutputFlag(addServerFlags(config.command(name)));
  const version = 'number of a config version, as "config history" lists it';
  addExamples(
    command('history')
      .description('list the versions of the configuration, newest first')
      .option('--limit <count>', 'maximum number of versions to list', '20')
      .option('--app <slug>', 'only versions that changed this app; for a deleted app, give its id')
      .option('--actor <id>', 'only versions by this admin token, whose id "config show" has')
      .option('--source <source>', 'only versions from api, cli, console, import or system')
      .option('--since <time>', 'only versions from this moment on, such as 2030-01-31T00:00:00Z')
      .option('--until <time>', 'only versions before this moment')
      .action((flags: HistoryFlags) => historyCommand(flags, io)),
    'headgate config history --app billing',
    'headgate config history --source cli --limit 100 --output json',
  );
  command('show')
    .description('show a version of the configuration: who made it, from where, and what it changed')
    .argument('<version>', version)
    .action((text: string, flags: ServerFlags & OutputFlags) => showCommand(text, flags, io));
  addExamples(
    command('diff')
      .description(
        'show what differs between two versions of the configuration; exit code 2 when there is a difference',
      )
      .argument('<from>', version)
      .argument('[to]', 'number of the other config version; default: the one in force')
      .option('--app <slug>', 'only this app')
      .action((from: string, to: string | undefined, flags: Parameters<typeof diffCommand>[2]) =>
        diffCommand(from, to, flags, io),
      ),
    'headgate config diff 12      # what has changed since version 12',
    'headgate config diff 12 13   # what version 13 has changed',
  );
  addExamples(
    command('rollback')
      .description('restore a version of the configuration, as a new version, in one step')
      .argument('<version>', version)
      .option('--app <slug>', 'only this app')
      .option('--delete-keys', 'also delete the API keys that were made since then')
      .option('--dry-run', 'show what would change, and change nothing; exit code 2 when there is any change')
      .option('-m, --message <text>', 'reason for the change, for the history')
      .action((text: string, flags: RollbackFlags) => rollbackCommand(text, flags, io)),
    'headgate config rollback 12 --dry-run',
    'headgate config rollback 12 --app billing -m "v2 refuses mobile clients"',
  );
}
