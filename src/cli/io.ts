/** The parts of the process that commands use, as an argument, so that tests can replace them. */
import { TERMINAL_CONTROLS } from '../lib/text/terminal-controls.ts';

export interface CliIo {
  readonly env: (name: string) => string | undefined;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly readStdin: () => Uint8Array;
  /** Whether standard output is a terminal: only people get colour and fitted widths. */
  readonly isTerminal: boolean;
  /** Whether standard error is a terminal: only people get progress. */
  readonly errorIsTerminal: boolean;
  /** Columns of the terminal; undefined without one. */
  readonly columns: number | undefined;
  /**
   * Asks a person for a text that is not shown while it is typed; undefined when standard input is not a
   * terminal.
   */
  readonly askSecret: ((question: string) => Promise<string>) | undefined;
  /** Sets the exit code of the process, which ends once all output is written. */
  readonly exit: (code: number) => void;
}

/** Ends a command with one plain message and exit code 1. */
export class CliError extends Error {}

const CONTROLS = new RegExp(String.raw`[\u0000-\u001F${TERMINAL_CONTROLS}]`, 'g');

/** The text without characters that control a terminal, including those that change the direction of writing. */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS, '?');
}
