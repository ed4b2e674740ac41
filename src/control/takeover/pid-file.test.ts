/** Other processes in the files are real ones, which sleep. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { pidFileOf } from './pid-file.ts';

let folder: string;
let next: string;
const sleepers: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-pid-'));
  next = join(folder, 'headgate.pid.next');
});
afterEach(() => {
  for (const sleeper of sleepers.splice(0)) sleeper.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** A live process, and what its file would contain. */
function sleeper(): { readonly pid: number; readonly text: string } {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  sleepers.push(child);
  const pid = child.pid as number;
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return { pid, text: `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}\n` };
}

const file = () => pidFileOf(join(folder, 'headgate.db'));
const own = new RegExp(`^${process.pid} \\d+\\n$`);

test('one process at a time takes over', () => {
  const [old, other] = [sleeper(), sleeper()];
  writeFileSync(next, other.text);
  expect(file().announce(old.pid)).toBe(other.pid);
  expect(readFileSync(next, 'latin1')).toBe(other.text);
  expect(readdirSync(folder)).toEqual(['headgate.pid.next']);
});

test.each([
  ['nothing', () => undefined],
  ['a process that has ended', () => '4000000000 1\n'],
  ['no process', () => ''],
  ['the process that is taken over, since its own takeover', ({ text }: { text: string }) => text],
])('the second file has %s: this process takes over', (_what, content) => {
  const old = sleeper();
  const text = content(old);
  if (text !== undefined) writeFileSync(next, text);
  expect(file().announce(old.pid)).toBeUndefined();
  expect(readFileSync(next, 'latin1')).toMatch(own);
  expect(readdirSync(folder)).toEqual(['headgate.pid.next']);
  file().release();
  expect(readdirSync(folder)).toEqual([]);
});

test('a process leaves the version of its configuration to the next one', () => {
  const left = join(folder, 'headgate.pid.left');
  expect(file().leftVersion()).toBeUndefined();
  writeFileSync(left, `7 ${sleeper().text}`);
  expect(file().leftVersion()).toBe(7);
  writeFileSync(left, '7 4000000000 1\n');
  expect(file().leftVersion(), 'of a process that has ended').toBeUndefined();
  const gateway = file();
  gateway.leave(8);
  expect(readFileSync(left, 'latin1')).toMatch(/^8 \d+ \d+\n$/);
  expect(gateway.leftVersion(), 'its own').toBeUndefined();
  gateway.release();
  expect(readdirSync(folder)).toEqual([]);
});
