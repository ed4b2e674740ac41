/**
 * `headgate copy` as a backup: from a gateway that serves and is written to, into a file from which another one starts.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import { fillGateway, useCredentials } from '../../scenarios/copying.ts';
import { runToEnd, startGateway } from '../../support/gateway.ts';
import { startOrigin } from '../../support/backends/origin.ts';

const closers = closeAfterEach();

it('a backup that is made under writes and traffic has every write answered before it, and serves', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-backup-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const origin = await startOrigin();
  closers.push(() => origin.close());
  const [source, restored] = [join(folder, 'source'), join(folder, 'restored')];
  for (const path of [source, restored]) mkdirSync(path);
  const gateway = await startGateway({ folder: source });
  closers.push(() => gateway.stop());
  const credentials = await fillGateway(gateway, origin.port);

  const answered: string[] = [];
  let isOver = false;
  const writing = (async () => {
    while (!isOver && answered.length < 5_000) {
      const name = `during-${answered.length}`;
      await gateway.must('POST', '/apps/shop/tokens', { name, scopes: [] });
      answered.push(name);
    }
  })();
  const statuses: number[] = [];
  const traffic = (async () => {
    // Within the app's limit, which the credentials are tried under afterwards.
    while (!isOver && statuses.length < 300) {
      const response = await fetch(`${gateway.proxy}/shop/v1/x`, {
        headers: { authorization: `Bearer ${credentials.key}` },
      });
      await response.arrayBuffer();
      statuses.push(response.status);
    }
  })();
  while (answered.length < 5) await new Promise((done) => setTimeout(done, 10));
  const before = answered.slice();
  const databases = ['--from', `sqlite://${join(source, 'headgate.db')}`];
  const { code, output } = await runToEnd(
    {},
    ['copy', ...databases, '--to', `sqlite://${join(restored, 'headgate.db')}`],
    { cwd: folder },
  ).finally(() => (isOver = true));
  await Promise.all([writing, traffic]);
  expect(code, output).toBe(0);
  expect(new Set(statuses)).toEqual(new Set([200]));

  copyFileSync(join(source, 'secret-key'), join(restored, 'secret-key'));
  const another = await startGateway({ folder: restored });
  closers.push(() => another.stop());
  const names = new Set<string>();
  for (let query: string | undefined = ''; query !== undefined;) {
    const { body } = await another.api('GET', `/apps/shop/tokens?limit=500${query}`);
    for (const { name } of body.data) names.add(name);
    query = body.page.next_cursor === null ? undefined : `&cursor=${body.page.next_cursor}`;
  }
  expect(before.filter((name) => !names.has(name))).toEqual([]);
  // What needs a scope depends on the revision whose turn it is.
  const { noScope: _noScope, ...statusesOf } = await useCredentials(another, credentials);
  const works = { key: 200, rotated: 200, beforeRotation: 200, jwt: 200, viewer: 200 };
  expect(statusesOf).toEqual({ ...works, wrongKey: 401, wrongJwt: 401 });
}, 90_000);
