/** The command line without a process around it, for code that reads the commands or replaces what they use. */
import type { Command } from 'commander';
import type { CliIo } from './io.ts';
import { createProgram, type Commands } from './program.ts';

export const NO_IO: CliIo = {
  env: () => undefined,
  out: () => undefined,
  err: () => undefined,
  readStdin: () => new Uint8Array(),
  isTerminal: false,
  errorIsTerminal: false,
  columns: undefined,
  askSecret: undefined,
  exit: () => undefined,
};

const nothing = async (): Promise<void> => undefined;

export const NO_COMMANDS: Commands = {
  start: nothing,
  migrate: nothing,
  copy: nothing,
  restore: nothing,
  examine: async () => [],
};

export function idleProgram(): Command {
  return createProgram('0.0.0', NO_COMMANDS, NO_IO);
}
