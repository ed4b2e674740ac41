/**
 * Creates commands from the tables: arguments and options for commander, the call, and the answer in both output
 * formats.
 */
import type { Command } from 'commander';
import { EXIT_CODES } from '../exit-codes.ts';
import { queryText } from '../connection/query.ts';
import { addServerFlags } from '../connection/server-flags.ts';
import { createClient, RefusedCall, type GatewayAnswer, type ServerFlags } from '../gateway-client.ts';
import { textOf } from '../input.ts';
import { CliError, printable, type CliIo } from '../io.ts';
import { writeProblems } from '../show/field-errors.ts';
import {
  addExamples,
  addOutputFlag,
  writeJson,
  writeWarnings,
  type OutputFlags,
} from '../show/output-format.ts';
import { withProgress } from '../show/progress.ts';
import { recordText, tableText } from '../show/text-table.ts';
import { wholeNumber } from '../whole-number.ts';
import { ARGUMENTS, type EverydayCommand, type EverydayGroup, type Json } from './everyday-command.ts';
import { listAll } from './pages.ts';
import { pathOf } from './named-records.ts';

interface EverydayFlags extends ServerFlags, OutputFlags {
  readonly file?: string;
  readonly dryRun?: true;
  readonly limit?: string;
  readonly quiet?: true;
  readonly [option: string]: unknown;
}

const ROWS_DEFAULT = 1_000;
const ROWS_MAX = 1_000_000;

export function addGroup(program: Command, group: EverydayGroup, io: CliIo): void {
  const parent = program.command(group.name).description(group.summary);
  for (const spec of group.commands) addCommand(parent, spec, io);
}

export function addCommand(parent: Command, spec: EverydayCommand, io: CliIo): void {
  const command = parent.command(spec.name).description(spec.summary);
  const names = placeholdersOf(spec.path);
  for (const name of names) command.argument(`<${name.replaceAll('_', '-')}>`, ARGUMENTS[name] ?? name);
  if (spec.made !== undefined) command.argument(`<${spec.made.argument}>`, spec.made.description);
  if (spec.argument !== undefined) command.argument(`<${spec.argument.name}>`, spec.argument.description);
  if (spec.fields !== undefined) {
    command.argument('[field=value...]', fieldsHelp(spec));
    command.option('--file <file>', 'YAML or JSON file with fields; - is standard input');
  }
  for (const { flags, description, default: usual } of spec.options ?? []) {
    command.option(flags, description, usual);
  }
  if (spec.offline !== undefined) command.option(`--${spec.offline.flag}`, spec.offline.description);
  if (spec.isPaged) command.option('--limit <count>', `maximum number of rows; default: ${ROWS_DEFAULT}`);
  if (spec.takesDryRun) command.option('--dry-run', 'run every check, but change nothing');
  if (spec.shown.as === 'secret') command.option('-q, --quiet', 'print only the value');
  addExamples(addOutputFlag(addServerFlags(command)), ...spec.examples).action(
    async (...args: readonly unknown[]) => {
      const flags = args.at(-2) as EverydayFlags;
      await run(spec, args.slice(0, -2), flags, io);
    },
  );
}

function placeholdersOf(path: string): string[] {
  return Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name);
}

function fieldsHelp({ fields }: EverydayCommand): string {
  if (fields === 'traffic') return 'weights, such as stable=90 canary=10';
  const policy = /^(?:app|revision|endpoint)$/.test(fields ?? '')
    ? '; policy.x is field x of the policy'
    : '';
  return `fields of the record; a dot leads into an object, a list is a,b,c, null clears, @file is the content of a file${policy}`;
}

async function run(
  spec: EverydayCommand,
  args: readonly unknown[],
  flags: EverydayFlags,
  io: CliIo,
): Promise<void> {
  if (spec.offline !== undefined && flags[spec.offline.flag] === true) {
    const data = await spec.offline.data();
    return flags.output === 'json' ? writeJson(data, io) : io.out(spec.offline.text(data));
  }
  const names = placeholdersOf(spec.path);
  const given = Object.fromEntries(names.map((name, index) => [name, String(args[index])]));
  const body = await bodyOf(spec, args.slice(names.length), flags, io);
  const rowsMax = rowsMaxOf(flags);
  const client = createClient(flags, io);
  try {
    await withProgress(io, `Waiting for ${client.server}`, async (progress) => {
      const path = (await pathOf(spec.path, given, client)) + queryOf(spec, flags, args[names.length]);
      if (spec.isPaged) {
        const listed = await listAll(client, path, rowsMax);
        progress.end();
        return showList(spec, listed.rows, listed.total, flags, io);
      }
      const answer = await client.ask(spec.method, path, body);
      progress.end();
      writeWarnings(answer.warnings, io);
      show(spec, answer, given, flags, io);
      if (spec.isFailed?.(answer.data) === true) io.exit(EXIT_CODES.failed.code);
      return undefined;
    });
  } catch (error) {
    throw withOwnOption(error, spec);
  }
}

/** The gateway names its query parameter; this adds the option of the command. */
function withOwnOption(error: unknown, { options }: EverydayCommand): unknown {
  if (!(error instanceof RefusedCall) || error.code !== 'has_children') return error;
  const cascade = options?.find(({ query }) => query === 'cascade');
  return cascade === undefined ? error : new CliError(`${error.message} (here the option ${cascade.flags})`);
}

async function bodyOf(
  spec: EverydayCommand,
  rest: readonly unknown[],
  flags: EverydayFlags,
  io: CliIo,
): Promise<Record<string, unknown> | undefined> {
  if (spec.method === 'GET' || spec.method === 'DELETE') return undefined;
  const body: Record<string, unknown> = { ...spec.body };
  if (spec.made !== undefined) Object.assign(body, spec.made.fields(String(rest[0])));
  for (const option of spec.options ?? []) {
    const value = optionValue(option.flags, flags);
    if (value !== undefined && option.body !== undefined) Object.assign(body, option.body(value, io));
  }
  if (spec.fields === undefined) return body;
  const { fieldsOf, merged } = await import('./fields.ts');
  const { BODY_SCHEMAS } = await import('./body-schemas.ts');
  const assignments = (rest.at(-1) ?? []) as readonly string[];
  const file = (path: string): string => textOf(path, io).replace(/\r?\n$/, '');
  const fields = fieldsOf(assignments, BODY_SCHEMAS[spec.fields], { file });
  const ofFile = flags.file === undefined ? {} : await fileFields(flags.file, io);
  const whole = merged(merged(body, ofFile), fields);
  if (spec.method === 'PATCH' && Object.keys(whole).length === 0) {
    throw new CliError('No change is given; expected field=value, or --file');
  }
  return whole;
}

async function fileFields(path: string, io: CliIo): Promise<Record<string, unknown>> {
  const { readDocument } = await import('../../declaration/yaml-reader.ts');
  const read = readDocument(path === '-' ? '<stdin>' : path, Buffer.from(textOf(path, io)));
  if (!('locate' in read)) {
    writeProblems(read, io);
    throw new CliError(`Cannot read ${path}`);
  }
  const { value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CliError(`${path} must be a mapping of fields`);
  }
  return value as Record<string, unknown>;
}

function queryOf(spec: EverydayCommand, flags: EverydayFlags, argument: unknown): string {
  const fields: Record<string, string> = {};
  if (spec.argument !== undefined) fields[spec.argument.query] = String(argument);
  for (const { flags: option, query: name } of spec.options ?? []) {
    const value = name === undefined ? undefined : optionValue(option, flags);
    if (name !== undefined && value !== undefined) fields[name] = value === true ? 'true' : (value as string);
  }
  if (flags.dryRun) fields['dry_run'] = 'true';
  return queryText(fields);
}

/** The value of an option, under the name that commander derives from `--long-flag <value>`. */
function optionValue(option: string, flags: EverydayFlags): unknown {
  const long = /--([a-z-]+)/.exec(option)?.[1] ?? '';
  return flags[long.replaceAll(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase())];
}

function rowsMaxOf({ limit }: EverydayFlags): number {
  if (limit === undefined) return ROWS_DEFAULT;
  return wholeNumber('--limit', limit, 1, ROWS_MAX);
}

function showList(
  { shown }: EverydayCommand,
  rows: readonly Json[],
  total: number,
  { output }: OutputFlags,
  io: CliIo,
): void {
  if (output === 'json') writeJson(rows, io);
  else if (shown.as === 'list') io.out(tableText(shown.columns, rows, io));
  if (rows.length < total) io.err(`Shown: ${rows.length} of ${total}; --limit raises it.\n`);
}

function show(
  { shown }: EverydayCommand,
  { data, message }: GatewayAnswer,
  given: Readonly<Record<string, string>>,
  flags: EverydayFlags,
  io: CliIo,
): void {
  if (flags.output === 'json') return writeJson(data ?? null, io);
  if (flags.dryRun) return showDryRun(data, io);
  if (shown.as === 'list') io.out(tableText(shown.columns, shown.rows?.(data) ?? (data as Json[]), io));
  else if (shown.as === 'text') io.out(shown.text(data, io));
  else if (shown.as === 'done') io.out(`${withNames(shown.text, given)}\n`);
  else if (shown.as === 'record') io.out(recordText(data as Record<string, unknown>, io));
  else showSecret(data as Json, shown.field, message, flags, io);
}

function withNames(text: string, given: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (_match, name: string) => printable(given[name] ?? name));
}

function showSecret(data: Json, field: string, message: string, { quiet }: EverydayFlags, io: CliIo): void {
  const value = printable(String(data[field]));
  if (quiet) return io.out(`${value}\n`);
  const { [field]: _secret, ...rest } = data;
  io.out(`${printable(message)}.\n\n${recordText(rest, io)}\nShown only now: ${value}\n`);
}

export function showDryRun(data: Json, io: CliIo): void {
  const { would_answer: would, endpoints_total: endpoints, keys_total: keys, endpoints: changes } = data;
  io.out(`Nothing was changed. The answer would be: ${would.status} ${printable(would.message)}.\n`);
  io.out(`Endpoints that would change: ${endpoints}; keys: ${keys}.\n`);
  if (endpoints === 0) return;
  const columns = [
    { title: 'CHANGE', value: ({ change }: Json) => change },
    { title: 'VERSION', value: ({ version }: Json) => version },
    { title: 'ROUTE', value: ({ before, after }: Json) => (after ?? before)?.route },
    { title: 'PARTS', value: ({ parts }: Json) => parts.map(({ part }: Json) => part) },
  ];
  io.out(tableText(columns, changes, io));
}
