/** The part of the repository's contract about duplicates, by the API's names for the fields. */
import { expect, test } from 'vitest';
import type { ConfigWriter, Repository } from '../../src/storage/repository.ts';
import { UniqueViolation } from '../../src/storage/storage-errors.ts';
import {
  change,
  makeAdminToken,
  makeApp,
  makeEndpoint,
  makeKey,
  makeRevision,
  makeVersion,
  nextId,
  seed,
  type Fixture,
} from './records.ts';

interface UniqueCase {
  readonly name: string;
  readonly resource: string;
  readonly field: string;
  readonly clash: (writer: ConfigWriter, there: Fixture) => Promise<void>;
}

const UNIQUE_CASES: readonly UniqueCase[] = [
  {
    name: 'app slug',
    resource: 'app',
    field: 'slug',
    clash: (writer, { app }) => writer.insertApp(makeApp({ slug: app.slug })),
  },
  {
    name: 'app gateway_path',
    resource: 'app',
    field: 'gateway_path',
    clash: (writer, { app }) => writer.insertApp(makeApp({ gateway_path: app.gateway_path })),
  },
  {
    name: 'app id',
    resource: 'app',
    field: 'id',
    clash: (writer, { app }) => writer.insertApp(makeApp({ id: app.id })),
  },
  {
    name: 'version label within its app',
    resource: 'version',
    field: 'version',
    clash: (writer, { app, version }) => writer.insertVersion(makeVersion(app, { version: version.version })),
  },
  {
    name: 'version gateway_path over all apps',
    resource: 'version',
    field: 'gateway_path',
    clash: async (writer, { version }) => {
      const other = makeApp();
      await writer.insertApp(other);
      await writer.insertVersion(makeVersion(other, { gateway_path: version.gateway_path }));
    },
  },
  {
    name: 'version gateway_path within an app with hosts',
    resource: 'version',
    field: 'gateway_path',
    clash: async (writer) => {
      const app = makeApp({ hosts: ['a.test'] });
      await writer.insertApp(app);
      await writer.insertVersion(makeVersion(app, { gateway_path: '/same' }));
      await writer.insertVersion(makeVersion(app, { gateway_path: '/same' }));
    },
  },
  {
    name: 'app gateway_path, when its hosts go',
    resource: 'app',
    field: 'gateway_path',
    clash: async (writer, { app }) => {
      const other = makeApp({ gateway_path: app.gateway_path, hosts: ['a.test'] });
      await writer.insertApp(other);
      await writer.updateApp({ ...other, hosts: [] });
    },
  },
  {
    name: 'version gateway_path, when the hosts of its app go',
    resource: 'version',
    field: 'gateway_path',
    clash: async (writer, { version }) => {
      const other = makeApp({ hosts: ['a.test'] });
      await writer.insertApp(other);
      await writer.insertVersion(makeVersion(other, { gateway_path: version.gateway_path }));
      await writer.updateApp({ ...other, hosts: [] });
    },
  },
  {
    name: 'revision label within its version',
    resource: 'revision',
    field: 'revision',
    clash: (writer, { version, revision }) =>
      writer.insertRevision(makeRevision(version, { revision: revision.revision })),
  },
  {
    name: 'endpoint method and path within its revision',
    resource: 'endpoint',
    field: 'path',
    clash: (writer, { revision, endpoint }) =>
      writer.insertEndpoint(makeEndpoint(revision, { method: endpoint.method, path: endpoint.path })),
  },
  {
    name: 'key hash',
    resource: 'token',
    field: 'token',
    clash: (writer, { app, key }) => writer.insertKey(makeKey(app, { token_hash: key.token_hash })),
  },
  {
    name: 'admin token hash',
    resource: 'admin_token',
    field: 'token',
    clash: async (writer) => {
      const token = makeAdminToken();
      await writer.insertAdminToken(token);
      await writer.insertAdminToken({ ...token, id: nextId() });
    },
  },
  {
    name: 'app slug, on update',
    resource: 'app',
    field: 'slug',
    clash: async (writer, { app }) => {
      const other = makeApp();
      await writer.insertApp(other);
      await writer.updateApp({ ...other, slug: app.slug });
    },
  },
  {
    name: 'endpoint path, on update',
    resource: 'endpoint',
    field: 'path',
    clash: async (writer, { revision, endpoint }) => {
      const other = makeEndpoint(revision);
      await writer.insertEndpoint(other);
      await writer.updateEndpoint({ ...other, path: endpoint.path });
    },
  },
];

export function uniquenessContract(current: () => Repository): void {
  test.each(UNIQUE_CASES)('$name', async ({ resource, field, clash }) => {
    const there = await seed(current());
    const error = await change(current(), (writer) => clash(writer, there)).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(UniqueViolation);
    expect(error).toMatchObject({ resource, field });
  });

  test('apps with other hosts, and their versions, may have the same paths, and are found by them', async () => {
    const { app, version } = await seed(current());
    const makeAt = (...hosts: string[]) => makeApp({ gateway_path: app.gateway_path, hosts });
    const apps = [makeAt('a.test', '*.b.test'), makeAt('b.test'), makeAt('x.b.test')] as const;
    const versions = apps.map((each) => makeVersion(each, { gateway_path: version.gateway_path }));
    await change(current(), async (writer) => {
      for (const each of apps) await writer.insertApp(each);
      for (const each of versions) await writer.insertVersion(each);
    });
    const [first, second, third] = apps;
    await current().read(async (reader) => {
      expect(await reader.findApp(first.id)).toEqual(first);
      const at = (...hosts: string[]) => ({ appId: 'none', hosts });
      expect(await reader.findAppAt(app.gateway_path, at('c.test', 'a.test'))).toEqual(first);
      expect(await reader.findAppAt(app.gateway_path, at('*.b.test'))).toEqual(first);
      expect(await reader.findAppAt(app.gateway_path, at('c.test', '*.test'))).toBeUndefined();
      expect(await reader.findAppAt(app.gateway_path, at())).toEqual(app);
      expect(await reader.findAppAt('/elsewhere', at('a.test'))).toBeUndefined();
      expect(await reader.findAppAt(app.gateway_path, { ...at('a.test'), appId: first.id })).toBeUndefined();
      expect(await reader.findVersionAt(version.gateway_path, at('b.test'))).toEqual(versions[1]);
      expect(await reader.findVersionAt(version.gateway_path, at())).toEqual(version);
      expect(await reader.findVersionAt(version.gateway_path, at('c.test'))).toBeUndefined();
      expect(await reader.findOwnVersionAt(version.gateway_path, second.id)).toEqual(versions[1]);
      const overlap = {
        slug: third.slug,
        gateway_path: version.gateway_path,
        host: 'x.b.test',
        isNarrower: true,
      };
      expect(await reader.findHostOverlap(first.id, first.hosts)).toEqual(overlap);
      expect(await reader.findHostOverlap(third.id, third.hosts)).toEqual({
        ...overlap,
        slug: first.slug,
        host: '*.b.test',
        isNarrower: false,
      });
      expect(await reader.findHostOverlap(second.id, second.hosts)).toBeUndefined();
    });
    const swapped = [
      { ...first, hosts: [] },
      { ...app, hosts: ['a.test', 'c.test'] },
    ] as const;
    await change(current(), async (writer) => {
      await writer.updateApp({ ...first, hosts: ['aside'] });
      for (const each of swapped.toReversed()) await writer.updateApp(each);
    });
    await current().read(async (reader) => {
      expect(await reader.findVersionAt(version.gateway_path, { appId: 'none', hosts: [] })).toEqual(
        versions[0],
      );
      expect(await reader.findVersionAt(version.gateway_path, { appId: 'none', hosts: ['c.test'] })).toEqual(
        version,
      );
      expect(await reader.findAppAt(app.gateway_path, { appId: 'none', hosts: ['aside'] })).toBeUndefined();
    });
    await change(current(), async (writer) => void (await writer.deleteApp(second.id)));
    await current().read(async (reader) => {
      expect(await reader.findAppAt(app.gateway_path, { appId: 'none', hosts: ['b.test'] })).toBeUndefined();
    });
  });

  test('the same labels, methods and paths may be used below other parents', async () => {
    const { app, version, revision, endpoint } = await seed(current());
    const otherApp = makeApp();
    const otherVersion = makeVersion(otherApp, { version: version.version });
    const otherRevision = makeRevision(otherVersion, { revision: revision.revision });
    await change(current(), async (writer) => {
      await writer.insertApp(otherApp);
      await writer.insertVersion(otherVersion);
      await writer.insertRevision(otherRevision);
      await writer.insertEndpoint(makeEndpoint(otherRevision, { path: endpoint.path }));
      await writer.insertEndpoint(makeEndpoint(revision, { method: 'POST', path: endpoint.path }));
      // An app and one of its versions may share a path: only versions are routed to.
      await writer.insertVersion(makeVersion(app, { gateway_path: app.gateway_path }));
    });
    expect((await current().loadAll()).apps).toHaveLength(2);
  });
}
