/**
 * Entry point: the only file that reads the environment, the command line's arguments and package.json, and the
 * only one that ends the process. Errors that an operator can fix end in plain lines on standard error and exit code 1.
 */
import { readFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { availableParallelism } from 'node:os';
import { messageOf } from './lib/error-message.ts';
import type { CliIo } from './cli/io.ts';
import type { Commands } from './cli/program.ts';
import type { Settings } from './settings/settings.ts';

/**
 * Threads for what the system does not do at once, of which half may look up names. Each worker, the management thread
 * and a trial of a configuration have up to 18 queries under way (egress/name-queries.ts). Must be set before the
 * first of these threads is needed.
 */
process.env['UV_THREADPOOL_SIZE'] ??= String(Math.min(36 * (availableParallelism() + 2), 1_024));
enableCompileCache();

// The gateway is loaded later, so that a wrong setting is reported at once.
const {
  createServiceManager,
  EXIT_CODES,
  holdFiles,
  isJournal,
  programUrl,
  programVersion,
  readSettings,
  runUntilSignal,
  systemClock,
  waitingWorkers,
} = await import('./cli/first.ts');

const version = programVersion(import.meta.url);

function complain(text: string): void {
  process.stderr.write(`${text}\n`);
}

const env = (name: string): string | undefined => process.env[name];

/** Commands write to be read, and end where that fails: without a word when the reader has read enough. */
function endUnwritten(error: NodeJS.ErrnoException): never {
  if (error.code === 'EPIPE') process.exit(EXIT_CODES.unread.code);
  complain(`headgate: Cannot write the output: ${messageOf(error)}`);
  process.exit(EXIT_CODES.failed.code);
}

/**
 * The settings. When they have errors, prints all of them and ends the process.
 * @param isServing see `readSettings`
 */
function settingsOrExit(isServing: boolean): Settings {
  const result = readSettings(process.env, isServing);
  for (const warning of result.warnings) complain(`headgate: ${warning}`);
  if ('settings' in result) return result.settings;
  for (const error of result.errors) complain(`headgate: ${error}`);
  process.exit(EXIT_CODES.failed.code);
}

const commands: Commands = {
  start: async ({ takeOver: takeover = false }) => {
    // A gateway serves, whether its log can be written or not.
    process.stdout.off('error', endUnwritten);
    const settings = settingsOrExit(true);
    const hasFiles = [settings.configFile, settings.proxy.tls, settings.server.tls].some(
      (files) => files !== undefined,
    );
    const service = createServiceManager({
      env,
      pid: process.pid,
      onFailure: (error) =>
        logging.log.warn({ err: error }, 'cannot report the state of the gateway to systemd'),
    });
    // Ignored until `runUntilSignal` handles it: no file has been read so far.
    if (hasFiles || service.isPresent) process.on('SIGHUP', () => undefined);
    holdFiles(programUrl('worker'));
    const waiting = waitingWorkers(settings.workers);
    const { createLogging, startGateway } = await import('./compose/gateway.ts');
    const logging = createLogging(settings);
    process.on('unhandledRejection', (error) =>
      logging.log.error({ err: error }, 'a defect: unhandled rejection'),
    );
    process.on('uncaughtException', (error) =>
      logging.log.error({ err: error }, 'a defect: uncaught exception'),
    );
    const isRecorded = isJournal(env('JOURNAL_STREAM'), process.stderr.fd);
    const code = await runUntilSignal(
      (stopping) => {
        const facts = { settings, version, announce: complain, isRecorded, takeover, env };
        return startGateway({ ...facts, waiting, stopping }, logging);
      },
      {
        onSignal: (signal) => logging.log.info({ signal }, 'stopping'),
        monotonicMs: () => systemClock.monotonicMs(),
        hasFiles,
        service,
        stopMs: settings.proxy.drainGraceMs + settings.proxy.drainTimeoutMs,
      },
    );
    process.exit(code);
  },
  migrate: async () => {
    const settings = settingsOrExit(false);
    const { migrateDatabase } = await import('./compose/gateway.ts');
    const applied = await migrateDatabase(settings);
    complain(applied.length === 0 ? 'The database is up to date.' : `Applied ${applied.join(', ')}.`);
  },
  copy: async (flags) => {
    const settings = settingsOrExit(false);
    const { copyDatabases } = await import('./control/database/copy-database.ts');
    const lines = await copyDatabases({ ...flags, settings, clock: systemClock, tell: complain });
    process.stdout.write(`${lines.join('\n')}\n`);
  },
  restore: async (file, flags) => {
    const settings = settingsOrExit(false);
    const { restoreDatabase } = await import('./control/database/restore-database.ts');
    const lines = await restoreDatabase({ ...flags, file, settings, clock: systemClock, tell: complain });
    process.stdout.write(`${lines.join('\n')}\n`);
  },
  examine: async () => {
    const { examine } = await import('./control/doctor/examination.ts');
    return examine({ settings: readSettings(process.env), version, clock: systemClock, env });
  },
};

const io: CliIo = {
  env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  readStdin: () => readFileSync(0),
  isTerminal: process.stdout.isTTY,
  errorIsTerminal: process.stderr.isTTY,
  columns: process.stdout.columns ?? process.stderr.columns,
  askSecret: process.stdin.isTTY
    ? async (question) => {
        const { askSecret } = await import('./cli/connection/ask-secret.ts');
        return askSecret({ input: process.stdin, output: process.stderr }, question);
      }
    : undefined,
  exit: (code) => {
    process.exitCode = code;
  },
};

/**
 * A plain start, the most frequent command, does not load the other commands, which would take a sixth of its
 * time.
 */
async function run([name = 'start', ...rest]: readonly string[]): Promise<void> {
  if (name === 'start' && rest.length === 0) return commands.start({});
  process.stdout.on('error', endUnwritten);
  const { createProgram } = await import('./cli/program.ts');
  await createProgram(version, commands, io, name).parseAsync(process.argv);
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  complain(`headgate: ${messageOf(error)}`);
  process.exit(EXIT_CODES.failed.code);
}
