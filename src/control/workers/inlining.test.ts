import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { INLINING_FLAG, USUAL_FLAG } from './inlining.ts';

it('is a flag that this Node.js knows', () => {
  // In a program that runs, an unknown flag is ignored.
  const { status, stderr } = spawnSync(process.execPath, [INLINING_FLAG, '--eval', '0'], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

it('restores the default of V8', () => {
  const { stdout } = spawnSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  expect(stdout).toContain(`default: ${USUAL_FLAG}\n`);
});
