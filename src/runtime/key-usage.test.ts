import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seed } from '../../test/contract/records.ts';
import { systemClock } from '../kernel/clock.ts';
import { createLogger } from '../observe/log.ts';
import { StorageUnavailable, type Repository } from '../storage/repository.ts';
import { openSqlite } from '../storage/sqlite.ts';
import { KeyUsageWriter } from './key-usage.ts';

const log = createLogger({
  level: 'silent',
  format: 'json',
  output: { write: () => undefined },
  clock: systemClock,
});
const FIRST_MS = Date.parse('2030-01-01T00:00:00.000Z');

let repository: Repository;
let keyId: string;
beforeEach(async () => {
  repository = await openSqlite({ path: ':memory:', autoMigrate: true, clock: systemClock });
  keyId = (await seed(repository)).key.id;
});
afterEach(() => repository.close());

const lastUse = async () =>
  (await repository.loadAll()).keys.find((key) => key.id === keyId)?.last_used_at ?? null;

describe('KeyUsageWriter', () => {
  it('stores the latest of several uses', async () => {
    const writer = new KeyUsageWriter(repository, log);
    writer.add([[keyId, FIRST_MS + 1]]);
    writer.add([[keyId, FIRST_MS]]);
    await writer.stop();
    expect(await lastUse()).toBe('2030-01-01T00:00:00.001Z');
  });

  it('when it stops, also stores what came while a batch was being written', async () => {
    const writer = new KeyUsageWriter(repository, log);
    writer.add([[keyId, FIRST_MS]]);
    const first = writer.write();
    writer.add([[keyId, FIRST_MS + 2]]);
    await writer.stop();
    expect(await lastUse()).toBe('2030-01-01T00:00:00.002Z');
    await first;
  });

  it('keeps what a database that is away did not take', async () => {
    let away = true;
    const recordKeyUsage: Repository['recordKeyUsage'] = async (usage) => {
      if (away) throw new StorageUnavailable('away');
      await repository.recordKeyUsage(usage);
    };
    const writer = new KeyUsageWriter({ ...repository, recordKeyUsage }, log);
    writer.add([[keyId, FIRST_MS]]);
    await writer.write();
    away = false;
    await writer.stop();
    expect(await lastUse()).toBe('2030-01-01T00:00:00.000Z');
  });
});
