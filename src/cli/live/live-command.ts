/** `headgate live`: the exchanges of a gateway as they end, a line each. */
import type { IncomingMessage } from 'node:http';
import type { Command } from 'commander';
import { visibleJson } from '../../lib/text/visible-json.ts';
import { queryText } from '../connection/query.ts';
import { addServerFlags, type ServerFlags } from '../connection/server-flags.ts';
import type { Json } from '../everyday/everyday-command.ts';
import { createClient } from '../gateway-client.ts';
import { CliError, printable, type CliIo } from '../io.ts';
import { painter } from '../show/colour.ts';
import { addExamples, addOutputFlag, type OutputFlags } from '../show/output-format.ts';
import { wholeNumber } from '../whole-number.ts';
import { readEvents } from './event-lines.ts';

interface LiveFlags extends ServerFlags, OutputFlags {
  readonly app?: string;
  readonly status?: string;
  readonly key?: string;
  readonly path?: string;
  readonly method?: string;
  readonly reason?: string;
  readonly perSecond?: string;
  readonly count?: string;
}

async function live(flags: LiveFlags, io: CliIo): Promise<void> {
  const countMax = flags.count === undefined ? Infinity : wholeNumber('--count', flags.count, 1);
  const { body, broken } = await createClient(flags, io).open(pathOf(flags));
  try {
    await follow(body, flags, countMax, io);
  } catch (error) {
    throw error instanceof CliError ? error : broken(error);
  } finally {
    body.destroy();
  }
}

/** Writes exchanges until there were `count` of them. @throws CliError when the stream ends earlier */
async function follow(
  body: IncomingMessage,
  { output }: LiveFlags,
  countMax: number,
  io: CliIo,
): Promise<void> {
  let written = 0;
  let missed = 0;
  for await (const { event, data } of readEvents(body.setEncoding('utf8') as AsyncIterable<string>)) {
    const value: Json = JSON.parse(data);
    if (event === 'status') {
      const now = value.dropped + value.lost;
      if (now > missed && output === 'text') {
        io.err(`${now - missed} more were seen and not shown; narrow the filter, or raise --per-second\n`);
      }
      missed = now;
    }
    if (event !== 'exchange') continue;
    io.out(output === 'json' ? `${visibleJson(value)}\n` : lineOf(value, io));
    written += 1;
    if (written === countMax) return;
  }
  throw new CliError('The gateway ended the stream: it is stopping, or the token is no longer valid');
}

function lineOf(exchange: Json, io: CliIo): string {
  const { time, status, method, path, app, caller, code, aborted, duration_ms: durationMs, id } = exchange;
  const style = status === null || status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green';
  const who = caller === null || caller.kind === 'anonymous' ? undefined : caller.name;
  const words = [
    time,
    painter(io)(style, String(status ?? '-')),
    printable(`${method === '' ? '-' : method} ${path}`),
    `${durationMs} ms`,
    app !== null && printable(`app=${app.slug}`),
    who !== undefined && printable(`caller=${who}`),
    code !== null ? printable(`reason=${code}`) : aborted && 'aborted',
    `id=${printable(id)}`,
  ];
  return `${words.filter((word) => word !== false && word !== '').join('  ')}\n`;
}

function pathOf({ app, status, key, path, method, reason, perSecond }: LiveFlags): string {
  return `/live${queryText({ app, status, key, path, method, reason, per_second: perSecond })}`;
}

export function addLiveCommand(program: Command, io: CliIo): void {
  const command = program
    .command('live')
    .description('show the exchanges of the gateway as they end, one line for each')
    .option('--app <slug>', 'only of this app')
    .option('--status <statuses>', 'only these: 2xx, 404, ">=500", or several separated by commas')
    .option('--key <caller>', 'only of this caller: id or name of a key, or subject of a token')
    .option('--path <start>', 'only paths that begin with this text')
    .option('--method <name>', 'only this method')
    .option('--reason <code>', 'only with this code of a denial or failure')
    .option(
      '--per-second <count>',
      'maximum number of exchanges to show in a second, spread evenly; default: 20',
    )
    .option('--count <count>', 'end after this number of exchanges');
  addExamples(
    addOutputFlag(addServerFlags(command)),
    'headgate live --status 4xx,5xx',
    'headgate live --app shop --output json | jq .path   # one JSON document per line',
  ).action((flags: LiveFlags) => live(flags, io));
}
