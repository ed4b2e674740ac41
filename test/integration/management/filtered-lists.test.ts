/** Many filtered lists of many keys at once: other reads and the check of the database do not wait for all of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { createApp } from '../../support/traffic.ts';

const KEYS = 50_000;
const LISTS = 20;

let folder: string;
let gateway: TestGateway;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-filtered-'));
  const start = (): Promise<TestGateway> =>
    startGateway({ folder, env: { GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'keys.db')}` } });
  gateway = await start();
  await createApp(gateway, 'a');
  await gateway.must('POST', '/apps/a/tokens', { name: 'first' });
  await gateway.stop();
  const database = new DatabaseSync(join(folder, 'keys.db'));
  database.exec(`
    with recursive number(n) as (select 1 union all select n + 1 from number where n < ${KEYS})
    insert into api_key
      select printf('01940000-0000-7000-8000-%012x', n), app_id, 'key ' || n, scopes, token_prefix, is_active,
        expires_at, last_used_at, rate_limit, lower(hex(randomblob(32))), null, null, created_at, updated_at
      from api_key, number`);
  database.close();
  gateway = await start();
}, 120_000);
afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

it('others are answered meanwhile', { timeout: 120_000 }, async () => {
  let answered = 0;
  const lists = Array.from({ length: LISTS }, async (_, index) => {
    const { status, body } = await gateway.api('GET', `/apps/a/tokens?q=nothing${index}`);
    answered += 1;
    return [status, body.page.total];
  });
  await gateway.api('GET', '/apps/a');
  expect((await gateway.api('GET', '//readyz')).body.data).toEqual({ ready: true, reason: null });
  expect((await gateway.api('GET', '/apps/a')).status).toBe(200);
  expect(answered).toBeLessThan(LISTS / 2);
  expect(await Promise.all(lists)).toEqual(lists.map(() => [200, 0]));
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
});
