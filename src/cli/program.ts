/**
 * The command line: `headgate` or `headgate start` runs the gateway, `headgate migrate` updates the database,
 * `headgate copy` moves everything to another database, `headgate config` declares the configuration as files. Only
 * parses; the actions of the commands come in as arguments.
 */
import { Command } from 'commander';
import { addApiCommand } from './api/api-command.ts';
import { addCompletionCommand } from './completion/completion-command.ts';
import { addExamples } from './show/output-format.ts';
import { addBackupCommands, type RestoreFlags } from './backup/backup-commands.ts';
import type { Finding } from '../control/doctor/finding.ts';
import { addConfigCommands } from './config/commands.ts';
import { addContextCommands } from './connection/context-commands.ts';
import { addDoctorCommand } from './doctor/doctor-command.ts';
import { ACCESS_GROUPS } from './everyday/key-commands.ts';
import { addCommand, addGroup } from './everyday/add-command.ts';
import { EVENT_GROUPS } from './events/webhook-commands.ts';
import { addExplainCommand } from './explain/explain-command.ts';
import { EXPLAIN_GROUPS } from './explain/explain-setup-commands.ts';
import { GATEWAY_COMMANDS, GATEWAY_GROUPS } from './everyday/gateway-commands.ts';
import { addHealthCommands } from './everyday/health-commands.ts';
import { RESOURCE_GROUPS } from './everyday/record-commands.ts';
import { addTryCommand } from './everyday/try-command.ts';
import { addStatsCommands } from './everyday/stats-commands.ts';
import { addProfileCommand } from './profile/profile-command.ts';
import { addTransactionCommand } from './everyday/transaction-command.ts';
import { addImportCommands } from './import/import-commands.ts';
import type { CliIo } from './io.ts';
import { addEventsCommand } from './events/events-command.ts';
import { addLiveCommand } from './live/live-command.ts';
import { namesMeant } from '../lib/nearest.ts';
import { usualName } from './usual-names.ts';

export interface StartFlags {
  /** Take over from the gateway that runs on the same database folder. */
  readonly takeOver?: true;
}

interface CopyFlags {
  /** Database URLs; default: GATEWAY_DATABASE_URL. */
  readonly from?: string;
  readonly to?: string;
}

export interface Commands {
  start(flags: StartFlags): Promise<void>;
  migrate(): Promise<void>;
  copy(flags: CopyFlags): Promise<void>;
  restore(file: string, flags: RestoreFlags): Promise<void>;
  /** Finds problems of this machine and the settings. */
  examine(): Promise<readonly Finding[]>;
}

/** These look at all commands. */
const ABOUT_OTHERS = /^(?:help|completion|-.*)$/;

/**
 * @param args what `start` got beside its own options; not empty
 * @param program with all commands of all groups
 */
function wrongStart(args: readonly string[], program: Command): string {
  const [first = ''] = args;
  const commands = namesOf(program);
  if (first.startsWith('-')) {
    const command = args.find((arg) => commands.includes(arg));
    if (command === undefined) return `unknown option "${first}"`;
    return `the option "${first}" stands before the command; expected it behind, as in "headgate ${command} … ${first}"`;
  }
  const usual = usualName(first);
  if (usual !== undefined) return `unknown command "${first}"; ${usual}`;
  const groups = program.commands.filter((group) => namesOf(group).includes(first));
  const isClear = groups.length === 1 && namesMeant(first, commands).length === 0;
  if (isClear) return `unknown command "${first}"; did you mean "${groups[0]?.name()} ${first}"?`;
  return unknownCommand(first, commands);
}

/** @param path the words before it, such as ["apps"] */
function unknownCommand(name: string, commands: readonly string[], path: readonly string[] = []): string {
  const [meant] = namesMeant(name, commands);
  const expected =
    meant === undefined ? `expected one of ${commands.join(', ')}` : `did you mean "${meant}"?`;
  return `unknown command "${[...path, name].join(' ')}"; ${expected}`;
}

/** Lets each group of commands answer an unknown one as the program does. */
function refuseUnknownCommands(groups: readonly Command[], path: readonly string[] = []): void {
  for (const group of groups) {
    if (group.commands.length === 0) continue;
    const words = [...path, group.name()];
    const refuse = (name: string): never =>
      group.error(`error: ${unknownCommand(name, namesOf(group), words)}`);
    group.on('command:*', ([name = '']: readonly string[]) => refuse(name));
    group.on('beforeHelp', () => {
      const name = unknownWord(group);
      if (name !== undefined) refuse(name);
    });
    refuseUnknownCommands(group.commands, words);
  }
}

/** The word in whose place a command was expected: with --help behind it, the help of the parent would hide that. */
function unknownWord(parent: Command): string | undefined {
  const word = parent.args.find((arg) => arg !== 'help');
  return word === undefined || word.startsWith('-') || namesOf(parent).includes(word) ? undefined : word;
}

function namesOf(program: Command): string[] {
  return program.commands.map((command) => command.name());
}

/** @param asked the first argument: groups that it does not name stay empty, as making them all takes time */
export function createProgram(version: string, commands: Commands, io: CliIo, asked = 'help'): Command {
  const program = new Command('headgate')
    .description(
      'An API gateway. All settings come from GATEWAY_* variables: `headgate settings --describe` explains them.',
    )
    .version(version)
    // The whole help would push the error out of a window.
    .showHelpAfterError('Add --help to see the commands, arguments, options and examples.');
  const refuse = (args: readonly string[]): never =>
    program.error(`error: ${wrongStart(args, createProgram(version, commands, io))}`);
  program.on('beforeHelp', () => {
    if (unknownWord(program) !== undefined) refuse(program.args.filter((word) => word !== 'help'));
  });
  const start = program
    .command('start', { isDefault: true })
    .description('run the gateway until SIGTERM or SIGINT')
    .option(
      '--take-over',
      'take the place of the gateway that runs on the same database, without a refused connection',
    )
    // This is the default command, and gets all words and options that stand before a command.
    .allowExcessArguments()
    .allowUnknownOption()
    .action((flags: StartFlags, { args }: Command) =>
      args.length === 0 ? commands.start(flags) : refuse(args),
    );
  addExamples(
    start,
    'headgate start',
    'GATEWAY_DATABASE_URL=postgres://user@host/headgate headgate start --take-over',
  );
  addExamples(
    program
      .command('migrate')
      .description('bring the schema of GATEWAY_DATABASE_URL up to date and exit')
      .action(() => commands.migrate()),
    'headgate migrate',
  );
  const copy = program
    .command('copy')
    .description('copy everything from one database into another, empty one, verify it and exit')
    .option('--from <url>', 'database to read; default: that of GATEWAY_DATABASE_URL')
    .option('--to <url>', 'empty database to write; default: GATEWAY_DATABASE_URL')
    .action((flags: CopyFlags) => commands.copy(flags));
  addExamples(copy, 'headgate copy --to sqlite://backup/monday.db');
  addDoctorCommand(program, () => commands.examine(), io);
  const config = addConfigCommands(program, io);
  addBackupCommands(config, (file, flags) => commands.restore(file, flags), io);
  addImportCommands(program, io);
  const groups = [RESOURCE_GROUPS, ACCESS_GROUPS, EVENT_GROUPS, EXPLAIN_GROUPS, GATEWAY_GROUPS].flat();
  const needed = (name: string): boolean => name === asked || ABOUT_OTHERS.test(asked);
  for (const group of groups) addGroup(program, needed(group.name) ? group : { ...group, commands: [] }, io);
  for (const spec of GATEWAY_COMMANDS) addCommand(program, spec, io);
  addApiCommand(program, io);
  addTransactionCommand(program, io);
  addExplainCommand(program, io);
  addLiveCommand(program, io);
  addEventsCommand(program, io);
  addTryCommand(program, io);
  addProfileCommand(program, io);
  addHealthCommands(program, io);
  addStatsCommands(program, io);
  addContextCommands(program, io);
  addCompletionCommand(program, io);
  refuseUnknownCommands(program.commands);
  return program;
}
