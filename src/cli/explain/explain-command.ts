/**
 * `headgate explain METHOD PATH` and `headgate explain REQUEST_ID`: what the gateway does or did with a request, and
 * the one change that would let it pass.
 */
import type { Command } from 'commander';
import { addServerFlags, type ServerFlags } from '../connection/server-flags.ts';
import { createClient } from '../gateway-client.ts';
import { CliError, printable, type CliIo } from '../io.ts';
import { fixCommand } from './fix-command.ts';
import { atVersionText, versionsText } from './versions-text.ts';
import { painter } from '../show/colour.ts';
import { addRequestFlags, requestOf, type RequestFlags } from '../everyday/request-flags.ts';
import { addExamples, addOutputFlag, writeJson, type OutputFlags } from '../show/output-format.ts';
import { recordText, tableText } from '../show/text-table.ts';
import { configVersion } from '../whole-number.ts';
import type { Json } from '../everyday/everyday-command.ts';

interface ExplainFlags extends ServerFlags, OutputFlags, RequestFlags {
  readonly atVersion?: string;
  readonly versions?: true;
}

async function explain(
  what: string,
  path: string | undefined,
  flags: ExplainFlags,
  io: CliIo,
): Promise<void> {
  if (flags.atVersion !== undefined || flags.versions === true) return explainVersions(what, path, flags, io);
  const client = createClient(flags, io);
  const data =
    path === undefined
      ? await client.call('GET', `/explain/${encodeURIComponent(requestId(what))}`)
      : await client.call('POST', '/explain', requestOf(what, path, flags, io));
  if (flags.output === 'json') writeJson(data, io);
  else io.out(explanationText(data, io));
}

/** Explains the same request at other config versions: a line for each, or one in full. */
async function explainVersions(
  what: string,
  path: string | undefined,
  flags: ExplainFlags,
  io: CliIo,
): Promise<void> {
  const { atVersion, versions } = flags;
  if (atVersion !== undefined && versions === true) {
    throw new CliError('--at-version and --versions are both given; expected one of them');
  }
  const body = {
    ...(path === undefined ? { request_id: requestId(what) } : { request: requestOf(what, path, flags, io) }),
    ...(atVersion !== undefined && { version: configVersion('--at-version', atVersion) }),
  };
  const data = (await createClient(flags, io).call('POST', '/config/explain', body)) as Json;
  if (flags.output === 'json') writeJson(data, io);
  else if (atVersion === undefined) io.out(versionsText(data, io));
  else io.out(`${atVersionText(data)}${explanationText(data.version.explanation, io)}`);
}

function requestId(text: string): string {
  if (/^\.{0,2}$/.test(text) || /^[A-Z]+$/.test(text) || text.includes('/')) {
    throw new CliError(`"${text}" is not a request id; expected one, or a method and a path`);
  }
  return text;
}

function explanationText(data: Json, io: CliIo): string {
  const { outcome, code, request, app, version, revision, endpoint, caller, certificate, upstream } = data;
  const { response, fix, target } = data;
  const paint = painter(io);
  const style = outcome === 'denied' || outcome === 'failed' ? 'red' : 'green';
  const verdict = code === null ? outcome : `${outcome}: ${code}`;
  const facts = {
    request: `${request.method} ${request.host}${request.path ?? ''}${request.query ?? ''}`,
    route: [app?.slug, version?.version, revision?.revision].filter((name) => name !== undefined).join(' '),
    endpoint: endpoint === null ? null : `${endpoint.method} ${endpoint.path}`,
    caller: caller === null ? null : [caller.kind, caller.name].filter((name) => name !== '').join(' '),
    ...(certificate && { certificate: certificateText(certificate) }),
    backend: upstream?.url,
    ...(target !== undefined && { target: chosenText(target) }),
    status: response.status,
  };
  const stages = data.stages.filter(({ verdict: of }: Json) => of !== 'not_applicable');
  return [
    `${paint(style, paint('bold', printable(verdict)))}\n`,
    recordText(facts, io),
    tableText(STAGE_COLUMNS, stages, io),
    ...(data.limits.length === 0 ? [] : [tableText(LIMIT_COLUMNS, data.limits, io)]),
    ...(fix === null ? [] : [`${paint('bold', 'Fix:')} ${printable(fix.detail)}${changeOf(data)}\n`]),
  ].join('\n');
}

function certificateText({ subject, fingerprint, ca, trusted, rule }: Json): string {
  const leads = trusted === null ? 'refused' : `by ${trusted}`;
  const named = rule === null ? '' : `, callers[${rule}]`;
  return `${subject === '' ? fingerprint : subject} (${ca}: ${leads}${named})`;
}

/** The target that was chosen last among several, and why. */
function chosenText({ target, zone, reason, source }: Json): string {
  const place = zone === null ? target : `${target} in ${zone}`;
  return `${place}: ${reason}${source === null ? '' : `; found by ${source}`}`;
}

/** How to make the change of the fix: the command, or else the record and its new value. */
function changeOf(data: Json): string {
  const command = fixCommand(data);
  if (command !== undefined) return `\n     ${command}`;
  const { action, target, value } = data.fix;
  const where = target === null ? '' : ` (${target.type} ${target.id})`;
  // The texts of a wait contain its seconds.
  const isSaid = value === null || value === undefined || action === 'wait';
  return printable(isSaid ? where : `${where} ${JSON.stringify(value)}`);
}

const STAGE_COLUMNS = [
  { title: 'STAGE', value: ({ stage }: Json) => stage },
  { title: 'VERDICT', value: ({ verdict }: Json) => verdict },
  { title: 'FROM', value: ({ level }: Json) => level },
  { title: 'DETAIL', value: ({ detail }: Json) => detail },
];

const LIMIT_COLUMNS = [
  { title: 'LIMIT', value: ({ kind }: Json) => kind },
  { title: 'ALLOWS', value: ({ limit }: Json) => limit },
  { title: 'LEFT', value: ({ remaining }: Json) => remaining },
  { title: 'COUNTS', value: ({ counter }: Json) => counter },
];

export function addExplainCommand(program: Command, io: CliIo): void {
  const command = program
    .command('explain')
    .description('say what the gateway does with a request, or did with a recent one, and why')
    .argument('<method-or-id>', 'method of a described request, or X-Request-Id of a recent one')
    .argument('[path]', 'path with its query, or a whole URL, of a described request')
    .option('--versions', 'explain it with each config version that is kept')
    .option('--at-version <version>', 'explain it with this config version');
  addExamples(
    addOutputFlag(addServerFlags(addRequestFlags(command))),
    'headgate explain GET /shop/v1/items',
    'headgate explain POST /shop/v1/items --key-file key.txt --header "Origin: https://app.example.com"',
    'headgate explain GET /shop/v1/items --versions   # since when, and who made the change',
    'headgate explain 0198f1c2-7e7a-7cc0-a5b5-0a4b1c1d2e3f   # X-Request-Id of an answer',
  ).action((what: string, path: string | undefined, flags: ExplainFlags) => explain(what, path, flags, io));
}
