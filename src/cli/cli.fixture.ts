/** Runs the command line in tests against a management API, and returns its output and exit code. */
import type { Command } from 'commander';
import { ADMIN_TOKEN, type Fixture } from '../management/management.fixture.ts';
import { NO_COMMANDS, NO_IO } from './idle-program.ts';
import type { CliIo } from './io.ts';
import { createProgram } from './program.ts';

export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export async function headgate(
  api: Pick<Fixture, 'url'>,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdin = '',
  terminal: Partial<CliIo> = {},
): Promise<Outcome> {
  const outcome = { code: 0, out: '', err: '' };
  const variables: Readonly<Record<string, string>> = {
    HEADGATE_SERVER: api.url.replace(/\/api\/v1$/, ''),
    HEADGATE_TOKEN: ADMIN_TOKEN,
    ...env,
  };
  const program = createProgram('0', NO_COMMANDS, {
    ...NO_IO,
    env: (name) => variables[name],
    out: (text) => void (outcome.out += text),
    err: (text) => void (outcome.err += text),
    readStdin: () => new TextEncoder().encode(stdin),
    exit: (code) => void (outcome.code = code),
    ...terminal,
  });
  for (const command of withAllBelow(program)) {
    command.exitOverride().configureOutput({
      writeOut: (text) => void (outcome.out += text),
      writeErr: (text) => void (outcome.err += text),
    });
  }
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    outcome.code = 1;
    outcome.err += (error as Error).message;
  }
  return outcome;
}

function withAllBelow(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withAllBelow)];
}
