import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { change, FIRST, seed } from '../../../test/contract/records.ts';
import { until } from '../../../test/support/measure/until.ts';
import { systemClock } from '../../lib/clock.ts';
import { HISTORY_DEFAULTS } from '../../model/history/config-history.ts';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import type { Repository } from '../../storage/repository.ts';
import { openSqlite } from '../../storage/sqlite/sqlite.ts';
import { StatementRefused, StorageUnavailable } from '../../storage/storage-errors.ts';
import { HistoryCompactor } from './history-compactor.ts';

const silent = { debug: () => undefined, warn: () => undefined } as never;

function open(): Promise<Repository> {
  const history = { ...HISTORY_DEFAULTS, maxVersions: 3 };
  return openSqlite({
    secretPlaces: SECRET_PLACES,
    path: ':memory:',
    autoMigrate: true,
    clock: systemClock,
    history,
  });
}

async function writeVersions(repository: Repository, count: number): Promise<void> {
  const { app } = await seed(repository);
  for (let index = 1; index < count; index++) {
    await change(repository, (writer) => writer.updateApp({ ...app, name: `${index}` }), {
      appIds: [app.id],
    });
  }
}

test('what exceeds the bound goes by itself, and the size is known', async () => {
  const repository = await open();
  const compactor = new HistoryCompactor({ repository, log: silent, clock: systemClock, roundMs: 5 });
  await writeVersions(repository, 10);
  await until(async () => (await repository.historySize()).versions === 3);
  const { items } = await repository.read((reader) => reader.listHistory(FIRST));
  expect(items.map(({ config_version }) => config_version)).toEqual([10, 9, 8]);
  await until(() => compactor.facts?.versions === 3);
  expect(compactor.facts).toEqual({
    versions: 3,
    bytes: items.reduce((sum, { bytes }) => sum + bytes, 0),
    failedAtMs: undefined,
    failingSinceMs: undefined,
  });
  await compactor.stop();
  await repository.close();
});

test('a failure is reported with its begin, an outage of the database is not, and each next round tries again', async () => {
  const repository = await open();
  await writeVersions(repository, 5);
  let failure: Error | undefined;
  let rounds = 0;
  const warnings: unknown[] = [];
  const compactor = new HistoryCompactor({
    repository: {
      compactHistory: () => {
        rounds++;
        return failure === undefined ? repository.compactHistory() : Promise.reject(failure);
      },
      historySize: () => repository.historySize(),
    },
    log: { debug: () => undefined, warn: (fields: unknown) => warnings.push(fields) } as never,
    clock: systemClock,
    roundMs: 5,
  });
  const twoRoundsWith = async (next: Error | undefined): Promise<void> => {
    failure = next;
    const before = rounds;
    await until(() => rounds >= before + 3);
  };
  await until(() => compactor.facts?.versions === 3);
  await twoRoundsWith(new StorageUnavailable('away'));
  expect(compactor.facts).toMatchObject({ failedAtMs: undefined, failingSinceMs: undefined });
  expect(warnings).toHaveLength(0);

  await twoRoundsWith(new StatementRefused('full'));
  const sinceMs = compactor.facts?.failingSinceMs ?? 0;
  expect(Math.abs(sinceMs - systemClock.nowMs())).toBeLessThan(10_000);
  await until(() => (compactor.facts?.failedAtMs ?? 0) > sinceMs);
  expect(compactor.facts?.failingSinceMs, 'when it began').toBe(sinceMs);
  expect(warnings, 'once').toHaveLength(1);

  await twoRoundsWith(undefined);
  expect(compactor.facts?.failingSinceMs).toBeUndefined();
  expect(compactor.facts?.failedAtMs, 'of the past').toBeDefined();
  await compactor.stop();
  await repository.close();
});

test('a stop ends a compaction that has much to do', async () => {
  let pieces = 0;
  const compactor = new HistoryCompactor({
    repository: {
      compactHistory: async () => {
        pieces += 1;
        return false;
      },
      historySize: async () => ({ versions: 1, bytes: 1 }),
    },
    log: silent,
    clock: systemClock,
  });
  await until(() => pieces > 1);
  await compactor.stop();
  const atStop = pieces;
  await delay(50);
  expect(pieces).toBe(atStop);
});
