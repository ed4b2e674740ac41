/** The part of the repository's contract about writes: transactions, config versions, changes, deletion. */
import { describe, expect, test } from 'vitest';
import type { ConfigChange } from '../../src/model/config.ts';
import type { ConfigWriter, Repository } from '../../src/storage/repository.ts';
import {
  at,
  change,
  FIRST,
  makeAdminToken,
  makeApp,
  makeAudit,
  makeEndpoint,
  makeKey,
  makeRevision,
  makeVersion,
  nextId,
  seed,
  stateOf,
  touched,
  type Fixture,
} from './records.ts';
import { uniquenessContract } from './repository-uniqueness.ts';

export function writesContract(current: () => Repository): void {
  describe('config versions and changes', () => {
    changesContract(current);
  });
  describe('a write that fails leaves everything as it was', () => {
    failuresContract(current);
  });
  describe('uniqueness', () => {
    uniquenessContract(current);
  });
  describe('updates', () => {
    updatesContract(current);
  });
  describe('deletion', () => {
    deletionContract(current);
  });
}

const nothing: Omit<ConfigChange, 'configVersion'> = {
  reset: false,
  apps: [],
  removedAppIds: [],
  versions: [],
  removedVersionIds: [],
  keys: [],
  removedKeyIds: [],
};

const anyId = expect.any(String) as string;

/** Nothing, as the change that leads to a version. */
const step = (configVersion: number): ConfigChange => ({
  ...nothing,
  configVersion,
  changeId: anyId,
  after: { configVersion: configVersion - 1, changeId: anyId },
});

const noop = async (): Promise<void> => {};

function changesContract(current: () => Repository): void {
  test('each write that touches something takes the version one further and gives the new state', async () => {
    const { app, version, revision, endpoint, key } = await seed(current());
    const tree = { version, revisions: [{ revision, endpoints: [endpoint] }] };
    const appChange = await change(current(), noop, { appIds: [app.id, app.id] });
    expect(appChange).toEqual({
      value: undefined,
      configVersion: 2,
      change: { ...step(2), apps: [{ app, versions: [tree] }] },
    });
    const versionChange = await change(current(), noop, { versionIds: [version.id] });
    expect(versionChange.change).toEqual({ ...step(3), versions: [tree] });
    const keyChange = await change(current(), noop, { keyIds: [key.id] });
    expect(keyChange.change).toEqual({ ...step(4), keys: [key] });
    const both = await change(current(), noop, { appIds: [app.id], versionIds: [version.id] });
    expect(both.change, 'an app covers its versions').toEqual({
      ...step(5),
      apps: [{ app, versions: [tree] }],
    });
    expect(await current().read((reader) => reader.configVersion())).toBe(5);
    expect(await current().loadAll()).toEqual({
      ...nothing,
      configVersion: 5,
      changeId: anyId,
      reset: true,
      apps: [{ app, versions: [tree] }],
      keys: [key],
    });
  });

  test('an endpoint that was touched alone comes without its version, which other nodes are told of', async () => {
    const { version, revision, endpoint } = await seed(current());
    const known = await current().position();
    const single = { versionId: version.id, revisionId: revision.id, endpointId: endpoint.id };
    const fields = { versionIds: [version.id], endpoints: [single] };
    const disabled = { ...endpoint, is_active: false };
    const update = await change(current(), (writer) => writer.updateEndpoint(disabled), fields);
    const { versionId, endpointId } = single;
    expect(update.change).toEqual({
      ...step(2),
      endpoints: [{ versionId, revision, endpointId, endpoint: disabled }],
    });
    const removal = await change(current(), (writer) => writer.deleteEndpoint(endpoint.id), fields);
    expect(removal.change).toEqual({
      ...step(3),
      endpoints: [{ versionId, revision, endpointId, endpoint: undefined }],
    });
    const since = await current().loadSince(known);
    expect(since?.versions).toEqual([{ version, revisions: [{ revision, endpoints: [] }] }]);
    expect(since?.endpoints).toBeUndefined();
  });

  test('what is gone is listed as removed', async () => {
    const { app, version, key } = await seed(current());
    const afterVersion = await change(current(), (writer) => writer.deleteVersion(version.id), {
      versionIds: [version.id],
    });
    expect(afterVersion.change).toEqual({ ...step(2), removedVersionIds: [version.id] });
    const afterApp = await change(current(), (writer) => writer.deleteApp(app.id), {
      appIds: [app.id],
      keyIds: [key.id],
    });
    expect(afterApp.change).toEqual({
      ...step(3),
      removedAppIds: [app.id],
      removedKeyIds: [key.id],
    });
  });

  test('more than fits into one query or one batch is all loaded', async () => {
    const apps = Array.from({ length: 2_500 }, () => makeApp());
    const { change: loaded } = await change(
      current(),
      async (writer) => {
        for (const app of apps) await writer.insertApp(app);
      },
      { appIds: apps.map(({ id }) => id) },
    );
    expect(loaded?.apps.map(({ app }) => app.id)).toEqual(apps.map(({ id }) => id));
    expect((await current().loadAll()).apps).toEqual(loaded?.apps);
  });

  test('a write that touches nothing of the configuration is kept, without a new version', async () => {
    await seed(current());
    const token = makeAdminToken();
    let called = 0;
    const result = await current().write(
      async (writer) => {
        await writer.insertAdminToken(token);
        await writer.appendAudit(makeAudit({ resource_type: 'admin_token' }));
        return { value: 'made', touched: touched({}) };
      },
      () => {
        called += 1;
      },
    );
    expect(result).toEqual({ value: 'made', change: undefined, configVersion: 1 });
    expect(called).toBe(0);
    expect(await current().countAdminTokens()).toBe(1);
  });

  test('audit entries carry the config version of their write', async () => {
    const { app } = await seed(current());
    await change(current(), (writer) => writer.appendAudit(makeAudit()), { appIds: [app.id] });
    await change(current(), (writer) => writer.appendAudit(makeAudit()));
    const { items } = await current().read((reader) => reader.listAudit(FIRST));
    expect(items.map(({ config_version }) => config_version)).toEqual([1, 2, 2]);
  });

  test('beforeCommit sees the change that is returned', async () => {
    const app = makeApp();
    const seen: ConfigChange[] = [];
    const result = await current().write(
      async (writer) => {
        await writer.insertApp(app);
        return { value: 1, touched: touched({ appIds: [app.id] }) };
      },
      (loaded) => {
        seen.push(loaded);
      },
    );
    expect(seen).toEqual([result.change]);
  });

  test('a writer sees what it has written', async () => {
    const app = makeApp();
    await change(current(), async (writer) => {
      await writer.insertApp(app);
      expect(await writer.findApp(app.slug)).toEqual(app);
      expect(await writer.listApps(FIRST)).toMatchObject({ items: [app], total: 1 });
    });
  });
}

const FAILURES: readonly {
  readonly name: string;
  readonly run: (repository: Repository, work: (writer: ConfigWriter) => Promise<string>) => Promise<unknown>;
}[] = [
  {
    name: 'the work throws',
    run: (repository, work) =>
      repository.write(async (writer) => {
        await work(writer);
        throw new RangeError('refused');
      }),
  },
  {
    name: 'beforeCommit throws',
    run: (repository, work) =>
      repository.write(
        async (writer) => ({ value: 1, touched: touched({ appIds: [await work(writer)] }) }),
        () => {
          throw new RangeError('refused');
        },
      ),
  },
  {
    name: 'a duplicate is refused',
    run: (repository, work) =>
      repository.write(async (writer) => {
        const app = await writer.findApp(await work(writer));
        if (app !== undefined) await writer.insertApp({ ...app, id: nextId(), gateway_path: '/other' });
        return { value: 1, touched: touched({}) };
      }),
  },
];

const everyKindOfWrite =
  ({ app, version, revision, endpoint, key }: Fixture) =>
  async (writer: ConfigWriter): Promise<string> => {
    const added = makeApp();
    await writer.insertApp(added);
    await writer.updateApp({ ...app, name: 'changed' });
    await writer.insertVersion(makeVersion(added));
    await writer.setCurrentRevision(version.id, revision.id, true, at(9));
    await writer.updateKey({ ...key, name: 'changed' });
    await writer.deleteEndpoint(endpoint.id);
    await writer.insertAdminToken(makeAdminToken());
    await writer.appendAudit(makeAudit());
    return added.id;
  };

function failuresContract(current: () => Repository): void {
  test.each(FAILURES)('$name', async ({ run }) => {
    const fixture = await seed(current());
    const before = await stateOf(current());
    await expect(run(current(), everyKindOfWrite(fixture))).rejects.toThrow(/refused|already taken/);
    expect(await stateOf(current())).toEqual(before);
    const next = await change(current(), (writer) => writer.deleteKey(fixture.key.id), {
      keyIds: [fixture.key.id],
    });
    expect(next.configVersion, 'the next write goes on from there').toBe(2);
  });

  test('the work returns abort, whose value is given back', async () => {
    const fixture = await seed(current());
    const before = await stateOf(current());
    let called = 0;
    const result = await current().write<string>(
      async (writer) => {
        await everyKindOfWrite(fixture)(writer);
        return { abort: 'not now' };
      },
      () => {
        called += 1;
      },
    );
    expect(result).toEqual({ value: 'not now', change: undefined, configVersion: 1 });
    expect(called).toBe(0);
    expect(await stateOf(current())).toEqual(before);
  });

  test('an error of the caller reaches the caller unchanged', async () => {
    const error = new RangeError('mine');
    const failing = current().write(() => Promise.reject(error));
    await expect(failing).rejects.toBe(error);
    await expect(current().read(() => Promise.reject(error))).rejects.toBe(error);
    await current().ping();
  });
}

function updatesContract(current: () => Repository): void {
  test('replace every field of the record', async () => {
    const { app, version, revision, endpoint, key } = await seed(current());
    const next = {
      app: { ...makeApp({ default_policy: { required_scopes: ['x'] } }), id: app.id, updated_at: at(1) },
      version: { ...makeVersion(app, { status: 'retired' }), id: version.id, updated_at: at(1) },
      revision: { ...makeRevision(version, { traffic_weight: 5 }), id: revision.id, updated_at: at(1) },
      endpoint: { ...makeEndpoint(revision, { is_active: false }), id: endpoint.id, updated_at: at(1) },
      key: { ...makeKey(app, { scopes: ['y'] }), id: key.id, updated_at: at(1) },
    } as const;
    const { change: loaded } = await change(
      current(),
      async (writer) => {
        await writer.updateApp(next.app);
        await writer.updateVersion(next.version);
        await writer.updateRevision(next.revision);
        await writer.updateEndpoint(next.endpoint);
        await writer.updateKey(next.key);
      },
      { appIds: [app.id], keyIds: [key.id] },
    );
    const revisions = [{ revision: next.revision, endpoints: [next.endpoint] }];
    expect(loaded).toMatchObject({
      apps: [{ app: next.app, versions: [{ version: next.version, revisions }] }],
      keys: [next.key],
    });
  });

  test('of a record that is not there are a programmer error', async () => {
    await expect(change(current(), (writer) => writer.updateApp(makeApp()))).rejects.toThrow(
      /Assertion failed/,
    );
  });

  test.each([
    { exclusive: false, current_after: [true, true, true] },
    { exclusive: true, current_after: [false, false, true] },
  ])('activation, exclusive: $exclusive', async ({ exclusive, current_after }) => {
    const { version, revision } = await seed(current());
    const other = await seed(current());
    const second = makeRevision(version, { is_current: true });
    const third = makeRevision(version);
    await change(current(), async (writer) => {
      await writer.setCurrentRevision(version.id, revision.id, false, at(1));
      await writer.setCurrentRevision(other.version.id, other.revision.id, false, at(1));
      await writer.insertRevision(second);
      await writer.insertRevision(third);
      const changed = await writer.setCurrentRevision(version.id, third.id, exclusive, at(2));
      expect(changed).toBe(exclusive ? 3 : 1);
      // Once more: what is so already does not change.
      expect(await writer.setCurrentRevision(version.id, third.id, exclusive, at(3))).toBe(0);
    });
    await current().read(async (reader) => {
      const { items } = await reader.listRevisions(version.id, FIRST);
      expect(items.map(({ is_current }) => is_current)).toEqual(current_after);
      const changed = exclusive ? [at(2), at(2), at(2)] : [at(1), at(0), at(2)];
      expect(items.map(({ updated_at }) => updated_at)).toEqual(changed);
      const elsewhere = await reader.findRevision(other.version.id, other.revision.id);
      expect(elsewhere, 'other versions stay').toMatchObject({ is_current: true, updated_at: at(1) });
    });
  });

  test('activation of a revision of another version changes nothing', async () => {
    const one = await seed(current());
    const other = await seed(current());
    await change(current(), (writer) =>
      writer.setCurrentRevision(other.version.id, one.revision.id, false, at(1)),
    );
    const found = await current().read((reader) => reader.findRevision(one.version.id, one.revision.id));
    expect(found).toEqual(one.revision);
  });
}

function deletionContract(current: () => Repository): void {
  test('takes everything below along, and counts tell of it before', async () => {
    const { app, version, revision, endpoint, key } = await seed(current());
    const other = await seed(current());
    await change(current(), async (writer) => {
      expect(await writer.countVersions(app.id)).toBe(1);
      expect(await writer.countKeys(app.id)).toBe(1);
      expect(await writer.countRevisions(version.id)).toBe(1);
      expect(await writer.countEndpoints(revision.id)).toBe(1);
      expect(await writer.keyIdsOfApp(app.id)).toEqual([key.id]);
      expect(await writer.deleteApp(app.id)).toBe(true);
      expect(await writer.countVersions(app.id)).toBe(0);
      expect(await writer.keyIdsOfApp(app.id)).toEqual([]);
    });
    await current().read(async (reader) => {
      expect(await reader.findVersion(app.id, version.id)).toBeUndefined();
      expect(await reader.findRevision(version.id, revision.id)).toBeUndefined();
      expect(await reader.findEndpoint(revision.id, endpoint.id)).toBeUndefined();
      expect(await reader.findKey(app.id, key.id)).toBeUndefined();
    });
    const left = await current().loadAll();
    expect(left.apps.map((tree) => tree.app)).toEqual([other.app]);
    expect(left.keys).toEqual([other.key]);
  });

  test('of a version or a revision leaves its siblings', async () => {
    const { app, version, revision } = await seed(current());
    const sibling = makeVersion(app);
    const twin = makeRevision(version);
    await change(current(), async (writer) => {
      await writer.insertVersion(sibling);
      await writer.insertRevision(twin);
      await writer.insertEndpoint(makeEndpoint(twin));
      expect(await writer.deleteRevision(revision.id)).toBe(true);
      expect(await writer.countEndpoints(revision.id)).toBe(0);
      expect(await writer.countEndpoints(twin.id)).toBe(1);
      expect(await writer.deleteVersion(version.id)).toBe(true);
      expect(await writer.countEndpoints(twin.id)).toBe(0);
      expect(await writer.countVersions(app.id)).toBe(1);
    });
  });

  test('tells whether there was anything', async () => {
    const { key, endpoint } = await seed(current());
    const token = makeAdminToken();
    await change(current(), async (writer) => {
      await writer.insertAdminToken(token);
      const first = [
        await writer.deleteKey(key.id),
        await writer.deleteEndpoint(endpoint.id),
        await writer.deleteAdminToken(token.id),
      ];
      expect(first).toEqual([true, true, true]);
      const second = [
        await writer.deleteKey(key.id),
        await writer.deleteEndpoint(endpoint.id),
        await writer.deleteAdminToken(token.id),
        await writer.deleteApp('none'),
        await writer.deleteVersion('none'),
        await writer.deleteRevision('none'),
      ];
      expect(second).toEqual([false, false, false, false, false, false]);
    });
  });
}
