/**
 * `headgate config bisect METHOD URL`: finds the config version since which a request is answered differently, and
 * what that version changed.
 */
import type { Command } from 'commander';
import type { BisectResult } from '../../management/routes/config-bisect.ts';
import { addServerFlags, type ServerFlags } from '../connection/server-flags.ts';
import { addRequestFlags, requestOf, type RequestFlags } from '../everyday/request-flags.ts';
import { createClient } from '../gateway-client.ts';
import { printable, type CliIo } from '../io.ts';
import { addExamples, addOutputFlag, writeJson, type OutputFlags } from '../show/output-format.ts';
import { configVersion } from '../whole-number.ts';

interface BisectFlags extends ServerFlags, OutputFlags, RequestFlags {
  readonly good?: string;
  readonly bad?: string;
  readonly expect?: string;
}

const SIGNS = { create: '+', update: '~', delete: '-' } as const;

async function bisectCommand(method: string, url: string, flags: BisectFlags, io: CliIo): Promise<void> {
  const body = {
    request: requestOf(method, url, flags, io),
    ...(flags.good !== undefined && { good: configVersion('--good', flags.good) }),
    ...(flags.bad !== undefined && { bad: configVersion('--bad', flags.bad) }),
    ...(flags.expect !== undefined && { expect: expectation(flags.expect) }),
  };
  const found = (await createClient(flags, io).call('POST', '/config/bisect', body)) as BisectResult;
  if (flags.output === 'json') writeJson(found, io);
  else io.out(bisectText(found));
}

/** What `--expect` names: a status, an outcome, or an error code. */
function expectation(text: string): object {
  if (/^\d{3}$/.test(text)) return { status: Number(text) };
  return ['forwarded', 'answered', 'denied', 'failed'].includes(text) ? { outcome: text } : { code: text };
}

function bisectText(found: BisectResult): string {
  const { config_version: version, tried, before, after, message, git_commit: commit } = found;
  const last = answerText(after);
  if (version === null || before === null)
    return `No stored version that was tried gives another answer (${tried} tried): ${last}\n`;
  const made = [found.at, found.actor && `by ${found.actor}`, found.source && `(${found.source})`];
  const lines = [
    `Answered differently since config version ${version}`,
    `  before  ${answerText(before)}`,
    `  since   ${last}`,
    `  made    ${printable([...made, found.action].filter(Boolean).join(' '))}`,
  ];
  if (message !== null) lines.push(`  message ${printable(message)}`);
  if (commit !== null) lines.push(`  commit  ${printable(commit)}`);
  lines.push('', ...found.changes.map(changeText));
  return `${lines.join('\n').trimEnd()}\n`;
}

function answerText({ outcome, status, code, detail, upstream_url: url }: BisectResult['after']): string {
  const what = [status ?? outcome, code, url && `to ${url}`].filter((part) => part !== null).join(' ');
  return printable(detail === null ? what : `${what}: ${detail}`);
}

function changeText({ change, type, name, parents, fields }: BisectResult['changes'][number]): string {
  const path = [...Object.values(parents), name].join('  ');
  const changed = fields.length === 0 ? '' : `: ${fields.join(', ')}`;
  return printable(`  ${SIGNS[change]} ${type}  ${path}${changed}`);
}

export function addBisectCommand(config: Command, io: CliIo): void {
  const command = config
    .command('bisect')
    .description('find the config version since which a request is answered differently')
    .argument('<method>', 'method of the request')
    .argument('<url>', 'path with its query, or a whole URL')
    .option('--good <version>', 'a version that answers differently; default: searched in the history')
    .option('--bad <version>', 'the version to explain; default: the one in force')
    .option('--expect <answer>', 'the right answer: a status, an error code, or forwarded');
  addExamples(
    addOutputFlag(addServerFlags(addRequestFlags(command))),
    'headgate config bisect GET /shop/v1/items',
    'headgate config bisect GET /shop/v1/items --key-file key.txt --expect forwarded',
    'headgate config bisect POST /shop/v1/items --good 120 --bad 160',
  ).action((method: string, url: string, flags: BisectFlags) => bisectCommand(method, url, flags, io));
}
