/**
 * The history of the configuration through the program: what a call of the management API leaves in the database, that
 * a dry run leaves nothing, and that the settings bound it.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { metric } from '../../support/policies.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_HISTORY__MAX_VERSIONS: '2' } });
});
afterAll(async () => {
  await gateway.stop();
});

interface Kept {
  readonly versions: readonly Readonly<Record<string, unknown>>[];
  readonly records: readonly Readonly<Record<string, unknown>>[];
}

function kept(): Kept {
  const db = new DatabaseSync(join(gateway.folder, 'headgate.db'), { readOnly: true });
  try {
    return {
      versions: db.prepare('select * from config_history order by config_version').all(),
      records: db.prepare('select * from config_history_record order by config_version, position').all(),
    };
  } finally {
    db.close();
  }
}

it('a write records its author and its changes; a dry run and a refused write record nothing', async () => {
  const app = { name: 'Shop', slug: 'shop', gateway_path: '/shop' };
  expect((await gateway.api('POST', '/apps?dry_run=true', app)).status).toBe(200);
  expect(kept().versions).toEqual([]);
  await gateway.must('POST', '/apps', app);
  expect((await gateway.api('POST', '/apps', app)).status).toBe(409);
  const { versions, records } = kept();
  expect(versions).toMatchObject([
    {
      config_version: 1,
      actor: 'environment',
      address: '127.0.0.1',
      request_id: expect.any(String),
      source: 'api',
      git_commit: null,
      action: 'app.create',
      message: null,
      changed_records: 1,
    },
  ]);
  expect(records).toMatchObject([{ config_version: 1, type: 'app', name: 'shop', before: null }]);
  // A list tells what each version was about without the version itself.
  const first_record = { type: 'app', path: ['shop'] };
  expect(await gateway.must('GET', '/config/versions')).toMatchObject([{ first_record }]);
  expect(await gateway.must('GET', '/config/versions/1')).toMatchObject({ first_record });
});

it(
  'GATEWAY_HISTORY__MAX_VERSIONS bounds it, and the metrics say how much there is',
  { timeout: 60_000 },
  async () => {
    for (const name of ['a', 'b', 'c']) await gateway.must('PATCH', '/apps/shop', { name });
    await until(() => kept().versions.length === 2);
    const { versions } = kept();
    expect(versions.map(({ config_version }) => config_version)).toEqual([3, 4]);
    await until(() => kept().records.length === 2);
    await until(async () => (await metric(gateway, 'headgate_config_history_versions', {})) === 2);
    const bytes = versions.reduce((sum, version) => sum + Number(version['bytes']), 0);
    expect(await metric(gateway, 'headgate_config_history_bytes', {})).toBe(bytes);
    expect(await metric(gateway, 'headgate_config_history_last_failure_timestamp_seconds', {})).toBe(0);
  },
);
