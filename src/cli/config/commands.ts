/** Names and options of `headgate config`: the configuration as files, and its history. */
import type { Command } from 'commander';
import { addServerFlags } from '../connection/server-flags.ts';
import type { CliIo } from '../io.ts';
import { addExamples, addOutputFlag, type OutputFlags } from '../show/output-format.ts';
import { addBisectCommand } from './bisect-command.ts';
import type { ApplyFlags, DumpFlags, PlanFlags } from './declared-commands.ts';
import { addHistoryCommands } from './history-commands.ts';

/**
 * Loaded when one of them runs: with the rules of all resources, they take as long to load as all other commands
 * together.
 */
const run = () => import('./declared-commands.ts');

/** @returns the command `config`, which the others are below */
export function addConfigCommands(program: Command, io: CliIo): Command {
  const config = program.command('config').description('the configuration as files, and its history');
  addBisectCommand(config, io);
  const files = 'files and folders of YAML or JSON; - is standard input';
  const withChange = (command: Command): Command =>
    addOutputFlag(addServerFlags(command))
      .option('--adopt', 'take over apps that have another owner, or no owner')
      .option(
        '--prune',
        'for files without an owner: delete apps that have no owner and are not in the files',
      )
      .option('--max-deletes <count>', 'maximum number of records to delete; default: 10');
  addExamples(
    addOutputFlag(config.command('validate'))
      .description('check files without a gateway')
      .argument('<paths...>', files)
      .action(async (paths: string[], flags: OutputFlags) => (await run()).validateCommand(paths, flags, io)),
    'headgate config validate gateway.yaml',
  );
  addExamples(
    withChange(config.command('plan'))
      .description('show what an apply would change; exit code 2 when it would change anything')
      .argument('<paths...>', files)
      .option('-o, --out <file>', 'keep the plan in a file, for apply')
      .option('--no-traffic', 'do not try the recent requests on it')
      .action(async (paths: string[], flags: PlanFlags) => (await run()).planCommand(paths, flags, io)),
    'headgate config plan gateway/',
    'headgate config plan gateway/ --out plan.json --max-deletes 50',
  );
  addExamples(
    withChange(config.command('apply'))
      .description('change the gateway to what the files declare, in one step; or apply a plan')
      .argument('<paths...>', `${files}; or one plan`)
      .option('--rebase', 'apply a plan even if the configuration has changed since it was made')
      .option('-m, --message <text>', 'reason for the change, for the history and the audit log')
      .option(
        '--commit <hash>',
        'Git commit of the files, for the history; default: the commit of their folder',
      )
      .action(async (paths: string[], flags: ApplyFlags) => (await run()).applyCommand(paths, flags, io)),
    'headgate config apply gateway/',
    'headgate config apply plan.json --message "Billing goes live"',
  );
  addExamples(
    addServerFlags(config.command('dump'))
      .description('write the configuration of the gateway as YAML')
      .option('--app <slug>', 'only this app')
      .option('--owner <owner>', 'only apps of this owner')
      .option('--at <version>', 'as of this config version; see config history')
      .option('-o, --out <file>', 'write to a file')
      .option('--output <format>', 'YAML or JSON', 'yaml')
      .action(async (flags: DumpFlags) => (await run()).dumpCommand(flags, io)),
    'headgate config dump --app billing > billing.yaml',
  );
  addHistoryCommands(config, io);
  return config;
}
