import type { Kysely } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { memoryDatabase } from '../../../test/support/programs/memory-database.ts';
import { systemClock } from '../../lib/clock.ts';
import { migrate } from '../migrate.ts';
import { CHANGES_KEPT, logChange, touchedSince } from './change-log.ts';
import type { Tables } from './kysely-tables.ts';

let db: Kysely<Tables>;
beforeEach(async () => {
  db = memoryDatabase();
  await migrate(db, systemClock);
});
afterEach(() => db.destroy());

const log = (version: number): Promise<string> =>
  logChange(db, version, { appIds: [`app-${version}`], versionIds: [], keyIds: [] });

it('forgets old versions and then gives no difference from them', async () => {
  const first = { configVersion: 1, changeId: await log(1) };
  const second = { configVersion: 2, changeId: await log(2) };
  expect(await touchedSince(db, first, 2)).toMatchObject({ appIds: ['app-2'] });
  await log(CHANGES_KEPT + 1);
  const { length } = await db.selectFrom('config_change').select('config_version').execute();
  expect(length, 'the first is gone').toBe(2);
  expect(await touchedSince(db, first, CHANGES_KEPT + 1)).toBeUndefined();
  expect(await touchedSince(db, second, CHANGES_KEPT + 1), 'some are missing').toBeUndefined();
});

it('names the endpoint after one change, and its version after several', async () => {
  const known = { configVersion: 1, changeId: await log(1) };
  const endpoints = [{ versionId: 'v', revisionId: 'r', endpointId: 'e' }];
  const touched = { appIds: [], versionIds: ['v'], endpoints, keyIds: [] };
  await logChange(db, 2, touched);
  expect(await touchedSince(db, known, 2)).toEqual(touched);
  await logChange(db, 3, touched);
  expect(await touchedSince(db, known, 3)).toEqual({ appIds: [], versionIds: ['v'], keyIds: [] });
});

it('names each record once, however many changes touched it', async () => {
  const known = { configVersion: 1, changeId: await log(1) };
  await log(2);
  await logChange(db, 3, { appIds: ['app-2'], versionIds: ['v'], keyIds: ['k'] });
  await logChange(db, 4, { appIds: [], versionIds: ['v'], keyIds: ['k', 'l'] });
  expect(await touchedSince(db, known, 4)).toEqual({
    appIds: ['app-2'],
    versionIds: ['v'],
    keyIds: ['k', 'l'],
  });
});
