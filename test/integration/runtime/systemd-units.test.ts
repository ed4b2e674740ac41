/** The units of deploy/systemd, as systemd reads and rates them. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { requireProgram, run } from '../../support/programs/programs.ts';

const UNITS = resolve(import.meta.dirname, '../../../deploy/systemd');
/** Of ten; what systemd-analyze calls OK ends at 2.0. */
const EXPOSURE_MAX = 2;

beforeAll(() => void requireProgram('systemd-analyze', 'systemd'));

describe.each(['headgate.service', 'headgate@.service'])('%s', (unit) => {
  it('is closed to all that a gateway does not need', async () => {
    const { code, stdout } = await run('systemd-analyze', [
      'security',
      '--offline=true',
      '--no-pager',
      join(UNITS, unit),
    ]);
    expect(code).toBe(0);
    const [, exposure] = /Overall exposure level .*: ([\d.]+)/.exec(stdout) ?? [];
    expect(Number(exposure)).toBeGreaterThan(0);
    expect(Number(exposure)).toBeLessThanOrEqual(EXPOSURE_MAX);
  });

  it('has nothing that systemd does not know', async () => {
    const { stderr } = await run('systemd-analyze', ['verify', join(UNITS, unit)]);
    const lines = stderr.split('\n').filter((line) => line.includes('headgate'));
    // The program is not installed on the machine of the tests.
    expect(lines.filter((line) => !line.includes('/usr/bin/headgate is not executable'))).toEqual([]);
  });
});

it('the two units differ in what instances need alone', () => {
  const linesOf = (unit: string): string[] => readFileSync(join(UNITS, unit), 'utf8').split('\n');
  const [one, many] = [linesOf('headgate.service'), linesOf('headgate@.service')];
  expect(many.filter((line) => !one.includes(line))).toEqual([
    'Description=Headgate API gateway, instance %i',
    'EnvironmentFile=-/etc/headgate/%i.env',
    '# Starting one instance ends the other one, without a refused connection.',
    'ExecStart=/usr/bin/headgate start --take-over',
  ]);
  expect(one.filter((line) => !many.includes(line))).toEqual([
    'Description=Headgate API gateway',
    'ExecStart=/usr/bin/headgate start',
  ]);
});
