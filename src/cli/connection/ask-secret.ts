/**
 * Reads one line from a terminal without showing it. Owns the raw mode of the terminal while it reads, and always
 * restores it.
 */
import { CliError } from '../io.ts';

const CHARS_MAX = 4_096;
const ENTER = /[\r\n]/;
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
const ERASE = new Set(['\u007F', '\b']);

export interface Terminal {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WritableStream;
}

/** @throws CliError when the user cancels (Ctrl-C, Ctrl-D) */
export async function askSecret({ input, output }: Terminal, question: string): Promise<string> {
  output.write(question);
  input.setRawMode(true);
  input.setEncoding('utf8');
  try {
    let typed = '';
    for await (const chunk of input as AsyncIterable<string>) {
      for (const char of chunk) {
        if (ENTER.test(char)) return typed;
        if (char === CTRL_C || char === CTRL_D) throw new CliError('Nothing was entered');
        if (ERASE.has(char)) typed = typed.slice(0, -1);
        else if (typed.length < CHARS_MAX) typed += char;
      }
    }
    return typed;
  } finally {
    output.write('\n');
    input.setRawMode(false);
    input.pause();
  }
}
