/** The lock of the gateway that serves a database, between processes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { GatewayLock, isServed } from './gateway-lock.ts';

const HOLDER = `
  import { GatewayLock } from ${JSON.stringify(new URL('./gateway-lock.ts', import.meta.url).href)};
  const lock = new GatewayLock(process.argv[1]);
  console.log(lock.take());
  setInterval(() => lock.take(), 1000);
`;

let folder: string;
let holder: ChildProcess | undefined;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'headgate-lock-'))));
afterEach(() => {
  holder?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

it('one process has it at a time, until it ends in whatever way', async () => {
  const file = join(folder, 'headgate.db');
  const other = spawn(process.execPath, ['--input-type=module', '-e', HOLDER, file]);
  holder = other;
  expect(String((await once(other.stdout, 'data'))[0])).toBe('held\n');
  const lock = new GatewayLock(file);
  expect(lock.take()).toBe('held elsewhere');
  expect(isServed(file)).toBe(true);
  other.kill('SIGKILL');
  await once(other, 'close');
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
