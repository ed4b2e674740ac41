/** `headgate health` and `headgate metrics`: for people and scripts that monitor the gateway. */
import type { Command } from 'commander';
import { addServerFlags, type ServerFlags } from '../connection/server-flags.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { createClient } from '../gateway-client.ts';
import { CliError, printable, type CliIo } from '../io.ts';
import { addExamples, addOutputFlag, writeJson, type OutputFlags } from '../show/output-format.ts';
import { recordText } from '../show/text-table.ts';
import type { Json } from './everyday-command.ts';

/** Needs no token. Exit code 1 unless the workers serve and the database works. */
async function health(flags: ServerFlags & OutputFlags, io: CliIo): Promise<void> {
  const client = createClient(flags, io, 'public');
  const ready = await client.probe('/readyz');
  const service = await client.probe('/api/v1/health');
  const { ready: isReady, reason } = ready.data as Json;
  const { db, db_driver: driver, uptime_secs: seconds } = service.data as Json;
  const isWell = ready.status === 200 && service.status === 200;
  const facts = { healthy: isWell, ready: isReady, reason, db, db_driver: driver, uptime_secs: seconds };
  if (flags.output === 'json') writeJson(facts, io);
  else io.out(recordText(facts, io));
  if (!isWell) io.exit(EXIT_CODES.failed.code);
}

async function metrics(name: string | undefined, flags: ServerFlags, io: CliIo): Promise<void> {
  const text = await createClient(flags, io).text('/metrics');
  const all = text.split('\n').map(printable);
  if (name === undefined) return io.out(all.join('\n'));
  const lines = all.filter((line) => !line.startsWith('#') && line.includes(name));
  if (lines.length === 0) throw new CliError('No line of the metrics has this text');
  io.out(`${lines.join('\n')}\n`);
}

export function addHealthCommands(program: Command, io: CliIo): void {
  addExamples(
    addOutputFlag(addServerFlags(program.command('health'))).description(
      'say whether the gateway serves traffic and its database works; exit code 1 if not; needs no token',
    ),
    'headgate health',
    'headgate health --server http://10.0.0.7:9090 --timeout 2 --output json',
  ).action((flags: ServerFlags & OutputFlags) => health(flags, io));
  addExamples(
    addServerFlags(program.command('metrics'))
      .description('print the metrics in the Prometheus text format')
      .argument('[text]', 'only lines with this text'),
    'headgate metrics headgate_requests_total',
  ).action((name: string | undefined, flags: ServerFlags) => metrics(name, flags, io));
}
