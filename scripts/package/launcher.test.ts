/**
 * deploy/npm/headgate, the command of installed packages: which Node.js it takes, and what it says where there is none.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { run, type Finished } from '../../test/support/programs/programs.ts';

const LAUNCHER = resolve(import.meta.dirname, '../../deploy/npm/headgate');

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-launcher-'));
  mkdirSync(join(folder, 'modules/headgate/bin'), { recursive: true });
  mkdirSync(join(folder, 'path'));
  copyFileSync(LAUNCHER, join(folder, 'modules/headgate/bin/headgate'));
  symlinkSync('../modules/headgate/bin/headgate', join(folder, 'path/headgate'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function program(path: string, script: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}
const node = (path: string, version: string): void =>
  program(path, `[ "$1" = --version ] && echo ${version} || echo "${path} runs $*"`);
const machine = (system: string, processor: string): void =>
  program('path/uname', `[ "$1" = -s ] && echo ${system} || echo ${processor}`);
const start = (): Promise<Finished> =>
  run('/bin/sh', [join(folder, 'path/headgate'), 'doctor'], {
    env: { PATH: `${join(folder, 'path')}:/usr/bin:/bin`, HOME: folder },
  });

/** Of a version that is too old, so that no other one on PATH counts. */
const ON_PATH = 'path/node';

it.each([
  ['x86_64', 'modules/headgate/node_modules/headgate-node-linux-x64/bin/node'],
  ['x86_64', 'modules/headgate-node-linux-x64/bin/node'],
  ['aarch64', 'modules/headgate-node-linux-arm64/bin/node'],
  ['arm64', 'modules/headgate-node-linux-arm64/bin/node'],
  ['riscv64', 'modules/headgate/node/bin/node'],
])('on %s takes the Node.js that a package brings: %s', async (processor, path) => {
  machine('Linux', processor);
  node(ON_PATH, 'v20.1.0');
  node(path, 'v24.1.0');
  const { code, stdout } = await start();
  expect([code, stdout]).toEqual([0, expect.stringMatching(`^${path} runs .*/program/main.js doctor\n$`)]);
});

it('takes the Node.js on PATH if it is new enough and the packaged one does not start', async () => {
  machine('Linux', 'x86_64');
  program('modules/headgate-node-linux-x64/bin/node', 'exit 127');
  node(ON_PATH, 'v26.0.0');
  expect((await start()).stdout).toMatch(/^path\/node runs /);
});

it.each([
  ['Linux', 'x86_64', 'npm brings one with headgate-node-linux-x64, which is missing: install again without'],
  [
    'Linux',
    'aarch64',
    'npm brings one with headgate-node-linux-arm64, which is missing: install again without',
  ],
  ['Linux', 'armv7l', 'Headgate brings one for Linux on x64 and arm64; this is Linux on armv7l.'],
  ['Darwin', 'arm64', 'Headgate brings one for Linux on x64 and arm64; this is Darwin on arm64.'],
])('on %s, %s, without one, says what is missing', async (system, processor, text) => {
  machine(system, processor);
  node(ON_PATH, 'v20.1.0');
  const { code, stdout, stderr } = await start();
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('headgate: Node.js 24 or later is needed, and PATH has v20.1.0.\n');
  expect(stderr).toContain(`headgate: ${text}`);
});

it('says where the Node.js is that does not start', async () => {
  machine('Linux', 'x86_64');
  program(ON_PATH, 'exit 127');
  program('modules/headgate-node-linux-x64/bin/node', 'exit 127');
  const { code, stderr } = await start();
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /PATH has none\.\n.*does not start on this machine.*headgate-node-linux-x64\/bin\/node\n$/,
  );
});
