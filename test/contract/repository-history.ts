/**
 * The part of the repository's contract about the history: who made each config version, and the records that it
 * changed.
 */
import { expect, test } from 'vitest';
import type { RecordChange, VersionDescription } from '../../src/model/history/config-history.ts';
import type { ConfigReader, Repository } from '../../src/storage/repository.ts';
import {
  at,
  change,
  FIRST,
  makeAdminToken,
  makeApp,
  makeEndpoint,
  makeRevision,
  makeVersion,
  seed,
  touched,
} from './records.ts';

export const BY_CLI: VersionDescription = {
  actor: 'token-1',
  address: '192.0.2.7',
  request_id: 'r-7',
  source: 'cli',
  git_commit: '0123abc',
  action: 'config.apply',
  message: 'canary for billing',
};

export function historyContract(current: () => Repository): void {
  describedVersions(current);
  changedRecords(current);
}

export const read = <T>(repository: Repository, work: (reader: ConfigReader) => Promise<T>): Promise<T> =>
  repository.read(work);

export async function changesOf(
  repository: Repository,
  configVersion: number,
): Promise<readonly RecordChange[]> {
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
    const names = await read(current(), (reader) => reader.firstRecords([2, 3, 99]));
    expect([...names].toSorted(([one], [two]) => one - two)).toEqual([
      [2, { type: 'app', name: app.slug, parents: {} }],
      [3, { type: 'app', name: other.slug, parents: {} }],
    ]);
    expect((await read(current(), (reader) => reader.firstRecords([]))).size).toBe(0);
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
