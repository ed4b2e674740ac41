/**
 * `headgate config history | show | diff | rollback`: earlier configurations, who changed them, and the way back.
 * Exit code 2: there is a difference, or a dry run found something to change.
 */
import type { Command } from 'commander';
import { addServerFlags } from '../connection/server-flags.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import {
  createClient,
  RefusedCall,
  type GatewayAnswer,
  type GatewayClient,
  type ServerFlags,
} from '../gateway-client.ts';
import { CliError, printable, type CliIo } from '../io.ts';
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

/** The largest page that the API returns. */
const PAGE_LIMIT = 500;
const CHANGES_SHOWN_MAX = 1_000;

async function historyCommand(flags: HistoryFlags, io: CliIo): Promise<void> {
  const limit = wholeNumber('--limit', flags.limit, 0);
  const query = new URLSearchParams();
  for (const name of ['app', 'actor', 'source', 'since', 'until'] as const) {
    const value = flags[name];
    if (value !== undefined) query.set(name, value);
  }
  const { items, total } = await readPages(createClient(flags, io), '/config/versions', query, limit);
  if (flags.output === 'json') writeJson({ total, versions: items }, io);
  else io.out(historyText(items as ShownVersion[], total, io));
}

async function showCommand(text: string, flags: ServerFlags & OutputFlags, io: CliIo): Promise<void> {
  const version = wholeNumber('The version', text, 0);
  const client = createClient(flags, io);
  const isJson = flags.output === 'json';
  let entry: ShownVersion | undefined;
  const read = (data: unknown): unknown[] => {
    const { changes, ...rest } = data as ShownVersion & { readonly changes: unknown[] };
    entry ??= rest;
    return changes;
  };
  const path = `/config/versions/${version}`;
  const most = isJson ? Infinity : CHANGES_SHOWN_MAX;
  const { items, total } = await readPages(client, path, new URLSearchParams(), most, read);
  if (entry === undefined) throw new CliError(`The gateway did not describe config version ${version}`);
  if (isJson) writeJson({ ...entry, changes: items }, io);
  else io.out(versionText(entry, items as ShownRecordChange[], total, io));
}

async function diffCommand(
  from: string,
  to: string | undefined,
  flags: ServerFlags & OutputFlags & { readonly app?: string },
  io: CliIo,
): Promise<void> {
  const query = new URLSearchParams({ from: String(wholeNumber('The version', from, 0)) });
  if (to !== undefined) query.set('to', String(wholeNumber('The version', to, 0)));
  if (flags.app !== undefined) query.set('app', flags.app);
  const diff = (await createClient(flags, io).call(
    'GET',
    `/config/versions/diff?${query.toString()}`,
  )) as ShownDiff;
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
  let answer: GatewayAnswer;
  try {
    const client = createClient(flags, io);
    answer = await client.ask('POST', `/config/versions/${version}/rollback`, body);
  } catch (error) {
    if (!(error instanceof RefusedCall) || error.errors.length === 0) throw error;
    io.err(`headgate: ${error.message}\n`);
    for (const { pointer, detail } of error.errors) io.err(`  ${printable(pointer)} ${printable(detail)}\n`);
    return io.exit(EXIT_CODES.failed.code);
  }
  const done = answer.data as ShownRollback;
  writeWarnings(answer.warnings.map(withPointer), io);
  if (flags.output === 'json') writeJson(done, io);
  else io.out(rollbackText(done, !isTry, io));
  if (isTry && done.changes.length > 0) io.exit(EXIT_CODES.differs.code);
}

/** @param itemsOf returns the items in `data` of an answer */
async function readPages(
  client: GatewayClient,
  path: string,
  query: URLSearchParams,
  most: number,
  itemsOf = (data: unknown): unknown[] => data as unknown[],
): Promise<{ readonly items: unknown[]; readonly total: number }> {
  const items: unknown[] = [];
  for (;;) {
    query.set('limit', String(Math.max(1, Math.min(PAGE_LIMIT, most - items.length))));
    const { data, page } = await client.ask('GET', `${path}?${query.toString()}`);
    items.push(...itemsOf(data).slice(0, most - items.length));
    const cursor = page?.next_cursor ?? null;
    if (cursor === null || items.length >= most) return { items, total: page?.total ?? items.length };
    query.set('cursor', cursor);
  }
}

export function addHistoryCommands(config: Command, io: CliIo): void {
  const command = (name: string): Command => addOutputFlag(addServerFlags(config.command(name)));
  const version = 'number of a config version, as "config history" lists it';
  addExamples(
    command('history')
      .description('list the versions of the configuration, newest first')
      .option('--limit <count>', 'maximum number of versions to list', '20')
      .option('--app <slug>', 'only versions that changed this app; for a deleted app, give its id')
      .option('--actor <id>', 'only versions by this admin token')
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
