/**
 * `headgate api METHOD PATH [BODY]`: any call of the management API, with the connection and the token of the other
 * commands.
 */
import type { Command } from 'commander';
import { addServerFlags } from '../connection/server-flags.ts';
import { createClient, type Method, type ServerFlags } from '../gateway-client.ts';
import { textOf } from '../input.ts';
import { CliError, printable, type CliIo } from '../io.ts';
import { addExamples, withPointer, writeJson, writeWarnings } from '../show/output-format.ts';

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** What the documents of the API write before each path. */
const PREFIX = /^\/api\/v1(?=\/|$)/;

async function apiCommand(
  given: string,
  path: string,
  body: string | undefined,
  flags: ServerFlags,
  io: CliIo,
): Promise<void> {
  const method = METHODS.find((each) => each === given.toUpperCase());
  if (method === undefined)
    throw new CliError(`The method ${printable(given)} is unknown; expected one of ${METHODS.join(', ')}`);
  if (!path.startsWith('/'))
    throw new CliError(
      `The path ${printable(path)} is not one of the management API; expected one such as /apps`,
    );
  const own = path.replace(PREFIX, '');
  const value = body === undefined ? undefined : valueOf(body, io);
  const answer = await createClient(flags, io).ask(method, own, value);
  writeWarnings(answer.warnings.map(withPointer), io);
  if (answer.status !== 204) writeJson(answer.data, io);
  const next = answer.page?.next_cursor;
  if (typeof next === 'string') io.err(`There are more: add cursor=${printable(next)} to the query.\n`);
}

/** @param body JSON, `@` and the name of a file with it, or `-` for standard input */
function valueOf(body: string, io: CliIo): unknown {
  const file = body === '-' ? '-' : body.startsWith('@') ? body.slice(1) : undefined;
  const text = file === undefined ? body : textOf(file, io);
  try {
    return JSON.parse(text);
  } catch (error) {
    const place = file === undefined ? 'The body' : file === '-' ? 'Standard input' : file;
    throw new CliError(`${place} is not JSON: ${printable((error as Error).message)}`);
  }
}

export function addApiCommand(program: Command, io: CliIo): void {
  const command = program
    .command('api')
    .description('call the management API, and print the data of its answer as JSON')
    .argument('<method>', METHODS.join(', '))
    .argument('<path>', 'path below /api/v1, with its query')
    .argument('[body]', 'JSON; @file is the content of a file, - is standard input');
  addExamples(
    addServerFlags(command),
    "headgate api GET '/apps?limit=10'",
    `headgate api PATCH /apps/shop '{"default_policy": {"auth": {"auth_type": "api_key"}}}'`,
    'headgate api POST /apps @shop.json',
  ).action((method: string, path: string, body: string | undefined, flags: ServerFlags) =>
    apiCommand(method, path, body, flags, io),
  );
}
