/** `headgate try METHOD PATH`: sends one real request through the gateway and shows the response. */
import type { Command } from 'commander';
import { addServerFlags, type ServerFlags } from '../connection/server-flags.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { createClient } from '../gateway-client.ts';
import { printable, type CliIo } from '../io.ts';
import { painter } from '../show/colour.ts';
import { addExamples, addOutputFlag, writeJson, type OutputFlags } from '../show/output-format.ts';
import { wholeNumber } from '../whole-number.ts';
import { keyIn } from './key-commands.ts';
import { textOf } from '../input.ts';
import type { Json } from './everyday-command.ts';
import { addHeaderFlag, headerField } from './request-flags.ts';

interface TryFlags extends ServerFlags, OutputFlags {
  readonly header: readonly string[];
  readonly data?: string;
  readonly host?: string;
  readonly keyFile?: string;
  readonly timeoutMs?: string;
}

/** Exit code 1 when there was no response; a response is shown whatever its status is. */
async function tryRequest(method: string, path: string, flags: TryFlags, io: CliIo): Promise<void> {
  const data = (await createClient(flags, io).call('POST', '/try', bodyOf(method, path, flags, io))) as Json;
  if (flags.output === 'json') writeJson(data, io);
  else io.out(outcomeText(data, io));
  if (data.status === null) io.exit(EXIT_CODES.failed.code);
}

function bodyOf(method: string, path: string, flags: TryFlags, io: CliIo): Record<string, unknown> {
  const { data, host, keyFile, timeoutMs } = flags;
  const headers = flags.header.map(headerField);
  if (keyFile !== undefined) headers.push(['Authorization', `Bearer ${keyIn(keyFile, io)}`]);
  const body = data?.startsWith('@') === true ? textOf(data.slice(1), io) : data;
  return {
    method,
    path,
    ...(headers.length > 0 && { headers }),
    ...(host !== undefined && { host }),
    ...(body !== undefined && { body }),
    ...(timeoutMs !== undefined && { timeout_ms: wholeNumber('--timeout-ms', timeoutMs, 1) }),
  };
}

function outcomeText(data: Json, io: CliIo): string {
  const { status, headers, body, body_encoding: encoding, truncated, problem, denial } = data;
  const paint = painter(io);
  const style = status !== null && status < 400 ? 'green' : 'red';
  const lines = [paint(style, status === null ? 'No answer' : String(status))];
  for (const [name, value] of headers as [string, string][]) lines.push(printable(`${name}: ${value}`));
  if (body !== '') {
    const shown = encoding === 'text' ? body.split('\n').map(printable).join('\n') : `base64: ${body}`;
    lines.push('', shown.trimEnd());
  }
  const notes = [
    ...(problem === null ? [] : [`The answer is incomplete: ${problem}`]),
    ...(truncated && problem === null ? ['Only the beginning of the body is shown'] : []),
    ...(denial === null
      ? []
      : [`Refused by ${denial.stage ?? 'the gateway'}: ${denial.detail ?? denial.code}`]),
    ...(denial?.fix ? [`Fix: ${denial.fix}`] : []),
    `Client address that policies saw: ${data.client_address ?? '-'}; ${data.duration_ms} ms`,
  ];
  return `${[...lines, '', ...notes.map(printable)].join('\n')}\n`;
}

export function addTryCommand(program: Command, io: CliIo): void {
  const command = program
    .command('try')
    .description('send one real request through the gateway and show what a client would get')
    .argument('<method>', 'such as GET')
    .argument('<path>', 'path with its query, as it is sent');
  addHeaderFlag(command)
    .option('-d, --data <text>', 'body; @file is the content of a file, @- standard input')
    .option('--host <name>', 'Host field; default: localhost')
    .option('--key-file <file>', 'file with the API key or JWT of the caller; - is standard input')
    .option('--timeout-ms <count>', 'how long the answer may take; default: 10000, at most 30000');
  addExamples(
    addOutputFlag(addServerFlags(command)),
    'headgate try GET /shop/v1/items',
    'headgate try POST /shop/v1/items -H "Content-Type: application/json" -d @item.json --key-file key.txt',
  ).action((method: string, path: string, flags: TryFlags) => tryRequest(method, path, flags, io));
}
