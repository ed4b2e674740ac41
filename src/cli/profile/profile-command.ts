/**
 * `headgate profile`: writes a CPU profile or a heap snapshot of a thread of a running gateway into a file that only
 * its owner may read. The file appears when it is complete.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Command } from 'commander';
import { timestamp, systemClock } from '../../lib/clock.ts';
import { systemReason } from '../../lib/error-message.ts';
import { PROFILE_SECONDS_MAX } from '../../observe/profile.ts';
import { addServerFlags, type ServerFlags } from '../connection/server-flags.ts';
import { createClient } from '../gateway-client.ts';
import { CliError, printable, type CliIo } from '../io.ts';
import { addExamples, addOutputFlag, writeJson, type OutputFlags } from '../show/output-format.ts';
import { withProgress, type Progress } from '../show/progress.ts';

interface ProfileFlags extends ServerFlags, OutputFlags {
  readonly seconds: string;
  readonly heap?: true;
  readonly worker?: string;
  readonly main?: true;
  readonly file?: string;
  readonly yes?: true;
}

const MODE = 0o600;
const MEBIBYTE = 1024 * 1024;
const SECONDS_DEFAULT = 10;

async function profile(flags: ProfileFlags, io: CliIo): Promise<void> {
  const seconds = wholeNumber('--seconds', flags.seconds, PROFILE_SECONDS_MAX);
  const worker = flags.worker === undefined ? undefined : wholeNumber('--worker', flags.worker, 1e9);
  if (worker !== undefined && flags.main === true)
    throw new CliError('--worker and --main exclude each other');
  const kind = flags.heap === true ? 'heap' : 'cpu';
  if (kind === 'heap' && flags.yes !== true) {
    throw new CliError(
      'A heap snapshot holds secrets: keys, tokens and bodies of requests. It stops the thread for up to ten seconds for each 100 MiB of heap, and the requests of that worker wait. Nothing was done; add --yes to take the snapshot',
    );
  }
  const path = flags.file ?? defaultFile(kind);
  assertNew(path);
  const client = createClient(flags, io);
  const task = {
    kind,
    thread: flags.main === true ? 'main' : 'worker',
    ...(worker !== undefined && { worker }),
    ...(kind === 'cpu' ? { seconds } : { contains_secrets: true }),
  };
  const bytes = await withProgress(io, `Waiting for ${client.server}`, async (progress) => {
    const { body, broken } = await client.open('/profiles', {}, { body: task, extraMs: seconds * 1_000 });
    try {
      return await download(body, path, broken, progress);
    } finally {
      body.destroy();
    }
  });
  if (flags.output === 'json') return writeJson({ file: path, kind, bytes }, io);
  io.out(
    `Written: ${path}, ${(bytes / MEBIBYTE).toFixed(1)} MiB. Open it with the developer tools of Chrome.\n`,
  );
  if (kind === 'heap') io.out('It holds secrets: delete it when you have read it.\n');
}

/** @returns the number of bytes @throws CliError when the answer is incomplete or the file cannot be written */
async function download(
  body: AsyncIterable<Buffer>,
  path: string,
  broken: (error: unknown) => CliError,
  progress: Progress,
): Promise<number> {
  const part = `${path}.part`;
  const file = await open(part, 'wx', MODE).catch((error: unknown) => {
    throw cannotWrite(part, error);
  });
  try {
    let bytes = 0;
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      progress.tell(`Writing ${part}: ${(bytes / MEBIBYTE).toFixed(1)} MiB`);
      await file.writeFile(chunk).catch((error: unknown) => {
        throw cannotWrite(part, error);
      });
    }
    assertNew(path);
    renameSync(part, path);
    return bytes;
  } catch (error) {
    rmSync(part, { force: true });
    throw error instanceof CliError ? error : broken(error);
  } finally {
    await file.close();
  }
}

function assertNew(path: string): void {
  if (existsSync(path)) throw new CliError(`Cannot write ${path}: it exists; expected a new file`);
}

function cannotWrite(path: string, error: unknown): CliError {
  return new CliError(`Cannot write ${path}: ${systemReason(error)}; nothing is left of it`);
}

function defaultFile(kind: 'cpu' | 'heap'): string {
  const at = timestamp(systemClock.nowMs()).slice(0, 19).replaceAll(':', '');
  return `headgate-${at}.${kind === 'cpu' ? 'cpuprofile' : 'heapsnapshot'}`;
}

function wholeNumber(flag: string, text: string, max: number): number {
  if (/^[1-9]\d{0,9}$/.test(text) && Number(text) <= max) return Number(text);
  throw new CliError(`${flag} "${printable(text)}" must be a whole number from 1 to ${max}`);
}

export function addProfileCommand(program: Command, io: CliIo): void {
  const command = program
    .command('profile')
    .description(
      'write a CPU profile or a heap snapshot of a thread of a running gateway into a file; needs the role admin',
    )
    .option(
      '--seconds <count>',
      `how long a CPU profile takes, at most ${PROFILE_SECONDS_MAX}`,
      String(SECONDS_DEFAULT),
    )
    .option('--heap', 'a heap snapshot, which holds secrets and stops the thread meanwhile')
    .option('--worker <number>', 'profile this worker; default: any')
    .option('--main', 'profile the main thread, which runs the management API')
    .option('--file <file>', 'a new file; default: headgate-<time>.cpuprofile or .heapsnapshot here')
    .option('--yes', 'confirm the warning of --heap');
  addExamples(
    addOutputFlag(addServerFlags(command)),
    'headgate profile --seconds 30 --file busy.cpuprofile',
    'headgate profile --heap --worker 2 --yes',
  ).action((flags: ProfileFlags) => profile(flags, io));
}
