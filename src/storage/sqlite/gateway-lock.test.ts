/** The lock of the gateway that serves a database, between processes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { GatewayLock, isServed } from './gateway-lock.ts';

const sourceOf = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
/** Has the lock, and has then chosen a file for the first admin token. */
const HOLDER = `
  import { GatewayLock } from ${sourceOf('./gateway-lock.ts')};
  import { adminTokenFile } from ${sourceOf('../../management/access/admin-token-file.ts')};
  const [, file, folder] = process.argv;
  const lock = new GatewayLock(file);
  const outcome = lock.take();
  await adminTokenFile({ folder, files: [file] });
  console.log(outcome);
  setInterval(() => lock.take(), 1000);
`;

/** Resolves with what it got. */
async function startHolder(file: string): Promise<string> {
  const other = spawn(process.execPath, ['--input-type=module', '-e', HOLDER, file, folder]);
  holder = other;
  return String((await once(other.stdout, 'data'))[0]);
}

let folder: string;
let holder: ChildProcess | undefined;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'headgate-lock-'))));
afterEach(() => {
  holder?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

it('one process has it at a time, until it ends in whatever way', async () => {
  const file = join(folder, 'headgate.db');
  expect(await startHolder(file)).toBe('held\n');
  const lock = new GatewayLock(file);
  expect(lock.take()).toBe('held elsewhere');
  expect(isServed(file)).toBe(true);
  holder?.kill('SIGKILL');
  await once(holder as ChildProcess, 'close');
  expect(isServed(file)).toBe(false);
  expect(lock.take()).toBe('held');
  expect(lock.path).toBe(join(folder, 'headgate.lock'));
  lock.release();
  expect(existsSync(lock.path), 'nothing is left').toBe(false);
});

it('where there can be no file, a gateway is not kept from its start', () => {
  const lock = new GatewayLock(join(folder, 'missing', 'headgate.db'));
  expect(lock.take()).toBe('unknown');
  expect(lock.isHeld).toBe(false);
  lock.release();
});

it('a symbolic link is another name of the same database', async () => {
  const [file, link] = [join(folder, 'headgate.db'), join(folder, 'link', 'other.db')];
  writeFileSync(file, '');
  mkdirSync(join(folder, 'link'));
  symlinkSync(file, link);
  expect(await startHolder(file)).toBe('held\n');
  expect(new GatewayLock(link).take()).toBe('held elsewhere');
  expect(isServed(link)).toBe(true);
});

it('stays when the first admin token finds the file of another one, and looks what else is in the folder', async () => {
  const file = join(folder, 'headgate.db');
  writeFileSync(join(folder, 'admin-token'), 'hga_other');
  expect(await startHolder(file)).toBe('held\n');
  expect(isServed(file)).toBe(true);
});

it('the lock of a gateway that serves a new folder stays when that of the moved one ends', () => {
  const data = join(folder, 'data');
  const [first, second] = [1, 2].map(() => {
    mkdirSync(data);
    const lock = new GatewayLock(join(data, 'headgate.db'));
    expect(lock.take()).toBe('held');
    if (!existsSync(join(folder, 'moved'))) renameSync(data, join(folder, 'moved'));
    return lock;
  });
  first?.release();
  expect(existsSync(join(data, 'headgate.lock'))).toBe(true);
  second?.release();
});
