/** Over a real database in a file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../lib/clock.ts';
import { SECRET_PLACES } from '../policy/secret-places.ts';
import type { Repository } from '../storage/repository.ts';
import { openSqlite } from '../storage/sqlite/sqlite.ts';
import { StatementRefused, StorageUnavailable } from '../storage/storage-errors.ts';
import { DatabaseCheck } from './database-check.ts';

/** Probes often wait a second. */
const PROBE_MS = 1_000;
let folder: string;
let repository: Repository;
let pings: number;
let lines: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-check-'));
  const path = join(folder, 'headgate.db');
  repository = await openSqlite({ secretPlaces: SECRET_PLACES, path, autoMigrate: true, clock: systemClock });
  pings = 0;
  lines = [];
});
afterEach(async () => {
  await repository.close();
  rmSync(folder, { recursive: true, force: true });
});

function newCheck(clock: Pick<Clock, 'monotonicMs' | 'nowMs'> = systemClock): DatabaseCheck {
  const counted = {
    ping: () => repository.ping(),
    assertPrivileges: () => repository.assertPrivileges(),
    pingWrite: () => {
      pings += 1;
      return repository.pingWrite();
    },
  };
  const own = lines;
  const log = {
    info: (text: string) => void own.push(text),
    error: (_: object, text: string) => void own.push(text),
  };
  return new DatabaseCheck(counted, clock, log);
}

async function timed(check: DatabaseCheck) {
  const beganMs = performance.now();
  const problem = await check.problem();
  return { problem, ms: performance.now() - beganMs };
}

test('a write of three seconds delays no answer by that time, and is no problem of the database', async () => {
  const check = newCheck();
  const write = repository.write(async () => {
    await pause(3_000);
    return { abort: undefined };
  });
  for (let probe = 0; probe < 3; probe++) {
    const { problem, ms } = await timed(check);
    expect(problem).toBeUndefined();
    expect(ms).toBeLessThan(PROBE_MS);
  }
  expect(pings, 'not one more in the queue for each answer').toBe(1);
  await write;
  check.stop();
  await repository.close();
  await pause(100);
  expect(lines, 'the test write under way is no news at a stop').toEqual([]);
});

test('a database that another program keeps locked is found out, though no answer waits for it', async () => {
  const check = newCheck();
  const other = new DatabaseSync(join(folder, 'headgate.db'));
  other.exec('begin immediate');
  expect(check.problemSinceMs).toBeUndefined();
  const beganMs = Date.now();
  expect((await timed(check)).ms).toBeLessThan(PROBE_MS);
  await expect
    .poll(async () => (await timed(check)).problem, { timeout: 15_000 })
    .toMatchObject({ db: 'degraded' });
  expect(lines).toEqual(['the database cannot be written']);
  const sinceMs = check.problemSinceMs ?? 0;
  expect(sinceMs).toBeGreaterThanOrEqual(beganMs);
  await timed(check);
  expect(check.problemSinceMs, 'not of the last look').toBe(sinceMs);
  other.exec('rollback');
  other.close();
  await expect.poll(async () => (await timed(check)).problem, { timeout: 15_000 }).toBeUndefined();
  expect(lines).toEqual(['the database cannot be written', 'the database can be used again']);
  expect(check.problemSinceMs).toBeUndefined();
});

/** Of a disk that has room for the test write alone. */
const FULL = new StatementRefused('full', undefined, { reason: 'its disk is full' });

test('a write that was refused counts until others have passed for a while, though test writes do', async () => {
  let nowMs = 0;
  const check = newCheck({ monotonicMs: () => nowMs, nowMs: () => nowMs });
  check.suspect(FULL);
  const full = { db: 'degraded', reason: 'The database cannot be written: its disk is full' };
  for (; nowMs < 5_000; nowMs += 600) {
    expect((await timed(check)).problem).toEqual(full);
    // Some tables have free space.
    check.wrote();
  }
  check.suspect(FULL);
  nowMs += 4_000;
  check.wrote();
  expect((await timed(check)).problem).toEqual(full);
  expect(lines, 'it does not come and go with each write').toEqual(['the database cannot be written']);
  nowMs += 2_000;
  check.wrote();
  expect((await timed(check)).problem).toBeUndefined();
  expect(lines).toEqual(['the database cannot be written', 'the database can be used again']);
});

test('a write that was refused does not count for ever, and not at all for a reason that does not last', async () => {
  let nowMs = 0;
  const check = newCheck({ monotonicMs: () => nowMs, nowMs: () => nowMs });
  check.suspect(new StorageUnavailable('too long'));
  expect((await timed(check)).problem).toBeUndefined();
  nowMs += 6_000;
  check.suspect(FULL);
  nowMs += 59_000;
  expect((await timed(check)).problem).toMatchObject({ db: 'degraded' });
  nowMs += 1_000;
  expect((await timed(check)).problem).toBeUndefined();
});
