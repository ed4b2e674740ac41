/** A change of the secret key on both kinds of databases: what needs which key, before, meanwhile and after. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import type { SecretKeys } from '../../src/lib/secret-key-text.ts';
import type { PolicyValues } from '../../src/model/policy.ts';
import { SECRET_PLACES } from '../../src/policy/secret-places.ts';
import { openPostgres, POSTGRES_DEFAULTS } from '../../src/storage/postgres/postgres.ts';
import type { Repository } from '../../src/storage/repository.ts';
import { StorageRefused } from '../../src/storage/storage-errors.ts';
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts';
import { makeWebhook } from './repository-events.ts';
import { startPostgres, type PostgresServer } from '../support/programs/postgres.ts';
import { change, makeApp, makeEndpoint, makeRevision, makeVersion } from './records.ts';

const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const DIRECTORY = 'https://acme.example/directory';
const WEBHOOK = makeWebhook({ secret: 'webhook secret', previous_secret: 'webhook secret before' });
const jwt = (secret: string): PolicyValues => ({ auth: { auth_type: 'jwt', jwt: { secret } } });

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres('fsync=off');
});
afterAll(() => server.stop());

describe.each(['sqlite', 'postgres'] as const)('on %s', (kind) => {
  let folder = '';
  let url = '';
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-rekey-'));
    if (kind === 'postgres') url = await server.createSchema(await server.createDatabase());
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function withKeys<T>(
    secretKeys: SecretKeys,
    work: (repository: Repository) => Promise<T>,
  ): Promise<T> {
    const common = { secretPlaces: SECRET_PLACES, autoMigrate: true, clock: systemClock, secretKeys };
    const repository = await (kind === 'sqlite'
      ? openSqlite({ ...common, path: join(folder, 'headgate.db') })
      : openPostgres({ ...common, url, settings: { ...POSTGRES_DEFAULTS, timeoutMs: 10_000 } }));
    try {
      return await work(repository);
    } finally {
      await repository.close();
    }
  }

  /** A secret in each place that can have one; more apps than fit a page. */
  async function store(repository: Repository, apps = 1): Promise<void> {
    const app = makeApp({ default_policy: jwt('secret of an app') });
    const version = makeVersion(app);
    const revision = makeRevision(version, { default_policy: jwt('secret of a revision') });
    const endpoint = makeEndpoint(revision, { policy_override: jwt('secret of an endpoint') });
    const others = Array.from({ length: apps - 1 }, (_, index) =>
      makeApp({
        slug: `other-${index}`,
        gateway_path: `/o/${index}`,
        default_policy: jwt(`secret ${index}`),
      }),
    );
    await change(
      repository,
      async (writer) => {
        await writer.insertApp(app);
        await writer.insertVersion(version);
        await writer.insertRevision(revision);
        await writer.insertEndpoint(endpoint);
        for (const other of others) await writer.insertApp(other);
        await writer.insertWebhook(WEBHOOK);
      },
      { appIds: [app, ...others].map(({ id }) => id) },
    );
    await change(repository, (writer) => writer.updateApp({ ...app, name: 'renamed' }), { appIds: [app.id] });
    await repository.acme.lease('the test', 60_000);
    const acme = repository.acme.as('the test');
    const at = new Date().toISOString();
    await acme.putAccount({ directory: DIRECTORY, privateKey: 'account key', url: undefined }, at);
    await acme.change('shop.example', { private_key: 'certificate key', order_key: 'order key' });
  }

  /** Everything that had to be decrypted. */
  async function readAll(repository: Repository): Promise<unknown> {
    const { apps } = await repository.loadAll();
    return {
      apps: apps.map(({ app, versions }) => [
        app.slug,
        app.default_policy,
        ...versions.flatMap(({ revisions }) =>
          revisions.map(({ revision, endpoints }) => [
            revision.default_policy,
            endpoints[0]?.policy_override,
          ]),
        ),
      ]),
      before: (await repository.read((reader) => reader.appsAt(1)))?.map(
        ({ tree }) => tree.app.default_policy,
      ),
      webhook: await repository.read((reader) => reader.findWebhook(WEBHOOK.id)),
      account: await repository.acme.account(DIRECTORY),
      certificate: await repository.acme.find('shop.example'),
    };
  }

  const placesOf = async ({ secrets }: Repository): Promise<string[]> => {
    const counts = await secrets.count();
    return counts.map(({ place, state, count }) => `${count} ${state} ${place}`);
  };

  test('every value gets the first key, and the other key is needed no more', async () => {
    const before = await withKeys([OLD], async (repository) => {
      await store(repository);
      expect(await placesOf(repository)).toEqual([
        '3 current policies',
        // Three records that were created, and an app before and after its change.
        '5 current history',
        '2 current webhooks',
        '3 current certificates',
      ]);
      return readAll(repository);
    });
    await withKeys([NEW, OLD], async (repository) => {
      expect(await readAll(repository)).toEqual(before);
      expect(await placesOf(repository)).toEqual([
        '3 other policies',
        '5 other history',
        '2 other webhooks',
        '3 other certificates',
      ]);
      expect(await repository.secrets.rekey()).toEqual({ rekeyed: 13 });
      expect((await placesOf(repository)).join()).not.toMatch(/other|unreadable/);
      expect(await readAll(repository)).toEqual(before);
      expect(await repository.secrets.rekey()).toEqual({ rekeyed: 0 });
    });
    expect(await withKeys([NEW], readAll)).toEqual(before);
    await expect(withKeys([OLD], readAll)).rejects.toBeInstanceOf(StorageRefused);
  });

  test('more rows than a page all get the key, beside writes that go on', async () => {
    await withKeys([OLD], (repository) => store(repository, 1_203));
    await withKeys([NEW, OLD], async (repository) => {
      const written = makeApp({
        slug: 'meanwhile',
        gateway_path: '/meanwhile',
        default_policy: jwt('meanwhile'),
      });
      const [done] = await Promise.all([
        repository.secrets.rekey(),
        change(repository, (writer) => writer.insertApp(written), { appIds: [written.id] }),
      ]);
      expect(done).toEqual({ rekeyed: 2 * 1_202 + 13 });
      expect((await placesOf(repository)).join()).not.toMatch(/other|unreadable/);
    });
    const { apps } = await withKeys([NEW], (repository) => repository.loadAll());
    expect(apps).toHaveLength(1_204);
  });

  test('values of a key that is missing are counted, left alone, and readable with it again', async () => {
    const before = await withKeys([OLD], async (repository) => {
      await store(repository);
      const { apps } = await repository.loadAll();
      const [app] = apps;
      if (app === undefined) throw new Error('there is no app');
      await change(repository, (writer) => writer.deleteApp(app.app.id), { appIds: [app.app.id] });
      return readAll(repository);
    });
    await withKeys([NEW], async (repository) => {
      expect(await placesOf(repository)).toEqual([
        '8 unreadable history',
        '2 unreadable webhooks',
        '3 unreadable certificates',
      ]);
      expect(await repository.secrets.rekey()).toEqual({ rekeyed: 0 });
    });
    await withKeys([NEW, OLD], async (repository) => {
      expect(await readAll(repository)).toEqual(before);
      expect(await repository.secrets.rekey()).toEqual({ rekeyed: 13 });
    });
    expect(await withKeys([NEW], readAll)).toEqual(before);
  });
});
