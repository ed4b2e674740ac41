/** `headgate context add | use | list | remove`: gateways by name, each with its token. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { CliError, printable, type CliIo } from '../io.ts';
import { addExamples, addOutputFlag, writeJson, type OutputFlags } from '../show/output-format.ts';
import { tableText } from '../show/text-table.ts';
import { CONTEXT_NAME, contextNamed, readContexts, writeContexts, type Context } from './contexts-file.ts';
import { checkedToken, parseServer, readToken } from './server-flags.ts';

interface AddFlags {
  readonly server: string;
  readonly tokenFile?: string;
  readonly ca?: string;
}

async function addContext(name: string, flags: AddFlags, io: CliIo): Promise<void> {
  if (!CONTEXT_NAME.test(name)) {
    throw new CliError(
      `A context cannot be called "${printable(name)}": expected up to 63 letters, digits, dots, underscores and dashes`,
    );
  }
  const { server } = parseServer(flags.server, '--server');
  const { current, byName } = readContexts(io);
  const context: Context = {
    server,
    token: await tokenOf(flags, server, io),
    ...(flags.ca !== undefined && { ca: resolve(flags.ca) }),
  };
  const path = writeContexts(io, { current: current ?? name, byName: new Map(byName).set(name, context) });
  io.out(`Context ${name} is stored in ${path}${current === undefined ? ', and is the current one' : ''}.\n`);
}

async function tokenOf({ tokenFile }: AddFlags, server: string, io: CliIo): Promise<string> {
  if (tokenFile !== undefined) return readToken(tokenFile, io);
  if (io.askSecret === undefined) return readToken('-', io);
  const typed = (await io.askSecret(`Admin token for ${server}: `)).trim();
  if (typed === '') throw new CliError('Nothing was entered');
  return checkedToken(typed);
}

function useContext(name: string, io: CliIo): void {
  const contexts = readContexts(io);
  contextNamed(name, contexts);
  writeContexts(io, { ...contexts, current: name });
  io.out(`Context ${name} is the current one.\n`);
}

function removeContext(name: string, io: CliIo): void {
  const contexts = readContexts(io);
  contextNamed(name, contexts);
  const { current, byName } = contexts;
  const rest = new Map(byName);
  rest.delete(name);
  writeContexts(io, { current: current === name ? undefined : current, byName: rest });
  io.out(`Context ${name} is removed.${current === name ? ' No context is the current one.' : ''}\n`);
}

/** Lists the contexts without their tokens. */
function listContexts({ output }: OutputFlags, io: CliIo): void {
  const { current, byName } = readContexts(io);
  const rows = [...byName].map(([name, { server, ca, token }]) => ({
    name,
    server,
    ca: ca ?? null,
    has_token: token !== undefined,
    is_current: name === current,
  }));
  if (output === 'json') return writeJson(rows, io);
  const columns = [
    { title: '', value: (row: (typeof rows)[number]) => (row.is_current ? '*' : ' ') },
    { title: 'NAME', value: (row: (typeof rows)[number]) => row.name },
    { title: 'CA', value: (row: (typeof rows)[number]) => row.ca },
    { title: 'SERVER', value: (row: (typeof rows)[number]) => row.server },
  ];
  io.out(tableText(columns, rows, io));
}

export function addContextCommands(program: Command, io: CliIo): void {
  const context = program
    .command('context')
    .description('stored gateways: their addresses and admin tokens, in a file that only you can read');
  addExamples(
    context
      .command('add')
      .description('store a gateway, or change a stored one; asks for the token on a terminal')
      .argument('<name>', 'name of the context')
      .requiredOption('--server <url>', 'management API of the gateway')
      .option('--token-file <file>', 'file with the admin token; - is standard input')
      .option('--ca <file>', 'PEM file of the authority of its certificate')
      .action((name: string, flags: AddFlags) => addContext(name, flags, io)),
    'headgate context add local --server http://127.0.0.1:9090 --token-file data/admin-token',
    'headgate context add prod --server https://gateway.internal --ca authority.pem   # asks for the token',
  );
  addExamples(
    context
      .command('use')
      .description('choose the context for commands that do not name one')
      .argument('<name>', 'a stored context')
      .action((name: string) => useContext(name, io)),
    'headgate context use prod',
  );
  addExamples(
    addOutputFlag(context.command('list'))
      .description('list the stored contexts, without their tokens')
      .action((flags: OutputFlags) => listContexts(flags, io)),
    'headgate context list',
  );
  addExamples(
    context
      .command('remove')
      .description('forget a context and its token')
      .argument('<name>', 'a stored context')
      .action((name: string) => removeContext(name, io)),
    'headgate context remove prod',
  );
}
