/** The part of the repository's contract about records, look-ups and pages. */
import { describe, expect, test } from 'vitest';
import type {
  AuditFilter,
  ConfigReader,
  ConfigWriter,
  Page,
  PageRequest,
  Repository,
} from '../../src/storage/repository.ts';
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
  type Fixture,
} from './records.ts';
import { stateContract } from './repository-state.ts';

export function readsContract(current: () => Repository): void {
  const read = <T>(work: (reader: ConfigReader) => Promise<T>): Promise<T> => current().read(work);

  test('a new database is empty, at config version 0', async () => {
    expect(await current().loadAll()).toEqual({
      configVersion: 0,
      reset: true,
      apps: [],
      removedAppIds: [],
      versions: [],
      removedVersionIds: [],
      keys: [],
      removedKeyIds: [],
    });
    expect(await read((reader) => reader.configVersion())).toBe(0);
    expect(await read((reader) => reader.listApps(FIRST))).toEqual({ items: [], total: 0, nextAfter: null });
    expect(await current().countAdminTokens()).toBe(0);
    await current().ping();
  });

  describe('records come back as they were written', () => {
    recordsContract(current);
  });
  describe('look-ups', () => {
    lookupsContract(current);
  });
  describe('pages', () => {
    pagesContract(current);
  });
  describe('the state of the traffic', () => {
    stateContract(current);
  });
}

function recordsContract(current: () => Repository): void {
  const odd = 'ünï "quoted" \'single\' \\ % _ 漢字 🚪 -- ; \n\t$1 ?';

  test('with every field set, odd characters included', async () => {
    const policy = {
      auth: { auth_type: 'jwt' as const, required_claims: ['sub', odd] },
      required_scopes: [],
      rate_limit: { enabled: true, requests: 1_000_000_000, window_seconds: 1 },
      max_body_bytes: Number.MAX_SAFE_INTEGER,
    };
    const app = makeApp({
      name: odd,
      routing_mode: 'managed_endpoint',
      default_policy: policy,
      description: odd,
      labels: { team: odd, empty: '' },
      hosts: ['a.example.com', '*.example.com'],
      allow_encoded_slashes: true,
    });
    const version = makeVersion(app, {
      version: '2024-01-31',
      gateway_path_is_default: false,
      status: 'deprecated',
      sunset_at: at(9),
      deprecated_at: at(8),
      successor: '/elsewhere',
    });
    const revision = makeRevision(version, {
      backend_scheme: 'http',
      backend_port: 65_535,
      strip_gateway_path: false,
      preserve_host: true,
      traffic_weight: 0,
      health_check_path: '/health',
      default_policy: policy,
      is_current: true,
      backend_tls: { verify: false, server_name: 'x.example', ca: '-----BEGIN CERTIFICATE-----\n' },
      circuit_breaker: { failures: 3, open_secs: 7, count_5xx: true },
    });
    const endpoint = makeEndpoint(revision, {
      method: '*',
      path: '/a/{b}/*',
      backend_path: '/c/{b}',
      policy_override: policy,
      is_active: false,
    });
    const key = makeKey(app, {
      name: odd,
      scopes: ['a:b', 'c'],
      is_active: false,
      expires_at: at(1),
      last_used_at: at(2),
      rate_limit: { enabled: true, requests: 1, window_seconds: 2, algorithm: 'token_bucket', burst: 3 },
      previous_token_hash: 'f'.repeat(64),
      previous_expires_at: at(3),
    });
    const token = makeAdminToken({ name: odd, role: 'viewer', expires_at: at(4), last_used_at: at(5) });
    const entry = makeAudit({ change: { name: odd, nested: { list: [1, null, false] } } });
    await change(current(), async (writer) => {
      await writer.insertApp(app);
      await writer.insertVersion(version);
      await writer.insertRevision(revision);
      await writer.insertEndpoint(endpoint);
      await writer.insertKey(key);
      await writer.insertAdminToken(token);
      await writer.appendAudit(entry);
    });
    await current().read(async (reader) => {
      expect(await reader.findApp(app.id)).toEqual(app);
      expect(await reader.findVersion(app.id, version.id)).toEqual(version);
      expect(await reader.findRevision(version.id, revision.id)).toEqual(revision);
      expect(await reader.findEndpoint(revision.id, endpoint.id)).toEqual(endpoint);
      expect(await reader.findKey(app.id, key.id)).toEqual(key);
      expect(await reader.findAdminToken(token.id)).toEqual(token);
      expect((await reader.listAudit(FIRST)).items).toEqual([{ ...entry, config_version: 0 }]);
    });
  });

  test('entries of the audit log until they are too old, in pieces', async () => {
    const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
    const entries = [400, 40, 20, 0].map((days) => makeAudit({ at: daysAgo(days) }));
    await change(current(), async (writer) => {
      for (let count = 0; count < 600; count++) await writer.appendAudit(makeAudit({ at: daysAgo(500) }));
      for (const entry of entries) await writer.appendAudit(entry);
    });
    const kept = async () =>
      (await current().read((reader) => reader.listAudit(FIRST))).items.map(({ id }) => id);
    expect(await current().trimAudit(30 * 86_400_000)).toBe(false);
    while (!(await current().trimAudit(30 * 86_400_000)));
    expect(await kept()).toEqual(entries.slice(2).map(({ id }) => id));
    expect(await current().trimAudit(30 * 86_400_000)).toBe(true);
    expect(await kept()).toHaveLength(2);
  });

  test('with every optional field null', async () => {
    const { app, version, revision, endpoint, key } = await seed(current());
    const token = makeAdminToken();
    await change(current(), (writer) => writer.insertAdminToken(token));
    await current().read(async (reader) => {
      expect(await reader.findApp(app.id)).toEqual(app);
      expect(await reader.findVersion(app.id, version.id)).toEqual(version);
      expect(await reader.findRevision(version.id, revision.id)).toEqual(revision);
      expect(await reader.findEndpoint(revision.id, endpoint.id)).toEqual(endpoint);
      expect(await reader.findKey(app.id, key.id)).toEqual(key);
      expect(await reader.findAdminToken(token.id)).toEqual(token);
    });
  });
}

function lookupsContract(current: () => Repository): void {
  test('by natural label, path, method and hash', async () => {
    const { app, version, revision, endpoint } = await seed(current());
    const token = makeAdminToken();
    await change(current(), (writer) => writer.insertAdminToken(token));
    await current().read(async (reader) => {
      expect(await reader.findApp(app.slug)).toEqual(app);
      expect(await reader.findAppAt(app.gateway_path, { appId: 'none', hosts: [] })).toEqual(app);
      expect(await reader.findVersion(app.id, version.version)).toEqual(version);
      expect(await reader.findVersionAt(version.gateway_path, { appId: 'none', hosts: [] })).toEqual(version);
      expect(await reader.findOwnVersionAt(version.gateway_path, app.id)).toEqual(version);
      expect(await reader.findRevision(version.id, revision.revision)).toEqual(revision);
      expect(await reader.findEndpointByMethodAndPath(revision.id, 'GET', endpoint.path)).toEqual(endpoint);
      expect(await reader.findAdminTokenByHash(token.token_hash)).toEqual(token);
    });
  });

  test('what is not there is undefined', async () => {
    const { app, version, revision, endpoint } = await seed(current());
    await current().read(async (reader) => {
      const misses = [
        reader.findApp('none'),
        reader.findApp(app.slug.toUpperCase()),
        reader.findAppAt('/none', { appId: app.id, hosts: [] }),
        reader.findAppAt(app.gateway_path, { appId: app.id, hosts: [] }),
        reader.findAppAt(app.gateway_path, { appId: 'none', hosts: ['a.example.com'] }),
        reader.findVersion(app.id, 'none'),
        reader.findVersionAt('/none', { appId: 'none', hosts: [] }),
        reader.findVersionAt(version.gateway_path, { appId: app.id, hosts: [] }),
        reader.findVersionAt(version.gateway_path, { appId: 'none', hosts: ['a.example.com'] }),
        reader.findOwnVersionAt('/none', app.id),
        reader.findOwnVersionAt(version.gateway_path, 'none'),
        reader.findHostOverlap(app.id, ['*.example.com']),
        reader.findRevision(version.id, 'none'),
        reader.findEndpoint(revision.id, 'none'),
        reader.findEndpointByMethodAndPath(revision.id, 'POST', endpoint.path),
        reader.findKey(app.id, 'none'),
        reader.findAdminToken('none'),
        reader.findAdminTokenByHash('none'),
        reader.loadAppTree('none'),
      ];
      expect(await Promise.all(misses)).toEqual(misses.map(() => undefined));
    });
  });

  test('endpoints by the beginning of their paths', async () => {
    const { revision } = await seed(current());
    const other = await seed(current());
    const paths = [
      '/a',
      '/a/',
      '/a/{x}',
      '/a/{x}/b',
      '/a/{y}',
      '/a/{y}/~',
      '/a/~',
      '/b/{x}',
      '/a{',
      '/A/{x}',
    ];
    const made = paths.map((path) => makeEndpoint(revision, { method: 'PUT', path }));
    await change(current(), async (writer) => {
      for (const endpoint of made) await writer.insertEndpoint(endpoint);
      await writer.insertEndpoint(makeEndpoint(revision, { method: 'POST', path: '/a/{z}' }));
      await writer.insertEndpoint(makeEndpoint(other.revision, { method: 'PUT', path: '/a/{z}' }));
    });
    await current().read(async (reader) => {
      for (const prefix of ['/a/{', '/a/', '/a', '/', '/none']) {
        const found = await reader.findEndpointPaths(revision.id, 'PUT', prefix);
        const expected = made
          .filter(({ path }) => path.startsWith(prefix))
          .map(({ id, path }) => ({ id, path }));
        expect(new Set(found), prefix).toEqual(new Set(expected));
      }
    });
  });

  test('a child is not found below another parent', async () => {
    const one = await seed(current());
    const other = await seed(current());
    await current().read(async (reader) => {
      const misses = [
        reader.findVersion(other.app.id, one.version.id),
        reader.findVersion(other.app.id, one.version.version),
        reader.findRevision(other.version.id, one.revision.id),
        reader.findRevision(other.version.id, one.revision.revision),
        reader.findEndpoint(other.revision.id, one.endpoint.id),
        reader.findEndpointByMethodAndPath(other.revision.id, 'GET', one.endpoint.path),
        reader.findKey(other.app.id, one.key.id),
      ];
      expect(await Promise.all(misses)).toEqual(misses.map(() => undefined));
    });
  });

  test('an id wins over a label of the same spelling', async () => {
    const { app, version, revision } = await seed(current());
    await change(current(), async (writer) => {
      await writer.insertApp(makeApp({ slug: app.id }));
      await writer.insertVersion(makeVersion(app, { version: version.id }));
      await writer.insertRevision(makeRevision(version, { revision: revision.id }));
    });
    await current().read(async (reader) => {
      expect(await reader.findApp(app.id)).toEqual(app);
      expect(await reader.findVersion(app.id, version.id)).toEqual(version);
      expect(await reader.findRevision(version.id, revision.id)).toEqual(revision);
    });
  });

  test('an app tree holds everything below the app, in order of creation, and nothing else', async () => {
    const { app, version, revision, endpoint } = await seed(current());
    await seed(current());
    const second = makeEndpoint(revision);
    const empty = makeVersion(app);
    await change(current(), async (writer) => {
      await writer.insertVersion(empty);
      await writer.insertEndpoint(second);
    });
    expect(await current().read((reader) => reader.loadAppTree(app.id))).toEqual({
      app,
      versions: [
        { version, revisions: [{ revision, endpoints: [endpoint, second] }] },
        { version: empty, revisions: [] },
      ],
    });
  });
}

interface ListCase {
  readonly name: string;
  /** Inserts one more; returns its id. */
  readonly add: (writer: ConfigWriter, below: Fixture) => Promise<string>;
  readonly list: (reader: ConfigReader, below: Fixture, page: PageRequest) => Promise<Page<{ id: string }>>;
}

/** Inserts and gives the id back. */
async function adding<T extends { readonly id: string }>(record: T, insert: (record: T) => Promise<void>) {
  await insert(record);
  return record.id;
}

const LISTS: readonly ListCase[] = [
  {
    name: 'apps',
    add: (writer) => adding(makeApp(), (record) => writer.insertApp(record)),
    list: (reader, _below, page) => reader.listApps(page),
  },
  {
    name: 'versions',
    add: (writer, { app }) => adding(makeVersion(app), (record) => writer.insertVersion(record)),
    list: (reader, { app }, page) => reader.listVersions(app.id, page),
  },
  {
    name: 'revisions',
    add: (writer, { version }) => adding(makeRevision(version), (record) => writer.insertRevision(record)),
    list: (reader, { version }, page) => reader.listRevisions(version.id, page),
  },
  {
    name: 'endpoints',
    add: (writer, { revision }) => adding(makeEndpoint(revision), (record) => writer.insertEndpoint(record)),
    list: (reader, { revision }, page) => reader.listEndpoints(revision.id, page),
  },
  {
    name: 'keys',
    add: (writer, { app }) => adding(makeKey(app), (record) => writer.insertKey(record)),
    list: (reader, { app }, page) => reader.listKeys(app.id, page),
  },
  {
    name: 'admin tokens',
    add: (writer) => adding(makeAdminToken(), (record) => writer.insertAdminToken(record)),
    list: (reader, _below, page) => reader.listAdminTokens(page),
  },
  {
    name: 'audit entries',
    add: (writer) => adding(makeAudit(), (record) => writer.appendAudit(record)),
    list: (reader, _below, page) => reader.listAudit(page),
  },
];

function pagesContract(current: () => Repository): void {
  test.each(LISTS)('$name are listed in pages by id, each with the total', async ({ add, list }) => {
    const below = await seed(current());
    const before = await current().read((reader) => list(reader, below, FIRST));
    const ids = before.items.map(({ id }) => id);
    await change(current(), async (writer) => {
      for (let added = ids.length; added < 6; added += 1) ids.push(await add(writer, below));
    });
    const pages: { ids: string[]; total: number }[] = [];
    let after: string | undefined;
    do {
      const page = await current().read((reader) => list(reader, below, { limit: 2, after }));
      pages.push({ ids: page.items.map(({ id }) => id), total: page.total });
      after = page.nextAfter ?? undefined;
    } while (after !== undefined && pages.length < 10);
    expect(pages).toEqual([
      { ids: ids.slice(0, 2), total: 6 },
      { ids: ids.slice(2, 4), total: 6 },
      { ids: ids.slice(4, 6), total: 6 },
    ]);
  });

  test.each(LISTS)(
    '$name: a page may start after an id that is gone, or after the last',
    async (listCase) => {
      const below = await seed(current());
      const last = await current().write(async (writer) => ({
        value: await listCase.add(writer, below),
        touched: { appIds: [], versionIds: [], keyIds: [] },
      }));
      const gone = nextId();
      const final = await current().read((reader) =>
        listCase.list(reader, below, { limit: 5, after: last.value }),
      );
      expect(final).toMatchObject({ items: [], nextAfter: null });
      expect(
        await current().read((reader) => listCase.list(reader, below, { limit: 5, after: gone })),
      ).toMatchObject({ items: [], nextAfter: null });
    },
  );

  test('audit entries are listed from the newest, too', async () => {
    await seed(current());
    await change(current(), async (writer) => {
      for (let added = 0; added < 4; added += 1) await writer.appendAudit(makeAudit());
    });
    const all = (await current().read((reader) => reader.listAudit(FIRST))).items;
    const seen: unknown[] = [];
    let after: string | undefined;
    do {
      const request = { limit: 2, after };
      const page = await current().read((reader) => reader.listAudit(request, 'newest_first'));
      expect(page.total).toBe(5);
      seen.push(...page.items);
      after = page.nextAfter ?? undefined;
    } while (after !== undefined && seen.length < 10);
    expect(seen).toEqual(all.toReversed());
  });

  test('audit entries are found by actor, action, target and time', async () => {
    const entries = [
      makeAudit({ actor: 'a', action: 'app.create', at: at(1), resource_name: 'one' }),
      makeAudit({ actor: 'b', action: 'app.create', at: at(2), resource_name: null, parents: null }),
      makeAudit({ actor: 'a', action: 'token.create', resource_type: 'token', at: at(3) }),
    ];
    await change(current(), async (writer) => {
      for (const entry of entries) await writer.appendAudit(entry);
    });
    const found = async (filter: AuditFilter): Promise<number[]> => {
      const page = await current().read((reader) => reader.listAudit(FIRST, 'oldest_first', filter));
      expect(page.total).toBe(page.items.length);
      return page.items.map(({ id }) => entries.findIndex((entry) => entry.id === id));
    };
    expect(await found({ actor: 'a' })).toEqual([0, 2]);
    expect(await found({ action: 'app.create' })).toEqual([0, 1]);
    expect(await found({ actor: 'a', action: 'app.create' })).toEqual([0]);
    expect(await found({ resource_type: 'token' })).toEqual([2]);
    expect(await found({ resource_id: entries[1]?.resource_id ?? '' })).toEqual([1]);
    expect(await found({ resource_name: 'one' })).toEqual([0]);
    expect(await found({ since: at(2) })).toEqual([1, 2]);
    expect(await found({ until: at(2) })).toEqual([0]);
    expect(await found({ since: at(2), until: at(3) })).toEqual([1]);
    expect(await found({ actor: 'c' })).toEqual([]);
  });

  test('lists are of one parent only', async () => {
    const one = await seed(current());
    await seed(current());
    await current().read(async (reader) => {
      expect(await reader.listVersions(one.app.id, FIRST)).toMatchObject({ items: [one.version], total: 1 });
      expect(await reader.listRevisions(one.version.id, FIRST)).toMatchObject({
        items: [one.revision],
        total: 1,
      });
      expect(await reader.listEndpoints(one.revision.id, FIRST)).toMatchObject({
        items: [one.endpoint],
        total: 1,
      });
      expect(await reader.listKeys(one.app.id, FIRST)).toMatchObject({ items: [one.key], total: 1 });
    });
  });

  test('listed admin tokens come without their hashes', async () => {
    const { token_hash, ...served } = makeAdminToken();
    await change(current(), (writer) => writer.insertAdminToken({ ...served, token_hash }));
    expect((await current().read((reader) => reader.listAdminTokens(FIRST))).items).toEqual([served]);
  });
}
