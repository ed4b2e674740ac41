import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { FLAGS } from './serving-flags.ts';

const run = (...flags: string[]) => spawnSync(process.execPath, flags, { encoding: 'utf8' });

it('are flags that this Node.js knows', () => {
  // In a program that runs, an unknown flag is ignored.
  const { status, stderr } = run(...FLAGS.flatMap(({ serving, usual }) => [serving, usual]), '--eval', '0');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

it('let a thread that starts find the cached code of Node.js', () => {
  // V8 tells by this tag which code it may use. In a process of its own: flags hold for all threads of one.
  const source = `
    const { cachedDataVersionTag: tag } = await import('node:v8');
    const { flagsForLoading, flagsForServing } = await import('${import.meta.dirname}/serving-flags.ts');
    const tags = [tag()];
    flagsForServing();
    tags.push(tag());
    flagsForLoading();
    tags.push(tag());
    console.log(JSON.stringify(tags));`;
  const { stdout, stderr } = run('--input-type=module', '--eval', source);
  expect(stderr).toBe('');
  const [before, serving, after] = JSON.parse(stdout) as number[];
  expect(serving).not.toBe(before);
  expect(after).toBe(before);
});
