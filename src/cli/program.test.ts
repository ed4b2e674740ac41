import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { NO_COMMANDS, NO_IO } from './idle-program.ts';
import { createProgram, type StartFlags } from './program.ts';

interface Outcome {
  readonly started: readonly StartFlags[];
  /** '' when the command line was taken. */
  readonly exit: string;
  readonly exitCode: number;
  readonly errors: string;
}

async function run(...args: string[]): Promise<Outcome> {
  const started: StartFlags[] = [];
  let errors = '';
  const program = createProgram(
    '1.2.3',
    { ...NO_COMMANDS, start: async (flags) => void started.push(flags) },
    NO_IO,
  );
  // Commands that exist already do not take these over from the program.
  for (const command of withAllBelow(program))
    command.configureOutput({ writeErr: (text) => (errors += text) }).exitOverride();
  const { exit, exitCode } = await program.parseAsync(args, { from: 'user' }).then(
    () => ({ exit: '', exitCode: 0 }),
    (error: { code: string; exitCode: number }) => ({ exit: error.code, exitCode: error.exitCode }),
  );
  return { started, exit, exitCode, errors };
}

function withAllBelow(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withAllBelow)];
}

describe('the command line', () => {
  it.each<[string[], StartFlags]>([
    [[], {}],
    [['start'], {}],
    [['--take-over'], { takeOver: true }],
    [['start', '--take-over'], { takeOver: true }],
  ])('%j starts the gateway', async (args, flags) => {
    expect(await run(...args)).toMatchObject({ started: [flags], exit: '' });
  });

  it.each([[['bogus']], [['toString']], [['strat', '--take-over']], [['start', 'bogus']]])(
    '%j says what commands there are, and starts nothing',
    async (args) => {
      const { started, exit, exitCode, errors } = await run(...args);
      expect([started, exit, exitCode]).toEqual([[], 'commander.error', 1]);
      const unknown = args.find((arg) => arg !== 'start');
      expect(errors).toContain(
        `unknown command "${unknown}"; expected one of start, migrate, copy, doctor, config, import, apps, versions, revisions, endpoints, traffic, keys, admin-tokens, sessions, webhooks, sampling, debug-tokens, certificates, secrets, nodes, state, settings, tree, search, audit, shadow, api, transaction, explain, live, events, try, profile, health, metrics, stats, problems, context, completion`,
      );
      expect(errors.split('\n').at(-2)).toBe(
        'Add --help to see the commands, arguments, options and examples.',
      );
    },
  );

  it.each<[string[], string]>([
    [['app', 'list'], 'error: unknown command "app"; did you mean "apps"?'],
    [
      ['import', 'nginx', 'x'],
      'error: unknown command "import nginx"; expected one of openapi, kong, traefik',
    ],
    [['plan', 'gateway'], 'error: unknown command "plan"; did you mean "config plan"?'],
    [['rekey'], 'error: unknown command "rekey"; did you mean "secrets rekey"?'],
    [['export'], 'error: unknown command "export"; did you mean "config dump"?'],
    [['version'], 'error: unknown command "version"; did you mean "--version" or "versions"?'],
    [['status'], 'error: unknown command "status"; did you mean "health" or "state"?'],
    [['stop'], 'error: unknown command "stop"; the gateway stops when its process gets SIGTERM or SIGINT'],
    [['apps', 'lst'], 'error: unknown command "apps lst"; did you mean "list"?'],
    [['config', 'aply', '--yes'], 'error: unknown command "config aply"; did you mean "apply"?'],
    [
      ['--server', 'http://127.0.0.1:9090', 'apps', 'list'],
      'error: the option "--server" stands before the command; expected it behind, as in "headgate apps … --server"',
    ],
    [['app', '--help'], 'error: unknown command "app"; did you mean "apps"?'],
    [['help', 'app'], 'error: unknown command "app"; did you mean "apps"?'],
    [['apps', 'lst', '-h'], 'error: unknown command "apps lst"; did you mean "list"?'],
    [['apps', 'help', 'lst'], 'error: unknown command "apps lst"; did you mean "list"?'],
    [['start', '--prot', '8081'], 'error: unknown option "--prot"'],
  ])('%j is answered in two lines, and starts nothing', async (args, line) => {
    const { started, exitCode, errors } = await run(...args);
    expect([started, exitCode]).toEqual([[], 1]);
    expect(errors).toBe(`${line}\nAdd --help to see the commands, arguments, options and examples.\n`);
  });

  it('has the same commands and options, whichever of them it is made for', () => {
    const named = (parent: Command, name: string): Command => {
      const found = parent.commands.find((command) => command.name() === name);
      if (found === undefined) throw new Error(`${parent.name()} has no ${name}`);
      return found;
    };
    const whole = createProgram('1', NO_COMMANDS, NO_IO);
    for (const group of whole.commands) {
      const program = createProgram('1', NO_COMMANDS, NO_IO, group.name());
      const found = named(program, group.name());
      expect(program.helpInformation()).toBe(whole.helpInformation());
      expect(found.helpInformation()).toBe(group.helpInformation());
      for (const command of group.commands)
        expect(named(found, command.name()).helpInformation()).toBe(command.helpInformation());
    }
    for (const asked of ['help', 'completion', '--help'])
      expect(named(named(createProgram('1', NO_COMMANDS, NO_IO, asked), 'apps'), 'list')).toBeDefined();
  });
});
