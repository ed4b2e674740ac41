/**
 * `headgate profile`: writes a CPU profile or a heap snapshot of a thread of a running gateway into a file that only
 * its owner may read. The file appears when it is complete.
 */
import type { Command } from 'commander';
import { timestamp, systemClock } from '../../lib/clock.ts';
import { PROFILE_SECONDS_MAX } from '../../observe/profile.ts';
import { assertNew, downloadTo, MEBIBYTE } from '../connection/download.ts';
import { addServerFlags, type ServerFlags } from '../connection/server-flags.ts';
import { createClient } from '../gateway-client.ts';
import { CliError, type CliIo } from '../io.ts';
import { addExamples, addOutputFlag, writeJson, type OutputFlags } from '../show/output-format.ts';
import { withProgress } from '../show/progress.ts';
import { wholeNumber } from '../whole-number.ts';

interface ProfileFlags extends ServerFlags, OutputFlags {
  readonly seconds: string;
  readonly heap?: true;
  readonly worker?: string;
  readonly main?: true;
  readonly file?: string;
  readonly yes?: true;
}

const SECONDS_DEFAULT = 10;

async function profile(flags: ProfileFlags, io: CliIo): Promise<void> {
  const seconds = wholeNumber('--seconds', flags.seconds, 1, PROFILE_SECONDS_MAX);
  const worker = flags.worker === undefined ? undefined : wholeNumber('--worker', flags.worker, 1, 1e9);
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
  const { bytes } = await withProgress(io, `Waiting for ${client.server}`, async (progress) => {
    const answer = await client.open('/profiles', {}, { body: task, extraMs: seconds * 1_000 });
    return downloadTo(path, answer, progress, () => Promise.resolve());
  });
  if (flags.output === 'json') return writeJson({ file: path, kind, bytes }, io);
  io.out(
    `Written: ${path}, ${(bytes / MEBIBYTE).toFixed(1)} MiB. Open it with the developer tools of Chrome.\n`,
  );
  if (kind === 'heap') io.out('It holds secrets: delete it when you have read it.\n');
}

function defaultFile(kind: 'cpu' | 'heap'): string {
  const at = timestamp(systemClock.nowMs()).slice(0, 19).replaceAll(':', '');
  return `headgate-${at}.${kind === 'cpu' ? 'cpuprofile' : 'heapsnapshot'}`;
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
