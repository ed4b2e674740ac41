/**
 * `headgate config backup FILE` writes everything from a running gateway into one file, which appears when it is
 * complete and has been read back. `headgate config restore FILE` loads it into an empty database.
 */
import type { Command } from 'commander';
import type { BackupSummary } from '../../storage/copy/backup-reader.ts';
import { assertNew, downloadTo } from '../connection/download.ts';
import { addServerFlags, type ServerFlags } from '../connection/server-flags.ts';
import { createClient } from '../gateway-client.ts';
import type { CliIo } from '../io.ts';
import { addExamples, addOutputFlag, writeJson, type OutputFlags } from '../show/output-format.ts';
import { withProgress } from '../show/progress.ts';

export interface RestoreFlags {
  /** Database URL; default: GATEWAY_DATABASE_URL. */
  readonly to?: string;
}

async function backup(path: string, flags: ServerFlags & OutputFlags, io: CliIo): Promise<void> {
  assertNew(path);
  const client = createClient(flags, io);
  const { found } = await withProgress(io, `Waiting for ${client.server}`, async (progress) =>
    downloadTo(path, await client.open('/config/backup'), progress, async (part) => {
      progress.tell('Reading it back');
      // Loaded only here, because loading takes long.
      const { inspectBackup } = await import('../../storage/copy/backup-reader.ts');
      return inspectBackup(part);
    }),
  );
  show(path, found, flags, io);
}

function show(path: string, { header, end }: BackupSummary, flags: OutputFlags, io: CliIo): void {
  const { config_version: version, created_at: at } = header;
  if (flags.output === 'json') {
    return writeJson(
      { file: path, config_version: version, created_at: at, rows: end.rows, sha256: end.sha256 },
      io,
    );
  }
  const rows = Object.entries(end.rows).filter(([table]) => table !== 'config_state');
  io.out(`Written and read back: ${path}, config version ${version}.\n`);
  io.out(`Rows: ${rows.map(([table, count]) => `${table} ${count}`).join(', ')}.\n`);
  io.out(
    'It does not contain the secret key, which decrypts the secrets of policies and webhooks: keep it as well, in another place.\n',
  );
}

/** @param restore loads a file into the database of the settings */
export function addBackupCommands(
  config: Command,
  restore: (file: string, flags: RestoreFlags) => Promise<void>,
  io: CliIo,
): void {
  addExamples(
    addOutputFlag(addServerFlags(config.command('backup')))
      .description('write everything of a running gateway into one file; needs the role admin')
      .argument('<file>', 'a new file'),
    'headgate config backup monday.backup',
  ).action((file: string, flags: ServerFlags & OutputFlags) => backup(file, flags, io));
  addExamples(
    config
      .command('restore')
      .description(
        'restore a backup into an empty database, completely or not at all, and exit; stop the gateway first',
      )
      .argument('<file>', 'a file that config backup has written')
      .option('--to <url>', 'empty database to write; default: GATEWAY_DATABASE_URL'),
    'headgate config restore monday.backup',
    'headgate config restore monday.backup --to postgres://user@host/headgate',
  ).action((file: string, flags: RestoreFlags) => restore(file, flags));
}
