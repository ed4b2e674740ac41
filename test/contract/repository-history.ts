/**
 * The part of the repository's contract about the history: who made each config version, the records that it changed,
 * and the configuration as of an earlier version.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type {
  AppState,
  HistoryBounds,
  RecordChange,
  VersionDescription,
} from '../../src/model/history/config-history.ts';
import type { ConfigReader, ConfigWriter, Repository } from '../../src/storage/repository.ts';
import {
  at,
  change,
  FIRST,
  makeAdminToken,
  makeApp,
  makeEndpoint,
  makeKey,
  makeRevision,
  makeVersion,
  seed,
  touched,
} from './records.ts';

type Open = (history?: HistoryBounds) => Promise<Repository>;

const BY_CLI: VersionDescription = {
  actor: 'token-1',
  address: '192.0.2.7',
  request_id: 'r-7',
  source: 'cli',
  git_commit: '0123abc',
  action: 'config.apply',
  message: 'canary for billing',
};

export function historyContract(current: () => Repository, open: Open): void {
  describedVersions(current);
  changedRecords(current);
  earlierStates(current, open);
  bounds(open);
}

const read = <T>(repository: Repository, work: (reader: ConfigReader) => Promise<T>): Promise<T> =>
  repository.read(work);

async function changesOf(repository: Repository, configVersion: number): Promise<readonly RecordChange[]> {
  return (await read(repository, (reader) => reader.historyChanges(configVersion, FIRST))).items;
}

/** Whether a version created (`+`), changed (`~`) or deleted (`-`) its records. */
async function outline(repository: Repository, configVersion: number): Promise<string[]> {
  return (await changesOf(repository, configVersion)).map(({ type, name, before, after }) => {
    const sign = before === null ? '+' : after === null ? '-' : '~';
    return `${sign} ${type} ${name}`;
  });
}

function describedVersions(current: () => Repository): void {
  test('a version keeps who made it, and how many records it changed', async () => {
    const app = makeApp();
    const before = new Date().toISOString();
    await change(
      current(),
      async (writer) => {
        writer.describeVersion({ ...BY_CLI, message: null });
        await writer.insertApp(app);
        writer.describeVersion(BY_CLI);
      },
      { appIds: [app.id] },
    );
    const entry = await read(current(), (reader) => reader.findHistory(1));
    expect(entry).toEqual({
      ...BY_CLI,
      config_version: 1,
      at: expect.any(String),
      changed_records: 1,
      bytes: expect.any(Number),
      is_complete: true,
    });
    expect(entry?.at.localeCompare(before)).toBeGreaterThanOrEqual(0);
    expect(entry?.bytes).toBeGreaterThan(200);
    expect(await read(current(), (reader) => reader.findHistory(2))).toBeUndefined();
    expect(await read(current(), (reader) => reader.findHistory(0))).toBeUndefined();
  });

  test('what nothing describes is of the system', async () => {
    await seed(current());
    expect(await read(current(), (reader) => reader.findHistory(1))).toMatchObject({
      actor: 'system',
      source: 'system',
      changed_records: 5,
    });
  });

  test('lists are newest first, in pages, and filtered', async () => {
    const { app } = await seed(current());
    const other = makeApp();
    for (const [index, source] of ['api', 'cli', 'api'].entries()) {
      await change(
        current(),
        async (writer) => {
          writer.describeVersion({ ...BY_CLI, source });
          if (index === 1) await writer.insertApp(other);
          else await writer.updateApp({ ...app, description: `${index}` });
        },
        { appIds: [app.id] },
      );
    }
    const versions = async (...args: Parameters<ConfigReader['listHistory']>) => {
      const { items, total, nextAfter } = await read(current(), (reader) => reader.listHistory(...args));
      return { versions: items.map(({ config_version }) => config_version), total, nextAfter };
    };
    expect(await versions(FIRST)).toEqual({ versions: [4, 3, 2, 1], total: 4, nextAfter: null });
    const first = await versions({ limit: 3, after: undefined });
    expect(first).toMatchObject({ versions: [4, 3, 2], total: 4 });
    expect(await versions({ limit: 3, after: first.nextAfter ?? '' })).toEqual({
      versions: [1],
      total: 4,
      nextAfter: null,
    });
    expect(await versions(FIRST, { source: 'cli' })).toMatchObject({ versions: [3], total: 1 });
    expect(await versions(FIRST, { actor: 'system' })).toMatchObject({ versions: [1] });
    expect(await versions(FIRST, { app_id: app.id })).toMatchObject({ versions: [4, 2, 1], total: 3 });
    expect(await versions(FIRST, { app_id: other.id, source: 'api' })).toMatchObject({ versions: [] });
    expect(await versions(FIRST, { since: at(0), until: '2999-01-01' })).toMatchObject({ total: 4 });
    expect(await versions(FIRST, { until: at(0) })).toMatchObject({ total: 0 });
  });

  test('writes that share a transaction have each a version of their own', async () => {
    const { app } = await seed(current());
    await Promise.allSettled(
      Array.from({ length: 12 }, (_, index) =>
        change(
          current(),
          async (writer) => {
            writer.describeVersion({ ...BY_CLI, message: `write ${index}` });
            await writer.updateApp({ ...app, description: `${index}` });
            if (index === 5) await writer.insertApp(makeApp({ slug: app.slug }));
          },
          { appIds: [app.id] },
        ),
      ),
    );
    const { items } = await read(current(), (reader) => reader.listHistory(FIRST));
    const kept = [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11];
    expect(items.map(({ message }) => message)).toEqual([
      ...kept.map((index) => `write ${index}`).toReversed(),
      null,
    ]);
    const [last] = await changesOf(current(), 12);
    expect([last?.before, last?.after]).toMatchObject([{ description: '10' }, { description: '11' }]);
  });

  test('what is not committed, or makes no version, leaves nothing', async () => {
    const { app } = await seed(current());
    await current().write(async (writer) => {
      await writer.updateApp({ ...app, name: 'aborted' });
      return { abort: 0 };
    });
    const refused = current().write(
      async (writer) => {
        await writer.updateApp({ ...app, name: 'refused' });
        return { value: 0, touched: touched({ appIds: [app.id] }) };
      },
      () => {
        throw new RangeError('refused');
      },
    );
    await expect(refused).rejects.toThrow('refused');
    await change(current(), async (writer) => {
      writer.describeVersion(BY_CLI);
      await writer.insertAdminToken(makeAdminToken());
    });
    expect(await read(current(), (reader) => reader.listHistory(FIRST))).toMatchObject({ total: 1 });
    expect(await read(current(), (reader) => reader.historyFrom())).toBe(0);
  });
}

function changedRecords(current: () => Repository): void {
  test('records are kept before and after, with names, in the order of their first change', async () => {
    const { app, version, revision, endpoint, key } = await seed(current());
    expect(await outline(current(), 1)).toEqual([
      `+ app ${app.slug}`,
      `+ version ${version.version}`,
      `+ revision ${revision.revision}`,
      `+ endpoint GET ${endpoint.path}`,
      '+ token mobile',
    ]);
    const changed = { ...endpoint, path: '/renamed', updated_at: at(9) };
    await change(current(), (writer) => writer.updateEndpoint(changed), { versionIds: [version.id] });
    expect(await changesOf(current(), 2)).toEqual([
      {
        type: 'endpoint',
        id: endpoint.id,
        app_id: app.id,
        name: `GET ${endpoint.path}`,
        parents: { app: app.slug, version: version.version, revision: revision.revision },
        before: endpoint,
        after: changed,
      },
    ]);
    const disabled = { ...key, is_active: false };
    await change(current(), (writer) => writer.updateKey(disabled), { keyIds: [key.id] });
    expect(await changesOf(current(), 3)).toMatchObject([{ before: key, after: disabled }]);
  });

  test('changes come in pages', async () => {
    const { version, revision } = await seed(current());
    const endpoints = Array.from({ length: 7 }, () => makeEndpoint(revision));
    await change(current(), (writer) => writer.insertEndpoints(endpoints), { versionIds: [version.id] });
    const ids: string[] = [];
    for (let after: string | undefined; ;) {
      const page = await read(current(), (reader) => reader.historyChanges(2, { limit: 3, after }));
      expect(page.total).toBe(7);
      ids.push(...page.items.map(({ id }) => id));
      if (page.nextAfter === null) break;
      after = page.nextAfter;
    }
    expect(ids).toEqual(endpoints.map(({ id }) => id));
  });

  test('a record that changes twice in one write is one change; what is as it was is none', async () => {
    const secret = { auth: { auth_type: 'jwt', jwt: { secret: 'a secret of thirty-two characters!' } } };
    const { app, version, revision, key } = await seed(current());
    await change(current(), (writer) => writer.updateApp({ ...app, default_policy: secret }), {
      appIds: [app.id],
    });
    const brief = makeVersion(app);
    const added = makeEndpoint(revision);
    await change(
      current(),
      async (writer) => {
        await writer.insertVersion(brief);
        await writer.deleteVersion(brief.id);
        // The same secret is encrypted to another text each time.
        await writer.updateApp({ ...app, default_policy: secret });
        await writer.updateVersion({ ...version, status: 'deprecated' });
        await writer.updateVersion({ ...version, status: 'retired' });
        await writer.insertEndpoint(added);
        await writer.updateEndpoint({ ...added, is_active: false });
        await writer.deleteKey(key.id);
        await writer.insertKey({ ...key, name: 'again' });
      },
      { appIds: [app.id] },
    );
    expect(await changesOf(current(), 3)).toMatchObject([
      { type: 'version', before: version, after: { ...version, status: 'retired' } },
      { type: 'endpoint', before: null, after: { ...added, is_active: false } },
      { type: 'token', before: key, after: { ...key, name: 'again' } },
    ]);
    expect(await read(current(), (reader) => reader.findHistory(3))).toMatchObject({ changed_records: 3 });
  });

  test('a deletion keeps everything that it removes below', async () => {
    const { app, version, revision, endpoint, key } = await seed(current());
    const endpoints = Array.from({ length: 1_200 }, (_, index) =>
      makeEndpoint(revision, { path: `/many/${index}` }),
    );
    for (let start = 0; start < endpoints.length; start += 400) {
      await change(current(), (writer) => writer.insertEndpoints(endpoints.slice(start, start + 400)), {
        versionIds: [version.id],
      });
    }
    await change(current(), (writer) => writer.deleteApp(app.id), { appIds: [app.id], keyIds: [key.id] });
    expect((await outline(current(), 5)).slice(0, 5)).toEqual([
      `- app ${app.slug}`,
      `- version ${version.version}`,
      `- revision ${revision.revision}`,
      `- endpoint GET ${endpoint.path}`,
      '- endpoint GET /many/0',
    ]);
    const last = await read(current(), (reader) => reader.historyChanges(5, { limit: 500, after: '1200' }));
    expect(last).toMatchObject({ total: 1_205, nextAfter: null });
    expect(last.items.map(({ type }) => type)).toEqual(['endpoint', 'endpoint', 'endpoint', 'token']);
    expect(last.items.at(-1)).toMatchObject({ parents: { app: app.slug }, before: key, after: null });
    const state = await read(current(), (reader) => reader.appsAt(4));
    expect(state?.[0]?.tree.versions[0]?.revisions[0]?.endpoints).toEqual([endpoint, ...endpoints]);
    expect(state?.[0]?.keys).toEqual([key]);
  });

  test('the current revision: those that change, and no others', async () => {
    const { version, revision } = await seed(current());
    const [second, third] = [makeRevision(version, { is_current: true }), makeRevision(version)];
    await change(
      current(),
      async (writer) => {
        await writer.insertRevision(second);
        await writer.insertRevision(third);
      },
      { versionIds: [version.id] },
    );
    const ids = { versionIds: [version.id] };
    await change(
      current(),
      async (writer) => {
        expect(await writer.setCurrentRevision(version.id, revision.id, true, at(5))).toBe(2);
      },
      ids,
    );
    const changes = await changesOf(current(), 3);
    expect(changes).toMatchObject([
      { before: revision, after: { ...revision, is_current: true, updated_at: at(5) } },
      { before: second, after: { ...second, is_current: false, updated_at: at(5) } },
    ]);
    await change(
      current(),
      async (writer) => {
        expect(await writer.setCurrentRevision(version.id, third.id, false, at(6))).toBe(1);
        expect(await writer.setCurrentRevision(version.id, third.id, false, at(7))).toBe(0);
      },
      ids,
    );
    expect(await outline(current(), 4)).toEqual([`~ revision ${third.revision}`]);
  });
}

/** What `loadAppTree` and the keys say at present, of every app. */
async function presentState(reader: ConfigReader): Promise<AppState[]> {
  const states: AppState[] = [];
  for (const { id } of (await reader.listApps(FIRST)).items) {
    const tree = await reader.loadAppTree(id);
    if (tree !== undefined) states.push({ tree, keys: (await reader.listKeys(id, FIRST)).items });
  }
  return states;
}

function earlierStates(current: () => Repository, open: Open): void {
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

  test('after random writes each version is what it was', async () => {
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
      { numRuns: 8 },
    );
  }, 120_000);
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

function bounds(open: Open): void {
  const withBounds =
    (history: HistoryBounds, work: (repository: Repository) => Promise<void>) => async () => {
      const repository = await open(history);
      try {
        await work(repository);
      } finally {
        await repository.close();
      }
    };
  const bytesMax = 1_000_000;

  test(
    'beyond the number of versions the oldest go, and the others stay',
    withBounds({ versionsMax: 3, bytesMax }, async (repository) => {
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
    withBounds({ versionsMax: 100, bytesMax: 1_200_000 }, async (repository) => {
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
    withBounds({ versionsMax: 100, bytesMax: 20_000 }, async (repository) => {
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
    withBounds({ versionsMax: 0, bytesMax }, async (repository) => {
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
