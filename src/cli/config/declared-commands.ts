/**
 * The actions of `headgate config validate | plan | apply | dump`. Exit code 0: no differences; 2: a plan found
 * differences; 1: an error. Apply exits with 0 when it has done what was asked. commands.ts has the names and
 * options of these commands.
 */
import { visibleJson } from '../../lib/text/visible-json.ts';
import { startOf } from '../../declaration/field-lines.ts';
import { readFileSync } from 'node:fs';
import { escapeReferences } from '../../declaration/references.ts';
import { writeYaml } from '../../declaration/yaml-writer.ts';
import type { DeclaredDocument, Problem } from '../../declaration/yaml-reader.ts';
import {
  readDeclared,
  resolveDeclared,
  type DeclaredFiles,
} from '../../management/declaration/declared-files.ts';
import { queryText } from '../connection/query.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { createClient, RefusedCall, type GatewayClient, type ServerFlags } from '../gateway-client.ts';
import { CliError, type CliIo } from '../io.ts';
import { writeOutputFile } from '../output-file.ts';
import { inFileAt, writeProblems, writeRefusal } from '../show/field-errors.ts';
import { withPointer, writeJson, writeWarnings, type OutputFlags } from '../show/output-format.ts';
import { wholeNumber } from '../whole-number.ts';
import { checkOffline } from './check-offline.ts';
import { gitCommit } from './git-commit.ts';
import { planText, type ShownPlan } from './plan-text.ts';

export interface ChangeFlags extends ServerFlags, OutputFlags {
  readonly adopt?: true;
  readonly prune?: true;
  readonly maxDeletes?: string;
}

export interface PlanFlags extends ChangeFlags {
  readonly out?: string;
  readonly traffic: boolean;
}

export interface ApplyFlags extends ChangeFlags {
  readonly rebase?: true;
  readonly message?: string;
  readonly commit?: string;
}

export interface DumpFlags extends ServerFlags {
  readonly app?: string;
  readonly owner?: string;
  readonly at?: string;
  readonly out?: string;
  readonly output: 'yaml' | 'json';
}

/** A plan as a file: contains the declaration as written, without resolved references, so that it has no secrets. */
interface PlanFile {
  readonly headgate_plan: 1;
  readonly base_version: number;
  readonly documents: readonly { readonly file: string; readonly value: unknown }[];
  readonly options: Readonly<Record<string, unknown>>;
  /** The Git commit of the files. */
  readonly commit?: string;
}

export async function validateCommand(
  paths: readonly string[],
  flags: OutputFlags,
  io: CliIo,
): Promise<void> {
  const files = declaredOrFail(readDeclared(paths, io), flags, io);
  if (files === undefined) return;
  const { errors, warnings } = await checkOffline(files.config);
  const problems = errors.map((error) => ({ ...files.locate(error.pointer), ...error }));
  if (problems.length > 0) return fail(problems, flags, io);
  writeWarnings(warnings.map(inConfig(files)).map(withPointer), io);
  if (flags.output === 'json') io.out(`${JSON.stringify({ valid: true })}\n`);
  else io.out('The configuration is valid.\n');
}

export async function planCommand(paths: readonly string[], flags: PlanFlags, io: CliIo): Promise<void> {
  const files = declaredOrFail(readDeclared(paths, io), flags, io);
  if (files === undefined) return;
  const options = optionsOf(flags);
  const asked = { ...options, traffic: flags.traffic };
  const plan = await ask(createClient(flags, io), '/config/plan', files, asked, flags, io);
  if (plan === undefined) return;
  if (flags.out !== undefined) {
    const { base_version } = plan;
    const documents = files.documents.map(({ file, value }) => ({ file, value }));
    const commit = gitCommit(undefined, paths);
    const saved: PlanFile = { headgate_plan: 1, base_version, documents, options, ...(commit && { commit }) };
    writeOutputFile(flags.out, `${JSON.stringify(saved, undefined, 2)}\n`, 'private');
  }
  show(plan, false, flags, io);
  if (plan.changes.length > 0) io.exit(EXIT_CODES.differs.code);
}

export async function applyCommand(paths: readonly string[], flags: ApplyFlags, io: CliIo): Promise<void> {
  const saved = savedPlan(paths);
  const read = saved === undefined ? readDeclared(paths, io) : resolveDeclared(documentsOf(saved), io);
  const files = declaredOrFail(read, flags, io);
  if (files === undefined) return;
  const body = {
    ...saved?.options,
    ...optionsOf(flags),
    ...(saved !== undefined && { base_version: saved.base_version }),
    ...(flags.rebase === true && { rebase: true }),
    ...(flags.message !== undefined && { message: flags.message }),
  };
  const commit = gitCommit(flags.commit ?? saved?.commit, paths);
  const client = createClient(flags, io, 'authenticated', { source: 'cli', commit });
  const done = await ask(client, '/config/apply', files, body, flags, io);
  if (done !== undefined) show(done, true, flags, io);
}

export async function dumpCommand(flags: DumpFlags, io: CliIo): Promise<void> {
  const { app, owner, at: version } = flags;
  const path = `/config${queryText({ app, owner, version })}`;
  const data = (await createClient(flags, io).call('GET', path)) as { readonly config: unknown };
  const config = escapeReferences(data.config);
  const text = flags.output === 'json' ? `${visibleJson(config, 2)}\n` : writeYaml(config);
  if (flags.out === undefined) io.out(text);
  else writeOutputFile(flags.out, text, 'usual');
}

/** undefined when there were problems; they have been printed. */
function declaredOrFail(
  read: DeclaredFiles | readonly Problem[],
  flags: OutputFlags,
  io: CliIo,
): DeclaredFiles | undefined {
  if ('config' in read) return read;
  fail(read, flags, io);
  return undefined;
}

function fail(problems: readonly Problem[], { output }: OutputFlags, io: CliIo): void {
  if (output === 'json') writeJson({ valid: false, problems }, io);
  else writeProblems(problems, io);
  io.exit(EXIT_CODES.failed.code);
}

function optionsOf({ adopt, prune, maxDeletes }: ChangeFlags): Record<string, unknown> {
  return {
    ...(adopt === true && { adopt }),
    ...(prune === true && { prune }),
    ...(maxDeletes !== undefined && { max_deletes: wholeNumber('--max-deletes', maxDeletes, 0) }),
  };
}

/** undefined when the gateway found problems in the files; they have been printed. */
async function ask(
  client: GatewayClient,
  path: string,
  files: DeclaredFiles,
  options: Readonly<Record<string, unknown>>,
  flags: OutputFlags,
  io: CliIo,
): Promise<ShownPlan | undefined> {
  try {
    const { data, warnings } = await client.ask('POST', path, { ...options, config: files.config });
    writeWarnings(warnings.map(inConfig(files)).map(withPointer), io);
    return data as ShownPlan;
  } catch (error) {
    if (!(error instanceof RefusedCall) || error.errors.length === 0) throw error;
    if (flags.output === 'text') writeRefusal(error, inConfig(files), io);
    else writeJson({ valid: false, problems: error.errors.map(inConfig(files)) }, io);
    io.exit(EXIT_CODES.failed.code);
    return undefined;
  }
}

const inConfig = (files: DeclaredFiles) => inFileAt('/config', (pointer) => files.locate(pointer));

function show(plan: ShownPlan, done: boolean, { output }: OutputFlags, io: CliIo): void {
  if (output === 'json') writeJson(plan, io);
  else io.out(planText(plan, done, io));
}

/** The plan, if the only path names a saved plan. */
function savedPlan([path, ...more]: readonly string[]): PlanFile | undefined {
  if (path === undefined || more.length > 0 || !path.endsWith('.json')) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || !('headgate_plan' in value)) return undefined;
  if (value.headgate_plan !== 1)
    throw new CliError(`${path} is a plan that another version of Headgate has made; make a new plan`);
  return value as PlanFile;
}

/** The documents of a plan with their places at that time: the files may have changed since. */
function documentsOf({ documents }: PlanFile): DeclaredDocument[] {
  return documents.map(({ file, value }) => ({
    file,
    value,
    locate: () => startOf(file),
  }));
}
