/** What is said of Unix sockets that can be had, and of what is in the way of the others. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import * as net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Settings } from '../../settings/settings.ts';
import { readSettings } from '../../settings/settings.ts';
import { socketChecks } from './socket-checks.ts';

let folder = '';
const live = net.createServer();
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-sockets-'));
  writeFileSync(join(folder, 'file'), '');
  live.listen(join(folder, 'live'));
  await once(live, 'listening');
});
afterAll(() => {
  live.close();
  rmSync(folder, { recursive: true });
});

function settingsOf(env: Readonly<Record<string, string>>): Settings {
  const read = readSettings(env);
  if ('errors' in read) throw new Error(read.errors.join('\n'));
  return read.settings;
}

it.each<[string, string, number | undefined, string]>([
  ['free', 'new', undefined, 'ok management on @/new is free'],
  ['in no folder', 'none/new', undefined, 'error management on @/none/new: there is no folder "@/none"'],
  ['a file', 'file', undefined, 'error management on @/file: the file at this path is not a socket'],
  ['taken', 'live', undefined, 'error management on @/live: another process listens there'],
  ['of the gateway', 'live', 7, 'ok management on @/live: the running gateway (process 7), as it seems'],
])('a socket that is %s', async (_what, name, servingPid, wanted) => {
  const settings = settingsOf({ GATEWAY_SERVER__UNIX_SOCKET: join(folder, name) });
  const found = await socketChecks(settings, servingPid);
  expect(found.map(({ state, detail }) => `${state} ${detail}`)).toEqual([wanted.replaceAll('@', folder)]);
});

it('sockets that are not set, or are those of the service manager, are not looked at', async () => {
  expect(await socketChecks(settingsOf({ GATEWAY_PROXY__UNIX_SOCKET: 'systemd' }), undefined)).toEqual([]);
});
