/** `headgate transaction FILE`: several calls of the management API, all or none, from a list in YAML or JSON. */
import type { Command } from 'commander';
import { nearestPlace } from '../../declaration/merge-documents.ts';
import type { DeclaredDocument, Problem } from '../../declaration/yaml-reader.ts';
import { gitCommit } from '../config/git-commit.ts';
import { addServerFlags } from '../connection/server-flags.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { createClient, RefusedCall, type GatewayAnswer, type ServerFlags } from '../gateway-client.ts';
import { readInput } from '../input.ts';
import { printable, type CliIo } from '../io.ts';
import { inFileAt, writeProblems, writeRefusal } from '../show/field-errors.ts';
import {
  addExamples,
  addOutputFlag,
  withPointer,
  writeJson,
  writeWarnings,
  type OutputFlags,
} from '../show/output-format.ts';
import { tableText } from '../show/text-table.ts';
import { showDryRun } from './add-command.ts';

interface TransactionFlags extends ServerFlags, OutputFlags {
  readonly dryRun?: true;
}

interface ShownAnswer {
  readonly id: string | null;
  readonly operation: string;
  readonly status: number;
  readonly body: { readonly data?: Readonly<Record<string, unknown>> | null } | null;
}

async function transactionCommand(path: string, flags: TransactionFlags, io: CliIo): Promise<void> {
  const document = await readOperations(path, io);
  if (document === undefined) return io.exit(EXIT_CODES.failed.code);
  const isList = Array.isArray(document.value);
  const inFile = inFileAt(isList ? '/operations' : '', (pointer) => nearestPlace([document], pointer));
  const body = isList ? { operations: document.value } : document.value;
  const client = createClient(flags, io, 'authenticated', {
    source: 'cli',
    commit: gitCommit(undefined, [path]),
  });
  let answer: GatewayAnswer;
  try {
    answer = await client.ask('POST', `/transaction${flags.dryRun === true ? '?dry_run=true' : ''}`, body);
  } catch (error) {
    if (!(error instanceof RefusedCall) || error.errors.length === 0) throw error;
    writeRefusal(error, inFile, io);
    return io.exit(EXIT_CODES.failed.code);
  }
  writeWarnings(answer.warnings.map(inFile).map(withPointer), io);
  if (flags.output === 'json') writeJson(answer.data, io);
  else if (flags.dryRun === true) showDryRun(answer.data, io);
  else showAnswers(answer, io);
}

/** undefined when the file has problems; they have been printed. */
async function readOperations(path: string, io: CliIo): Promise<DeclaredDocument | undefined> {
  // Loaded only here, because loading takes long.
  const { DOCUMENT_BYTES_MAX, readDocument } = await import('../../declaration/yaml-reader.ts');
  const bytes = readInput(path, DOCUMENT_BYTES_MAX, io);
  const read: DeclaredDocument | readonly Problem[] = readDocument(path, bytes);
  if ('value' in read) return read;
  writeProblems(read, io);
  return undefined;
}

function showAnswers({ message, data }: GatewayAnswer, io: CliIo): void {
  const { operations } = data as { readonly operations: readonly ShownAnswer[] };
  const columns = [
    { title: 'ID', value: ({ id }: ShownAnswer) => id },
    { title: 'OPERATION', value: ({ operation }: ShownAnswer) => operation },
    { title: 'STATUS', value: ({ status }: ShownAnswer) => status },
    { title: 'RECORD', value: nameOf },
  ];
  io.out(`${printable(message)}.\n\n${tableText(columns, operations, io)}`);
  const keys = operations.filter(({ body }) => typeof body?.data?.['token'] === 'string');
  for (const key of keys)
    io.out(
      `\nShown only now, of ${printable(nameOf(key) ?? 'a key')}: ${String(key.body?.data?.['token'])}\n`,
    );
}

/** The name of the record in an answer. */
function nameOf({ body }: ShownAnswer): string | undefined {
  const { slug, version, revision, method, path, name } = body?.data ?? {};
  const endpoint = method === undefined ? undefined : [method, path].join(' ');
  const label = slug ?? revision ?? endpoint ?? version ?? name;
  return typeof label === 'string' ? label : undefined;
}

export function addTransactionCommand(program: Command, io: CliIo): void {
  const command = program
    .command('transaction')
    .description('run several calls of the management API, all or none')
    .argument('<file>', 'list of operations in YAML or JSON; - is standard input')
    .option('--dry-run', 'show what would change, and change nothing');
  addExamples(
    addOutputFlag(addServerFlags(command)),
    'headgate transaction changes.yaml --dry-run',
    'headgate transaction changes.yaml',
    'headgate transaction changes.json --output json',
  ).action((file: string, flags: TransactionFlags) => transactionCommand(file, flags, io));
}
