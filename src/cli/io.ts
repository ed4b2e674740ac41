/**
 * What commands that talk to people and programs use of the process, as an argument, so that tests can bring their own.
 */

export interface CliIo {
  readonly env: (name: string) => string | undefined;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly readStdin: () => Uint8Array;
  /** Standard output is a terminal: colour and widths are for people. */
  readonly isTerminal: boolean;
  /** Standard error is one: progress is for people. */
  readonly errorIsTerminal: boolean;
  /** Columns of the terminal; undefined without one. */
  readonly columns: number | undefined;
  /** Asks a person for a text that is not shown while it is typed; undefined when standard input is no terminal. */
  readonly askSecret: ((question: string) => Promise<string>) | undefined;
  /** What the process ends with, once everything is written. */
  readonly exit: (code: number) => void;
}

/** Ends a command with one plain message and exit code 1. */
export class CliError extends Error {}

/** Text of others without characters that a terminal obeys, those that turn the direction of writing included. */
export function printable(text: string): string {
  return text.replaceAll(/[\u0000-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g, '?');
}
