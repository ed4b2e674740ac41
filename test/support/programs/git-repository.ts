/** A generated Git repository, large and of many references, and the Git client in an environment of its own. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { Readable } from 'node:stream';
import { finished, plainEnvironment, run, type Finished } from './programs.ts';

const MEBIBYTE = 1024 * 1024;
const TAGS = 80;

export interface GitClient {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
  /** Runs `git <args>` in a folder, whatever comes of it. */
  try(folder: string, ...args: string[]): Promise<Finished>;
  /** As `try`, but a failure throws; returns standard output. */
  must(folder: string, ...args: string[]): Promise<string>;
}

/** @param home no file of it is needed; nothing is read from the developer's own settings */
export function gitClient(git: string, home: string): GitClient {
  const who = { NAME: 'Tester', EMAIL: 'tester@example.com' };
  const env = {
    ...plainEnvironment(home),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    ...Object.fromEntries(
      Object.entries(who).flatMap(([name, value]) => [
        [`GIT_AUTHOR_${name}`, value],
        [`GIT_COMMITTER_${name}`, value],
      ]),
    ),
  };
  const client: GitClient = {
    program: git,
    env,
    try: (folder, ...args) => run(git, ['-C', folder, ...args], { env }),
    must: async (folder, ...args) => {
      const { code, stdout, stderr } = await client.try(folder, ...args);
      if (code !== 0) throw new Error(`git ${args.join(' ')} ended with ${code}: ${stderr}`);
      return stdout;
    },
  };
  return client;
}

/**
 * A repository of `mebibytes` files of 1 MiB that do not compress, and of small text files, in several commits
 * with a tag on each: so many references that the client's list of wants is worth compressing. Git is told not
 * to look for likenesses between the files, which takes longer than all the rest.
 */
export async function generateRepository(git: GitClient, folder: string, mebibytes: number): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await git.must(folder, 'init', '--quiet', '--initial-branch=main');
  for (const setting of ['core.compression=0', 'pack.window=0', 'gc.auto=0', 'fastimport.unpackLimit=1']) {
    await git.must(folder, 'config', ...setting.split('='));
  }
  const stream = spawn(git.program, ['fast-import', '--quiet', '--depth=0'], {
    cwd: folder,
    env: git.env,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const outcome = finished(stream);
  Readable.from(importCommands(mebibytes)).pipe(stream.stdin);
  const { code, stderr } = await outcome;
  if (code !== 0) throw new Error(`git fast-import ended with ${code}: ${stderr}`);
  await git.must(folder, 'reset', '--quiet', '--hard', 'main');
}

/** The input of git-fast-import(1). */
function* importCommands(mebibytes: number): Generator<string | Buffer> {
  yield* commit(1, 'large files');
  for (let index = 0; index < mebibytes; index++) yield* file(`random-${index}.bin`, randomBytes(MEBIBYTE));
  for (let index = 0; index < TAGS; index++) {
    const text = Buffer.from(`File ${index}\n`.repeat(index + 1));
    yield* commit(index + 2, `text ${index}`);
    yield* file(`text/${index}.txt`, text);
    yield `reset refs/tags/v${index}\nfrom :${index + 2}\n\n`;
  }
}

function* commit(mark: number, message: string): Generator<string> {
  yield `commit refs/heads/main\nmark :${mark}\n`;
  yield `committer Tester <tester@example.com> ${1_700_000_000 + mark} +0000\n`;
  yield `data ${message.length}\n${message}\n`;
}

function* file(path: string, content: Buffer): Generator<string | Buffer> {
  yield `M 100644 inline ${path}\ndata ${content.length}\n`;
  yield content;
  yield '\n';
}
