/**
 * The contract of `Repository`, as a suite that every implementation runs over a real database: records and
 * look-ups (repository-reads.ts), writes (repository-writes.ts), and here what concerns several callers at once,
 * usage marks, and the end of a repository's life.
 */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HistoryBounds } from '../../src/model/history/config-history.ts';
import type { ConfigChange, ChangeSet } from '../../src/model/config.ts';
import type { Repository } from '../../src/storage/repository.ts';
import { StorageUnavailable } from '../../src/storage/storage-errors.ts';
import {
  at,
  change,
  makeAdminToken,
  makeApp,
  makeEndpoint,
  makeKey,
  makeRevision,
  makeVersion,
  seed,
  touched,
} from './records.ts';
import { applyChange, emptyModel, modelOf } from './replay.ts';
import { catchUpContract } from './repository-catch-up.ts';
import { historyContract } from './repository-history.ts';
import {
  earlierStatesContract,
  historyBoundsContract,
  randomStatesContract,
} from './repository-history-states.ts';
import { eventsContract } from './repository-events.ts';
import { filtersContract } from './repository-filters.ts';
import { keySweepsContract } from './repository-key-sweeps.ts';
import { keyUsageContract } from './repository-key-usage.ts';
import { readsContract } from './repository-reads.ts';
import { sessionsContract } from './repository-sessions.ts';
import { writesContract } from './repository-writes.ts';

/** Opens a new, empty database, which the suite closes. */
export type OpenRepository = (history?: HistoryBounds) => Promise<Repository>;

/** @param runs of random writes, which take most of the time; test/soak/ has many more for each database */
export function repositoryContract(name: string, open: OpenRepository, runs = 1): void {
  describe(`Repository: ${name}`, () => {
    let repository: Repository;
    const current = (): Repository => repository;
    beforeEach(async () => {
      repository = await open();
    });
    afterEach(() => repository.close());

    readsContract(current);
    writesContract(current);
    describe('signed-in browsers', () => {
      sessionsContract(current);
    });
    describe('events', () => {
      eventsContract(current);
    });
    describe('keys that end', () => {
      keySweepsContract(current);
    });
    describe('filtered lists', () => {
      filtersContract(current);
    });
    describe('several at once', () => {
      concurrencyContract(current);
    });
    describe('usage marks', () => {
      usageContract(current);
    });
    describe('readers that missed writes', () => {
      catchUpContract(current);
    });
    randomWritesContract(open, runs);
    describe('the history', () => {
      historyContract(current);
      earlierStatesContract(current);
      historyBoundsContract(open);
    });
    describe('the end', () => {
      closeContract(current);
    });
  });
}

/** What random writes leave; `npm run test:soak` has more of them. */
export function randomWritesContract(open: OpenRepository, runs: number): void {
  const timeoutMs = 120_000 + runs * 10_000;
  describe('the changes of all writes, replayed', () => {
    replayContract(open, runs, timeoutMs);
  });
  describe('the history', () => {
    randomStatesContract(open, runs, timeoutMs);
  });
}

function concurrencyContract(current: () => Repository): void {
  test('50 concurrent writes are serialised, in the order of calling', async () => {
    const { app } = await seed(current());
    const seen: number[] = [];
    const writes = Array.from({ length: 50 }, (_, index) =>
      current().write(
        async (writer) => {
          const found = await writer.findApp(app.id);
          // Gives others the chance to come between reading and writing.
          await new Promise((resolve) => setImmediate(resolve));
          await writer.updateApp({ ...app, description: `${found?.description ?? ''}${index},` });
          return { value: index, touched: touched({ appIds: [app.id] }) };
        },
        (loaded) => {
          seen.push(loaded.configVersion);
        },
      ),
    );
    const results = await Promise.all(writes);
    const versions = Array.from({ length: 50 }, (_, index) => index + 2);
    expect(results.map(({ configVersion }) => configVersion)).toEqual(versions);
    expect(seen).toEqual(versions);
    const after = await current().read((reader) => reader.findApp(app.id));
    expect(after?.description).toBe(versions.map((version) => `${version - 2},`).join(''));
  });

  test('a failure among concurrent writes concerns only itself', async () => {
    const { app } = await seed(current());
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        change(
          current(),
          async (writer) => {
            await writer.insertApp(makeApp(index % 2 === 0 ? { slug: app.slug } : {}));
          },
          { appIds: [app.id] },
        ),
      ),
    );
    expect(results.map(({ status }) => status)).toEqual(
      results.map((_, index) => (index % 2 === 0 ? 'rejected' : 'fulfilled')),
    );
    expect(await current().loadAll()).toMatchObject({ configVersion: 11 });
  });

  test('a read sees a write as a whole or not at all', async () => {
    const { app, version } = await seed(current());
    const reads: Promise<[string | undefined, string | undefined, number]>[] = [];
    const lookAround = (): void => {
      reads.push(
        current().read(async (reader) => [
          (await reader.findApp(app.id))?.name,
          (await reader.findVersion(app.id, version.id))?.status,
          await reader.configVersion(),
        ]),
      );
    };
    await change(
      current(),
      async (writer) => {
        lookAround();
        await writer.updateApp({ ...app, name: 'after' });
        lookAround();
        await new Promise((resolve) => setImmediate(resolve));
        await writer.updateVersion({ ...version, status: 'retired' });
        lookAround();
      },
      { appIds: [app.id] },
    );
    lookAround();
    const whole = [
      [app.name, 'active', 1],
      ['after', 'retired', 2],
    ];
    const results = await Promise.all(reads);
    for (const result of results) expect(whole).toContainEqual(result);
    expect(results.at(-1), 'what was answered is seen').toEqual(whole[1]);
  });
}

function usageContract(current: () => Repository): void {
  keyUsageContract(current);
  test('of admin tokens move forward only, outside of config versions', async () => {
    await seed(current());
    const token = makeAdminToken();
    await change(current(), (writer) => writer.insertAdminToken(token));
    await current().recordAdminTokenUse(token.id, at(7));
    await current().recordAdminTokenUse(token.id, at(6));
    await current().recordAdminTokenUse('none', at(6));
    await current().read(async (reader) => {
      expect(await reader.findAdminToken(token.id)).toEqual({ ...token, last_used_at: at(7) });
      expect(await reader.configVersion()).toBe(1);
    });
    expect(await current().countAdminTokens()).toBe(1);
  });

  test('of an admin token in the far future, stored by a wrong clock, give way', async () => {
    await seed(current());
    const token = makeAdminToken();
    await change(current(), (writer) => writer.insertAdminToken(token));
    const now = new Date().toISOString();
    for (const used of [new Date(Date.now() + 365 * 86_400_000).toISOString(), now, at(7)])
      await current().recordAdminTokenUse(token.id, used);
    const found = await current().read((reader) => reader.findAdminToken(token.id));
    expect(found?.last_used_at).toBe(now);
  });
}

/** What a replay may do next: numbers choose the kind of step and what it works on. */
const stepArbitrary = fc.record({ kind: fc.nat(7), pick: fc.nat(1000), throws: fc.boolean() });

function replayContract(open: OpenRepository, numRuns: number, timeoutMs: number): void {
  test(
    'give the same configuration as loading it, and as loading now and then what was missed',
    async () => {
      const steps = fc.array(fc.tuple(stepArbitrary, fc.boolean()), { minLength: 5, maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(steps, async (each) => {
          const repository = await open();
          const [model, late] = [emptyModel(), emptyModel()];
          let known = await repository.position();
          const catchUp = async (): Promise<void> => {
            const missed = await repository.loadSince(known);
            if (missed === undefined) return;
            applyChange(late, missed);
            known = { configVersion: missed.configVersion, changeId: missed.changeId };
          };
          try {
            for (const [step, looks] of each) {
              await randomWrite(repository, step, (loaded) => applyChange(model, loaded));
              if (looks) await catchUp();
            }
            await catchUp();
            const everything = modelOf(await repository.loadAll());
            expect(model).toEqual(everything);
            expect(late).toEqual(everything);
          } finally {
            await repository.close();
          }
        }),
        { numRuns },
      );
    },
    timeoutMs,
  );
}

const done = (ids: Partial<ChangeSet>) => ({ value: 0, touched: touched(ids) });

async function randomWrite(
  repository: Repository,
  { kind, pick, throws }: { kind: number; pick: number; throws: boolean },
  onCommit: (change: ConfigChange) => void,
): Promise<void> {
  const everything = await repository.loadAll();
  const one = <T>(items: readonly T[]): T | undefined => items[pick % Math.max(items.length, 1)];
  const tree = one(everything.apps);
  const versionTree = tree && one(tree.versions);
  const revision = versionTree && one(versionTree.revisions)?.revision;
  const key = one(everything.keys);
  const work = repository.write(
    async (writer) => {
      if (tree === undefined || kind === 0) {
        const app = makeApp();
        await writer.insertApp(app);
        return done({ appIds: [app.id] });
      }
      const { app } = tree;
      const versionIds = versionTree === undefined ? [] : [versionTree.version.id];
      if (kind === 1) {
        const added = makeKey(app);
        await writer.insertKey(added);
        return done({ keyIds: [added.id] });
      }
      if (kind === 2 && key !== undefined) {
        await writer.deleteKey(key.id);
        return done({ keyIds: [key.id] });
      }
      if (kind === 3 && pick % 4 === 0) {
        const keyIds = await writer.keyIdsOfApp(app.id);
        await writer.deleteApp(app.id);
        return done({ appIds: [app.id], keyIds });
      }
      if (kind === 4 && versionTree !== undefined) {
        await writer.deleteVersion(versionTree.version.id);
        return done({ versionIds });
      }
      if (kind === 5 && revision !== undefined) {
        await writer.insertEndpoint(makeEndpoint(revision));
        return done({ versionIds });
      }
      if (kind === 6 && versionTree !== undefined) {
        await writer.insertRevision(makeRevision(versionTree.version));
        return done({ versionIds });
      }
      const added = makeVersion(app);
      await writer.insertVersion(added);
      return done({ versionIds: [added.id] });
    },
    throws && pick % 3 === 0 ? refuse : undefined,
  );
  const result = await work.catch((error: unknown) => {
    if (!(error instanceof RangeError)) throw error;
    return undefined;
  });
  if (result?.change !== undefined) onCommit(result.change);
}

function refuse(): never {
  throw new RangeError('refused');
}

function closeContract(current: () => Repository): void {
  test('after close everything is refused as unavailable, and closing again is harmless', async () => {
    await seed(current());
    await current().close();
    await current().close();
    await expect(current().ping()).rejects.toBeInstanceOf(StorageUnavailable);
    await expect(current().loadAll()).rejects.toBeInstanceOf(StorageUnavailable);
    await expect(change(current(), async () => {})).rejects.toBeInstanceOf(StorageUnavailable);
    await expect(current().recordAdminTokenUse('x', at(1))).rejects.toBeInstanceOf(StorageUnavailable);
  });

  test('close lets the running write end and refuses those that wait', async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: closing, resolve: close } = Promise.withResolvers<void>();
    const first = change(current(), async (writer) => {
      begin();
      await closing;
      await writer.insertApp(makeApp());
    });
    await begun;
    const second = change(current(), (writer) => writer.insertApp(makeApp())).catch(
      (error: unknown) => error,
    );
    const closed = current().close();
    close();
    await closed;
    await expect(first).resolves.toMatchObject({ configVersion: 0 });
    expect(await second).toBeInstanceOf(StorageUnavailable);
  });
}
