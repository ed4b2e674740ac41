/**
 * A write whose config version does not follow on what the workers have, because another process wrote to the same
 * database: the gateway reads everything again, and no worker is lost over it.
 */
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { createService, request, versionPath } from '../../support/traffic.ts';

let origin: Origin;
let gateway: TestGateway;
beforeAll(async () => {
  origin = await startOrigin();
  gateway = await startGateway({ env: { GATEWAY_WORKERS: '2' } });
});
afterAll(async () => {
  await gateway.kill();
  await origin.close();
});

it('brings what another process has written along with the next write', async () => {
  await createService(gateway, 'a', origin.port);
  await createService(gateway, 'b', origin.port);
  const db = new DatabaseSync(join(gateway.folder, 'headgate.db'));
  db.exec("update version set status = 'retired' where gateway_path = '/a/v1'");
  db.exec('update config_state set config_version = config_version + 1');
  db.close();
  expect((await request(gateway, '/a/v1/x')).status).toBe(200);

  await gateway.must('PATCH', versionPath('b'), { status: 'retired' });
  for (let index = 0; index < 8; index++) {
    expect((await request(gateway, '/a/v1/x')).status).toBe(410);
    expect((await request(gateway, '/b/v1/x')).status).toBe(410);
  }
  await gateway.must('PATCH', versionPath('b'), { status: 'active' });
  expect((await request(gateway, '/b/v1/x')).status).toBe(200);

  const messages = gateway.logs().map(({ msg }) => msg);
  expect(
    messages.filter((msg) => String(msg).startsWith('the whole configuration was read again')),
  ).toHaveLength(1);
  expect(messages).not.toContain('a proxy worker failed to apply a change');
});
