/** Each command shows examples, and each example is a command line that the program takes. */
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { idleProgram } from '../idle-program.ts';
import { examplesOf } from './output-format.ts';

const program = idleProgram();

function leaves(command: Command, path: readonly string[]): [string, Command][] {
  if (command.commands.length === 0) return [[path.join(' '), command]];
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
}

const shown = leaves(program, ['headgate']).filter(([, command]) => examplesOf(command).length > 0);

describe('the help of', () => {
  it.each(shown)('%s has examples that name it and its options', (path, command) => {
    const examples = examplesOf(command);
    for (const example of examples) {
      expect(example).toContain(path);
      const line = example.slice(example.indexOf(path)).replace(/ +#.*/, '');
      const known = command.options.flatMap(({ long, short }) => [long, short]);
      for (const [option] of line.matchAll(/(?<= )--?[a-z][a-z-]*/gi)) expect(known).toContain(option);
    }
  });

  it('each command of the everyday jobs has examples', () => {
    const groups = [
      'apps',
      'versions',
      'revisions',
      'endpoints',
      'traffic',
      'keys',
      'admin-tokens',
      'context',
    ];
    const names = leaves(program, ['headgate'])
      .filter(([path]) => groups.includes(path.split(' ')[1] ?? ''))
      .map(([path]) => path);
    expect(names.length).toBeGreaterThan(30);
    expect(shown.map(([path]) => path)).toEqual(expect.arrayContaining(names));
  });
});
