/**
 * The part of the repository's contract about earlier states: the configuration as of each kept version, and how much
 * is kept.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AppState, HistoryBounds } from '../../src/model/history/config-history.ts';
import type { ConfigReader, ConfigWriter, Repository } from '../../src/storage/repository.ts';
import {
  at,
  change,
  FIRST,
  makeApp,
  makeEndpoint,
  makeKey,
  makeRevision,
  makeVersion,
  seed,
} from './records.ts';
import { BY_CLI, changesOf, read } from './repository-history.ts';

type Open = (history?: HistoryBounds) => Promise<Repository>;

/** What `loadAppTree` and the keys say at present, of every app. */
async function presentState(reader: ConfigReader): Promise<AppState[]> {
  const states: AppState[] = [];
  for (const { id } of (await reader.listApps(FIRST)).items) {
    const tree = await reader.loadAppTree(id);
    if (tree !== undefined) states.push({ tree, keys: (await reader.listKeys(id, FIRST)).items });
  }
  return states;
}

export function earlierStatesContract(current: () => Repository): void {
  test('the present, an earlier and an unknown version; one app alone', async () => {
    const { app, key } = await seed(current());
    const before = await read(current(), presentState);
    await change(current(), (writer) => writer.deleteApp(app.id), { appIds: [app.id], keyIds: [key.id] });
    const states = (version: number, appId?: string) =>
      read(current(), (reader) => reader.appsAt(version, appId));
    expect(await states(0)).toEqual([]);
    expect(await states(1)).toEqual(before);
    expect(await states(1, app.id)).toEqual(before);
    expect(await states(1, 'another')).toEqual([]);
    expect(await states(2)).toEqual([]);
    for (const unknown of [-1, 3, 0.5, NaN]) expect(await states(unknown), `${unknown}`).toBeUndefined();
    expect(await read(current(), (reader) => reader.historyFrom())).toBe(0);
  });

  test('the last use of a key is not part of the configuration', async () => {
    const { app, key } = await seed(current());
    await current().recordKeyUsage([
      {
        keyId: key.id,
        date: '2026-01-31',
        lastUsedMs: Date.parse(at(50)),
        allowed: 1,
        limited: 0,
        denied: 0,
      },
    ]);
    await change(current(), (writer) => writer.updateKey({ ...key, name: 'other', last_used_at: at(50) }), {
      keyIds: [key.id],
    });
    const state = await read(current(), (reader) => reader.appsAt(1, app.id));
    expect(state?.[0]?.keys).toEqual([{ ...key, last_used_at: at(50) }]);
  });

  test('a writer sees earlier states before it changes anything', async () => {
    const { app } = await seed(current());
    await change(current(), (writer) => writer.updateApp({ ...app, name: 'new' }), { appIds: [app.id] });
    await change(
      current(),
      async (writer) => {
        const [state] = (await writer.appsAt(1)) ?? [];
        if (state !== undefined) await writer.updateApp({ ...state.tree.app, description: 'back' });
      },
      { appIds: [app.id] },
    );
    const found = await read(current(), (reader) => reader.findApp(app.id));
    expect(found).toEqual({ ...app, description: 'back' });
  });

  test('records that change without a config version end the history before them', async () => {
    const { app } = await seed(current());
    await change(current(), (writer) => writer.updateApp({ ...app, name: 'unnoticed' }));
    expect(await read(current(), (reader) => reader.historyFrom())).toBe(1);
    expect(await read(current(), (reader) => reader.appsAt(0))).toBeUndefined();
    await change(current(), (writer) => writer.deleteApp(app.id), { appIds: [app.id] });
    expect(await read(current(), (reader) => reader.appsAt(1))).toMatchObject([
      { tree: { app: { name: 'unnoticed' } } },
    ]);
  });
}

export function randomStatesContract(open: Open, numRuns: number, timeoutMs: number): void {
  test(
    'after random writes each version is what it was',
    async () => {
      const step = fc.record({ kind: fc.nat(11), pick: fc.nat(30), steps: fc.integer({ min: 1, max: 4 }) });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
          const repository = await open();
          try {
            const states: AppState[][] = [[]];
            for (const one of steps) {
              await randomWrite(repository, one);
              states.push(await read(repository, presentState));
            }
            for (const [version, state] of states.entries()) {
              expect(await read(repository, (reader) => reader.appsAt(version))).toEqual(state);
              for (const each of state) {
                const { id } = each.tree.app;
                expect(await read(repository, (reader) => reader.appsAt(version, id))).toEqual([each]);
              }
            }
            expect(await read(repository, (reader) => reader.historyFrom())).toBe(0);
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

/** One write of some changes, each of what the changes before it have left. */
async function randomWrite(
  repository: Repository,
  { kind, pick, steps }: { kind: number; pick: number; steps: number },
): Promise<void> {
  await change(
    repository,
    async (writer) => {
      for (let index = 0; index < steps; index++) await randomChange(writer, kind + index, pick + index);
    },
    { appIds: ['any'] },
  );
}

async function randomChange(writer: ConfigWriter, kind: number, pick: number): Promise<void> {
  const one = <T>(items: readonly T[]): T | undefined => items[pick % Math.max(items.length, 1)];
  const state = one(await presentState(writer));
  const default_policy =
    pick % 2 === 0
      ? null
      : { auth: { auth_type: 'jwt', jwt: { secret: `secret ${'x'.repeat(32)} ${pick}` } } };
  if (state === undefined || kind % 12 === 0) return writer.insertApp(makeApp({ default_policy }));
  const { app, versions } = state.tree;
  const tree = one(versions);
  const revisionTree = tree && one(tree.revisions);
  const endpoint = revisionTree && one(revisionTree.endpoints);
  const key = one(state.keys);
  const actions: (() => Promise<unknown> | undefined)[] = [
    () => writer.insertVersion(makeVersion(app)),
    () => tree && writer.insertRevision(makeRevision(tree.version, { default_policy })),
    () => revisionTree && writer.insertEndpoint(makeEndpoint(revisionTree.revision)),
    () => writer.insertKey(makeKey(app)),
    () => writer.updateApp({ ...app, default_policy, updated_at: at(pick) }),
    () => tree && writer.updateVersion({ ...tree.version, status: 'retired' }),
    () => endpoint && writer.updateEndpoint({ ...endpoint, policy_override: default_policy }),
    () => key && writer.updateKey({ ...key, scopes: [`${pick}`] }),
    () =>
      tree &&
      revisionTree &&
      writer.setCurrentRevision(tree.version.id, revisionTree.revision.id, true, at(pick)),
    () => (pick % 3 === 0 ? writer.deleteApp(app.id) : tree && writer.deleteVersion(tree.version.id)),
    () => (endpoint === undefined ? key && writer.deleteKey(key.id) : writer.deleteEndpoint(endpoint.id)),
  ];
  await one(actions.slice(kind % 11))?.();
}

async function compact(repository: Repository): Promise<number> {
  for (let pieces = 1; pieces <= 1_000; pieces++) if (await repository.compactHistory()) return pieces;
  throw new Error('compaction does not end');
}

export function historyBoundsContract(open: Open): void {
  const withBounds =
    (history: HistoryBounds, work: (repository: Repository) => Promise<void>) => async () => {
      const repository = await open(history);
      try {
        await work(repository);
      } finally {
        await repository.close();
      }
    };
  const maxBytes = 1_000_000;

  test(
    'beyond the number of versions the oldest go, and the others stay',
    withBounds({ maxVersions: 3, maxBytes }, async (repository) => {
      const { app } = await seed(repository);
      const states = [await read(repository, presentState)];
      for (let index = 2; index <= 6; index++) {
        await change(repository, (writer) => writer.updateApp({ ...app, name: `${index}` }), {
          appIds: [app.id],
        });
        states.push(await read(repository, presentState));
      }
      await compact(repository);
      const { items } = await read(repository, (reader) => reader.listHistory(FIRST));
      expect(items.map(({ config_version }) => config_version)).toEqual([6, 5, 4]);
      expect(await read(repository, (reader) => reader.historyFrom())).toBe(3);
      expect(await read(repository, (reader) => reader.appsAt(2))).toBeUndefined();
      for (const version of [3, 4, 5, 6]) {
        expect(await read(repository, (reader) => reader.appsAt(version))).toEqual(states[version - 1]);
      }
      expect(await changesOf(repository, 3)).toEqual([]);
      const size = await repository.historySize();
      expect(size).toEqual({ versions: 3, bytes: items.reduce((sum, { bytes }) => sum + bytes, 0) });
      expect(await compact(repository), 'nothing is left to do').toBe(1);
      expect(await repository.historySize()).toEqual(size);
    }),
  );

  test(
    'beyond the bytes the oldest go, in pieces, while writes go on; a half removed version is not read',
    withBounds({ maxVersions: 100, maxBytes: 1_200_000 }, async (repository) => {
      const { version, revision } = await seed(repository);
      const ids = { versionIds: [version.id] };
      for (let round = 0; round < 2; round++) {
        const endpoints = Array.from({ length: 2_500 }, (_, index) =>
          makeEndpoint(revision, { path: `/${round}/${index}` }),
        );
        await change(
          repository,
          async (writer) => {
            for (let start = 0; start < 2_500; start += 500) {
              await writer.insertEndpoints(endpoints.slice(start, start + 500));
            }
          },
          ids,
        );
      }
      expect(await repository.compactHistory(), 'one piece is not all').toBe(false);
      expect(await read(repository, (reader) => reader.appsAt(1))).toBeUndefined();
      expect(await changesOf(repository, 2)).toEqual([]);
      expect(await read(repository, (reader) => reader.historyFrom())).toBe(2);
      await change(repository, (writer) => writer.updateVersion({ ...version, status: 'retired' }), ids);
      expect(await compact(repository)).toBeGreaterThan(1);
      expect(await read(repository, (reader) => reader.historyFrom())).toBe(2);
      const [state] = (await read(repository, (reader) => reader.appsAt(2))) ?? [];
      expect(state?.tree.versions[0]?.revisions[0]?.endpoints).toHaveLength(2_501);
      expect((await repository.historySize()).versions).toBe(2);
    }),
  );

  test(
    'a write larger than the bound works; it is listed without its records, and history begins behind it',
    withBounds({ maxVersions: 100, maxBytes: 20_000 }, async (repository) => {
      const { app, version, revision, key } = await seed(repository);
      const endpoints = Array.from({ length: 200 }, () => makeEndpoint(revision));
      await change(
        repository,
        async (writer) => {
          writer.describeVersion(BY_CLI);
          await writer.insertEndpoints(endpoints);
          await writer.updateEndpoint({ ...endpoints[0]!, is_active: false });
        },
        { versionIds: [version.id] },
      );
      const state = await read(repository, presentState);
      expect(state[0]?.tree.versions[0]?.revisions[0]?.endpoints).toHaveLength(201);
      const look = async (): Promise<void> => {
        const { items } = await read(repository, (reader) => reader.listHistory(FIRST));
        expect(items).toMatchObject([{ ...BY_CLI, config_version: 2, changed_records: 200, bytes: 0 }]);
        expect(items[0]?.is_complete).toBe(false);
        expect(await changesOf(repository, 2)).toEqual([]);
        expect(await read(repository, (reader) => reader.appsAt(1))).toBeUndefined();
        expect(await read(repository, (reader) => reader.historyFrom())).toBe(2);
      };
      await look();
      await compact(repository);
      await look();
      await change(repository, (writer) => writer.updateApp({ ...app, name: 'x' }), { appIds: [app.id] });
      expect(await read(repository, (reader) => reader.appsAt(2))).toEqual(state);
      await change(repository, (writer) => writer.deleteApp(app.id), { appIds: [app.id], keyIds: [key.id] });
      expect(await read(repository, (reader) => reader.historyFrom()), 'a deletion too').toBe(4);
      expect(await read(repository, (reader) => reader.appsAt(4))).toEqual([]);
    }),
  );

  test(
    'without versions nothing is kept',
    withBounds({ maxVersions: 0, maxBytes }, async (repository) => {
      await seed(repository);
      expect(await read(repository, (reader) => reader.listHistory(FIRST))).toMatchObject({ total: 0 });
      expect(await read(repository, (reader) => reader.historyFrom())).toBe(1);
      expect(await read(repository, (reader) => reader.appsAt(0))).toBeUndefined();
      expect(await read(repository, (reader) => reader.appsAt(1))).toHaveLength(1);
      expect(await repository.historySize()).toEqual({ versions: 0, bytes: 0 });
      expect(await compact(repository)).toBe(1);
    }),
  );
}
