/**
 * `headgate events`: what happened to the gateways, a line each; with `--follow` as it happens. A broken stream is
 * resumed at its last event, by whichever gateway answers, so that no event is missed or shown twice.
 */
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { visibleJson } from '../../lib/text/visible-json.ts';
import { EVENT_TYPES } from '../../model/events/events.ts';
import { queryText } from '../connection/query.ts';
import { addServerFlags, type ServerFlags } from '../connection/server-flags.ts';
import type { Json } from '../everyday/everyday-command.ts';
import { listAll } from '../everyday/pages.ts';
import { createClient, RefusedCall, type GatewayClient } from '../gateway-client.ts';
import { CliError, printable, type CliIo } from '../io.ts';
import { readEvents } from '../live/event-lines.ts';
import { painter } from '../show/colour.ts';
import { addExamples, addOutputFlag, writeJson, type OutputFlags } from '../show/output-format.ts';
import { wholeNumber } from '../whole-number.ts';

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 100_000;
const AGAIN_MS = 1_000;
/** Attempts in a row without an answer, after which following ends. */
const TRIES_MAX = 120;
const STYLES: Readonly<Record<string, 'green' | 'yellow' | 'red'>> = { warning: 'yellow', error: 'red' };

interface EventsFlags extends ServerFlags, OutputFlags {
  readonly follow?: boolean;
  readonly type?: string;
  readonly app?: string;
  readonly since?: string;
  readonly limit?: string;
  readonly count?: string;
}

async function events(flags: EventsFlags, io: CliIo): Promise<void> {
  const client = createClient(flags, io);
  if (flags.follow === true) return follow(client, flags, io);
  if (flags.count !== undefined) throw new CliError('--count needs --follow; use --limit for a list');
  const limit = flags.limit === undefined ? LIMIT_DEFAULT : wholeNumber('--limit', flags.limit, 1, LIMIT_MAX);
  const { rows } = await listAll(client, pathOf(flags), limit);
  // The latest events, in the order in which they happened.
  const listed = [...rows].reverse();
  if (flags.output === 'json') return writeJson(listed, io);
  for (const event of listed) io.out(lineOf(event, io));
  if (listed.length === 0) io.err('No events match\n');
}

async function follow(client: GatewayClient, flags: EventsFlags, io: CliIo): Promise<void> {
  if (flags.limit !== undefined) throw new CliError('--limit does not work with --follow; use --count');
  const countMax = flags.count === undefined ? Infinity : wholeNumber('--count', flags.count, 1, LIMIT_MAX);
  let written = 0;
  let lastEventId: string | undefined;
  const heard = {
    onId: (id: string): void => {
      lastEventId = id;
    },
    /** Returns true when enough events were shown. */
    show: (event: Json): boolean => {
      io.out(flags.output === 'json' ? `${visibleJson(event)}\n` : lineOf(event, io));
      written += 1;
      return written >= countMax;
    },
  };
  for (let triesLeft = TRIES_MAX; ; triesLeft -= 1) {
    try {
      const { body } = await client.open(pathOf(flags), {
        Accept: 'text/event-stream',
        ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }),
      });
      triesLeft = TRIES_MAX;
      if (await readStream(body, heard, io)) return;
    } catch (error) {
      // The call was refused: repeating it changes nothing.
      if (error instanceof RefusedCall && error.status < 500) throw error;
      if (triesLeft <= 1) throw error;
    }
    await delay(AGAIN_MS);
  }
}

function pathOf({ type, app, since }: EventsFlags): string {
  return `/events${queryText({ type, app, since })}`;
}

interface Heard {
  readonly onId: (id: string) => void;
  readonly show: (event: Json) => boolean;
}

/** Returns true when enough events were shown, false when the stream broke. */
async function readStream(body: IncomingMessage, { onId, show }: Heard, io: CliIo): Promise<boolean> {
  const pieces = body.setEncoding('utf8') as AsyncIterable<string>;
  try {
    for await (const { event, data } of readEvents(pieces, onId)) {
      if (event === 'gap') io.err('Some events are missing: they are no longer kept\n');
      if (event === 'event' && show(JSON.parse(data))) return true;
    }
  } catch {
    // The caller connects again.
  } finally {
    body.destroy();
  }
  return false;
}

function lineOf({ at, type, node, subject, data }: Json, io: CliIo): string {
  const level = EVENT_TYPES.get(type)?.level ?? 'info';
  const paint = painter(io);
  const style = STYLES[level];
  // People know the name, not the id; JSON has both.
  const { actor_name: actor = data.actor, ...named } = { ...data };
  const shown = Object.entries({ ...named, ...(actor !== undefined && { actor }) })
    .filter(([, value]) => value !== null && typeof value !== 'object')
    .map(([name, value]) => printable(`${name}=${String(value)}`));
  const words = [
    printable(at),
    style === undefined ? printable(type) : paint(style, printable(type)),
    printable(`${subject.kind} ${subject.name}`),
    ...shown,
    node !== null && `node=${printable(node)}`,
  ];
  return `${words.filter((word) => word !== false).join('  ')}\n`;
}

export function addEventsCommand(program: Command, io: CliIo): void {
  const command = program
    .command('events')
    .description('show what happened to the gateways, one line for each event')
    .option('--follow', 'continue with what happens from now on')
    .option(
      '--type <types>',
      'only these: a type, a group such as "breaker.*", or several separated by commas',
    )
    .option('--app <slug>', 'only of this app')
    .option('--since <time>', 'from this moment on, such as 2026-01-31T12:00:00Z')
    .option(
      '--limit <count>',
      `maximum number of events in a list, of which the latest are kept; default: ${LIMIT_DEFAULT}`,
    )
    .option('--count <count>', 'with --follow: end after this number of events');
  addExamples(
    addOutputFlag(addServerFlags(command)),
    'headgate events --type "breaker.*,target.*"',
    'headgate events --follow --output json | jq .type   # one JSON document per line',
  ).action((flags: EventsFlags) => events(flags, io));
}
