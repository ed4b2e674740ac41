/**
 * The command line: `headgate` or `headgate start` runs the gateway, `headgate migrate` brings the database up to
 * date. Parses only; what the commands do comes in as an argument.
 */
import { Command } from 'commander';

export interface StartFlags {
  /** Take the place of the gateway that runs on the same database folder. */
  readonly takeOver?: true;
}

export interface Commands {
  start(flags: StartFlags): Promise<void>;
  migrate(): Promise<void>;
}

export function createProgram(version: string, commands: Commands): Command {
  const program = new Command('headgate')
    .description('An API gateway. All settings come from GATEWAY_* variables; see docs/settings.md.')
    .version(version)
    .showHelpAfterError();
  program
    .command('start', { isDefault: true })
    .description('run the gateway until SIGTERM or SIGINT')
    .option(
      '--take-over',
      'take the place of the gateway that runs on the same database, without a refused connection',
    )
    .action((flags: StartFlags) => commands.start(flags));
  program
    .command('migrate')
    .description('bring the schema of GATEWAY_DATABASE_URL up to date and exit')
    .action(() => commands.migrate());
  return program;
}
