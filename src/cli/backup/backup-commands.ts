/**
 * `headgate config backup FILE` writes everything from a running gateway into one file, which appears when it is
 * complete and has been read back. `headgate config restore FILE` loads it into an empty database.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { Command } from 'commander';
import { systemReason } from '../../lib/error-message.ts';
import type { BackupSummary } from '../../storage/copy/backup-reader.ts';
import { addServerFlags, type ServerFlags } from '../connection/server-flags.ts';
import { createClient } from '../gateway-client.ts';
import { CliError, type CliIo } from '../io.ts';
import { addExamples, addOutputFlag, writeJson, type OutputFlags } from '../show/output-format.ts';
import { withProgress, type Progress } from '../show/progress.ts';

export interface RestoreFlags {
  /** Database URL; default: GATEWAY_DATABASE_URL. */
  readonly to?: string;
}

/** All secrets in the file are hashed or encrypted; even so only its owner may read it. */
const MODE = 0o600;
const MEBIBYTE = 1024 * 1024;

async function backup(path: string, flags: ServerFlags & OutputFlags, io: CliIo): Promise<void> {
  const exists = (): boolean => existsSync(path);
  if (exists()) throw new CliError(`Cannot write ${path}: it exists; expected a new file`);
  const part = `${path}.part`;
  const client = createClient(flags, io);
  const summary = await withProgress(io, `Waiting for ${client.server}`, async (progress) => {
    const { body, broken } = await client.open('/config/backup');
    try {
      await download(body, part, broken, progress);
      progress.tell('Reading it back');
      // Loaded only here, because loading takes long.
      const { inspectBackup } = await import('../../storage/copy/backup-reader.ts');
      const found = await inspectBackup(part);
      if (exists()) throw new CliError(`Cannot write ${path}: it exists; expected a new file`);
      renameSync(part, path);
      return found;
    } catch (error) {
      rmSync(part, { force: true });
      throw error;
    } finally {
      body.destroy();
    }
  });
  show(path, summary, flags, io);
}

async function openPart(part: string): Promise<FileHandle> {
  try {
    // An earlier command that was interrupted may have left one.
    rmSync(part, { force: true });
    return await open(part, 'wx', MODE);
  } catch (error) {
    throw cannotWrite(part, error);
  }
}

/** @throws CliError when the answer is incomplete or the file cannot be written */
async function download(
  body: AsyncIterable<Buffer>,
  part: string,
  broken: (error: unknown) => CliError,
  progress: Progress,
): Promise<void> {
  const file = await openPart(part);
  const onFile = async (work: Promise<unknown>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      throw cannotWrite(part, error);
    }
  };
  try {
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      progress.tell(`Writing ${part}: ${(bytes / MEBIBYTE).toFixed(1)} MiB`);
      await onFile(file.writeFile(chunk));
    }
    await onFile(file.sync());
  } catch (error) {
    throw error instanceof CliError ? error : broken(error);
  } finally {
    await file.close();
  }
}

function cannotWrite(path: string, error: unknown): CliError {
  return new CliError(`Cannot write ${path}: ${systemReason(error)}; nothing is left of it`);
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
    'It does not contain the key of the secrets in policies: keep that key as well, in another place.\n',
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
      .option('--to <url>', 'empty database to write; default: that of GATEWAY_DATABASE_URL'),
    'headgate config restore monday.backup',
    'headgate config restore monday.backup --to postgres://user@host/headgate',
  ).action((file: string, flags: RestoreFlags) => restore(file, flags));
}
