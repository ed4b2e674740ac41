/** Completion, asked for in real shells where they are installed. */
import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { headgate } from '../cli.fixture.ts';

const script = async (shell: string): Promise<string> =>
  (await headgate({ url: '' }, ['completion', shell])).out;
const has = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0;

/** What bash offers for the last of the words. */
async function completed(line: string): Promise<string[]> {
  const words = ['headgate', ...line.split(' ')];
  const ask = `${await script('bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _headgate; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync('bash', ['--norc', '-c', ask, 'bash', ...words], { encoding: 'utf8' });
  return out.split('\n').filter((word) => word !== '');
}

describe('bash', () => {
  it.each([
    ['ap', ['apps', 'api']],
    ['apps ', ['list', 'show', 'create', 'edit', 'delete', 'policy']],
    ['apps cr', ['create']],
    ['sampling ', ['show', 'start', 'stop']],
    ['debug-tokens ', ['list', 'create', 'revoke']],
    ['secrets ', ['list', 'rekey']],
    ['context ', ['add', 'use', 'list', 'remove']],
    ['apps list --output json --serv', ['--server']],
    ['apps list --o', ['--output']],
    ['apps list --output ', ['text', 'json']],
    ['apps list --output j', ['json']],
    ['apps list --server ', []],
    ['keys rotate --context apps --over', ['--overlap']],
    ['apps show apps ', []],
    ['completion ', []],
    ['nonsense ', []],
  ])('completes %j', async (line, words) => {
    expect(await completed(line)).toEqual(words);
  });

  it('knows every option of a command and no other', async () => {
    const options = await completed('config plan --');
    expect(options).toEqual(expect.arrayContaining(['--help', '--server', '--prune', '--max-deletes']));
    expect(options).not.toContain('--rebase');
  });
});

describe('other shells', () => {
  it.each(['bash', 'zsh', 'fish'])('%s reads its script without an error', async (shell) => {
    const text = await script(shell);
    expect(text).toContain('headgate');
    expect(text).not.toContain('\u0000');
    if (!has(shell)) return;
    const check = spawnSync(shell, ['-n'], { input: text, encoding: 'utf8' });
    expect([shell, check.status, check.stderr]).toEqual([shell, 0, '']);
  });

  it('are none but these', async () => {
    const { code, err } = await headgate({ url: '' }, ['completion', 'ksh']);
    expect([code, err]).toEqual([1, expect.stringContaining('Allowed choices are bash, zsh, fish')]);
  });
});
