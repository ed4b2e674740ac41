/** A shell that is typed into, as a reader of the docs has: what one command sets is there for the next. */
import { spawn } from 'node:child_process';

export interface Shell {
  /** Runs what is typed and gives what it has printed to standard output, latin1. */
  type(text: string): Promise<string>;
  /** Ends the shell and what it runs in the background. */
  close(): Promise<void>;
}

/** @param command that runs a bash which reads from standard input, where that is not here */
export function openShell(
  cwd: string,
  env: Readonly<Record<string, string>>,
  [program, ...args]: readonly [string, ...string[]] = ['bash', '-s'],
): Shell {
  const separator = '\u001e';
  const child = spawn(program, args, { cwd, env, stdio: 'pipe' });
  let printed = '';
  let wake = (): void => undefined;
  child.stdout.setEncoding('latin1').on('data', (chunk: string) => {
    printed += chunk;
    if (chunk.includes(separator)) wake();
  });
  child.stderr.resume();
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  child.stdin.write(`trap 'kill $(jobs -p)' EXIT\n`);
  return {
    async type(text) {
      const answered = new Promise<void>((done) => (wake = done));
      child.stdin.write(`${text}\nprintf '${separator}'\n`);
      await Promise.race([answered, ended]);
      const [answer = ''] = printed.split(separator);
      printed = '';
      return answer;
    },
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}
