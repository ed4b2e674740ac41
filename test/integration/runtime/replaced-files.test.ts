/**
 * An upgrade of a package replaces the files of a gateway that runs. What starts from them before it is restarted would
 * not understand what it shares with the rest of it.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { startOrigin } from '../../support/backends/origin.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { MAIN, startGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { createService, request } from '../../support/traffic.ts';

const PATIENCE_MS = 30_000;
const NOT_STARTED = 'a replacement worker could not be started';

const closers = closeAfterEach();

/** As an installed package has it. */
function installed(): { readonly main: string; readonly manifest: string } {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-installed-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const [from, to] = [dirname(MAIN), join(folder, basename(dirname(MAIN)))];
  mkdirSync(to);
  cpSync(from, to, { recursive: true });
  const manifest = join(folder, 'package.json');
  cpSync(join(from, '../package.json'), manifest);
  symlinkSync(resolve(import.meta.dirname, '../../../node_modules'), join(folder, 'node_modules'));
  return { main: join(to, basename(MAIN)), manifest };
}

it(
  'no worker starts from the files of another version, and the others go on',
  { timeout: 90_000 },
  async () => {
    const { main, manifest } = installed();
    const origin = await startOrigin();
    closers.push(() => origin.close());
    const gateway = await startGateway({
      command: [process.execPath, main],
      env: { GATEWAY_WORKERS: '2', ...INSPECTABLE },
    });
    closers.push(() => gateway.kill());
    await createService(gateway, 'a', origin.port);
    const before = readFileSync(manifest, 'utf8');
    writeFileSync(manifest, before.replace(/"version": "[^"]+"/, '"version": "99.0.0"'));

    await crashWorkers(gateway, (title) => title.includes('proxy-1'));
    const line = await until(() => gateway.logs().find(({ msg }) => msg === NOT_STARTED), PATIENCE_MS);
    expect(line).toMatchObject({
      err: {
        message: expect.stringMatching(/files have version 99\.0\.0: restart it to finish the upgrade$/),
      },
    });
    for (let count = 0; count < 10; count++) expect((await request(gateway, '/a/v1/x')).status).toBe(200);

    // Back to the version that runs.
    writeFileSync(manifest, before);
    const states = (): Promise<unknown> => gateway.must('GET', '/state');
    await expect
      .poll(states, { timeout: PATIENCE_MS })
      .toMatchObject([{ state: { workers: { listening: 2 } } }]);
  },
);
