/** A gateway whose log cannot be written: standard output on a full disk, or a pipe without a reader. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ADMIN_TOKEN, MAIN } from '../../support/gateway.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';
import { requestText } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const KINDS: Readonly<Record<string, (env: NodeJS.ProcessEnv) => ChildProcess>> = {
  'is full': (env) => {
    const full = openSync('/dev/full', 'w');
    try {
      return spawn(process.execPath, [MAIN], { env, stdio: ['ignore', full, full] });
    } finally {
      closeSync(full);
    }
  },
  'has no reader': (env) => {
    const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout?.destroy();
    child.stderr?.destroy();
    return child;
  },
};

it.each(Object.keys(KINDS))(
  'serves, counts what it could not say, and stops as usual when its output %s',
  { timeout: 60_000 },
  async (kind) => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-output-'));
    const [proxyPort, managementPort] = [await freePort(), await freePort()];
    const child = KINDS[kind]?.({
      PATH: process.env['PATH'] ?? '',
      GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'headgate.db')}`,
      GATEWAY_SERVER__PORT: String(managementPort),
      GATEWAY_PROXY__HOST: '127.0.0.1',
      GATEWAY_PROXY__PORT: String(proxyPort),
      GATEWAY_WORKERS: '1',
      GATEWAY_ADMIN_TOKEN: ADMIN_TOKEN,
      // A warning at the start, before there is a log.
      GATEWAY_NO_SUCH_SETTING: '1',
    });
    if (child === undefined) throw new Error(kind);
    const exited = once(child, 'exit');
    try {
      const base = `http://127.0.0.1:${managementPort}`;
      await until(async () => {
        if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}`);
        return (await fetch(`${base}/readyz`).catch(() => undefined))?.status === 200;
      }, 30_000);
      for (let count = 0; count < 50; count++) {
        expect((await sendRaw(proxyPort, requestText('/nowhere'))).status).toBe(404);
      }
      await until(async () => {
        const metrics = await fetch(`${base}/metrics`, {
          headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
        });
        const dropped = /^headgate_log_lines_dropped_total(?:\{[^}]*\})? (\d+)$/m.exec(
          await metrics.text(),
        )?.[1];
        return Number(dropped) >= 50;
      });
      const problems = await fetch(`${base}/api/v1/problems`, {
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      });
      expect(((await problems.json()) as { readonly data: unknown }).data).toMatchObject([
        {
          code: 'log_lines_dropped',
          severity: 'warning',
          detail: expect.stringMatching(/^\d{2,} log lines were dropped/),
          link: { kind: 'logs' },
        },
      ]);
      child.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
    } finally {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
