/** What the gateway tells systemd (sd_notify(3)), heard by a socket that stands in for systemd's. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startGateway } from '../../support/gateway.ts';
import { requireProgram } from '../../support/programs/programs.ts';

const RECEIVER = join(import.meta.dirname, '../../support/programs/notify_socket.py');

let folder = '';
let receiver: ChildProcess | undefined;
let heard = '';
const messages = (): string[] => heard.split('\n').filter((line) => line !== '' && line !== 'listening');
const socket = (): string => join(folder, 'notify');

beforeEach(async () => {
  for (const program of ['python3', 'systemd-notify'])
    requireProgram(program, program === 'python3' ? program : 'systemd');
  folder = mkdtempSync(join(tmpdir(), 'headgate-notify-'));
  heard = '';
  receiver = spawn('python3', [RECEIVER, socket()], { stdio: ['ignore', 'pipe', 'inherit'] });
  const { stdout } = receiver;
  stdout?.setEncoding('utf8').on('data', (chunk: string) => (heard += chunk));
  await new Promise((done) => stdout?.once('data', done));
});
afterEach(() => {
  receiver?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

describe('a gateway under systemd', () => {
  it('says when it serves, reads files again and stops, and turns for the watchdog', async () => {
    const gateway = await startGateway({
      env: {
        NOTIFY_SOCKET: socket(),
        WATCHDOG_USEC: '900000',
        GATEWAY_PROXY__DRAIN_TIMEOUT_MS: '20000',
        GATEWAY_PROXY__DRAIN_GRACE_MS: '1000',
      },
    });
    await expect.poll(messages).toContain('READY=1 | STATUS=Serving');
    expect(await gateway.api('GET', '//readyz')).toMatchObject({ status: 200 });
    await expect.poll(() => messages().filter((text) => text === 'WATCHDOG=1').length).toBeGreaterThan(2);
    // There is nothing to read again, and SIGHUP would end any other program.
    const before = messages().length;
    gateway.process.kill('SIGHUP');
    await expect.poll(() => messages().slice(before).join(';')).toMatch(/RELOADING=1.*;READY=1/);
    expect(await gateway.api('GET', '//readyz')).toMatchObject({ status: 200 });
    expect(await gateway.stop()).toBe(0);
    const last = messages()
      .filter((text) => text !== 'WATCHDOG=1')
      .at(-1);
    // The grace, the drain and what the workers may need beyond it.
    expect(last).toBe('STOPPING=1 | STATUS=Draining | EXTEND_TIMEOUT_USEC=31000000');
    expect(messages().filter((text) => text.startsWith('STOPPING'))).toHaveLength(1);
  });

  it('sends nothing of the watchdog for another process, and none without one', async () => {
    const gateway = await startGateway({
      env: { NOTIFY_SOCKET: socket(), WATCHDOG_USEC: '300000', WATCHDOG_PID: '1' },
    });
    await expect.poll(messages).toContain('READY=1 | STATUS=Serving');
    await gateway.stop();
    expect(messages()).not.toContain('WATCHDOG=1');
  });

  it('serves on without systemd-notify, and logs that once', async () => {
    writeFileSync(join(folder, 'empty'), '');
    const gateway = await startGateway({
      env: { NOTIFY_SOCKET: socket(), WATCHDOG_USEC: '300000', PATH: '/nonexistent' },
    });
    const warnings = (): unknown[] => gateway.logs().filter((line) => /systemd/.test(String(line['msg'])));
    await expect.poll(() => warnings().length).toBe(1);
    expect(await gateway.api('GET', '//readyz')).toMatchObject({ status: 200 });
    expect(await gateway.stop()).toBe(0);
    expect(warnings()).toHaveLength(1);
  });
});
