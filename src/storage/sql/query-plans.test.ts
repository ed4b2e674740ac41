/**
 * Checks with SQLite's query plans that no statement of the repository scans a table. Other tests use few rows and
 * would not notice.
 */
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import {
  at,
  change,
  FIRST,
  makeAdminToken,
  makeApp,
  makeAudit,
  makeSession,
  seed,
  type Fixture,
} from '../../../test/contract/records.ts';
import { makeWebhook, noticed } from '../../../test/contract/repository-events.ts';
import { memoryDatabase, memoryRepository } from '../../../test/support/programs/memory-database.ts';
import type { Repository } from '../repository.ts';

/** Statements that must see every row, each for the `total` of a list page. */
const WHOLE_TABLE = [
  'select count(*) as n from "app"',
  `select count(*) as n from "app" where ("app"."updated_at" >= ? and replace("app"."labels", ?, '') <> "app"."labels" and (${['name', 'slug', 'gateway_path', 'description'].map((name) => `replace(lower("app"."${name}"), ?, '') <> lower("app"."${name}")`).join(' or ')}))`,
  'select count(*) as n from "admin_token"',
  'select count(*) as n from "admin_session"',
  'select count(*) as n from "admin_session" where ("admin_session"."expires_at" > ? and "admin_session"."last_used_at" > ?)',
  'select count(*) as n from "webhook"',
  'select count(*) as n from "webhook" where is_active = 1',
  'select count(*) as n from "webhook_dead_letter"',
  'select count(*) as "n" from "audit_entry"',
  'select "config_version" from "config_state"',
  // Entries of versions are few, and these run every few seconds.
  'select count(*) as "versions", sum("bytes") as "bytes" from "config_history"',
  'select max(config_version) as last from ( select config_version, row_number() over (order by config_version desc) as versions, sum(bytes) over (order by config_version desc) as total_bytes from config_history) as counted where versions > ? or total_bytes > ?',
  'update "config_state" set "config_version" = "config_version" + ? returning "config_version"',
];

/** Data that is part of the statement may be scanned, and so may webhooks, of which there are a hundred at most. */
const OWN_VALUES = /^SCAN (?:json_each VIRTUAL TABLE|CONSTANT ROW$|found$|webhook(?:_delivery)?(?:$| ))/;

async function useEvents(repository: Repository, appId: string): Promise<void> {
  const { events, deliveries } = repository;
  const webhook = makeWebhook();
  await change(repository, async (db) => {
    await db.insertWebhook(webhook);
    await db.updateWebhook(webhook);
    await db.wantDeadLetters(webhook.id);
    await db.wantDeadLetters(webhook.id, 'x');
    await db.deleteDeadLetters(webhook.id, 'x');
  });
  const [event] = await events.append([noticed('x', { dedupe_key: 'x' })]);
  const filter = { types: ['key.*'], app_ids: [appId], since: at(0), until: at(1) };
  await events.after('', 10, filter);
  await events.follow('', 10, filter);
  await events.list({ ...FIRST, order: 'newest_first' }, filter);
  await events.bounds();
  await repository.read((db) => db.listWebhooks(FIRST));
  await repository.read((db) => db.findWebhook(webhook.id));
  await repository.read((db) => db.listDeadLetters(webhook.id, FIRST));
  await deliveries.due();
  await deliveries.states();
  await deliveries.summary();
  await deliveries.claim(webhook.id, 'a', 60_000);
  await deliveries.renew(webhook.id, 'a', 60_000);
  await deliveries.wanted(webhook.id, 10);
  if (event === undefined) throw new Error('no event was stored');
  const givenUp = { event, tries: 1, error: 'x', failed_at: at(0) };
  await deliveries.save(webhook.id, 'a', { progress: { cursor: 'x' }, givenUp, arrived: ['x'], waitMs: 1 });
  await events.trim({ maxEvents: 1, maxAgeMs: 0 });
}

async function useEverything(repository: Repository, there: Fixture): Promise<void> {
  const { app, version, revision, endpoint, key } = there;
  const token = makeAdminToken();
  const session = makeSession(token.id);
  const times = { now: at(0), unusedSince: at(0) };
  await repository.loadAll();
  const used = { keyId: key.id, date: '2026-01-31', lastUsedMs: 1, allowed: 1, limited: 0, denied: 0 };
  // Many rows, since plans may depend on the number of rows in a statement.
  const strangers = Array.from({ length: 999 }, (_, index) => ({ ...used, keyId: `stranger ${index}` }));
  await repository.recordKeyUsage([used, ...strangers]);
  await repository.removeKeyUsage('2026-02-01');
  await repository.recordAdminTokenUse(token.id, at(1));
  await repository.countAdminTokens();
  await repository.compactHistory();
  await repository.historySize();
  await useEvents(repository, app.id);
  await change(
    repository,
    async (db) => {
      await db.listApps(FIRST);
      const filter = { text: 'x', updatedSince: at(0) };
      await db.listApps({ ...FIRST, filter: { ...filter, labels: [['team', 'a']] } });
      await db.listVersions(app.id, { ...FIRST, filter: { ...filter, status: 'active' } });
      await db.listRevisions(version.id, { ...FIRST, filter: { ...filter, status: 'current' } });
      await db.listEndpoints(revision.id, { ...FIRST, filter: { ...filter, status: 'active' } });
      await db.listKeys(app.id, { ...FIRST, filter: { ...filter, status: 'active', now: at(0) } });
      await db.findApp('label');
      for (const hosts of [[], ['a.test', '*.b.test']]) {
        await db.findAppAt('/x', { appId: 'none', hosts });
        await db.findVersionAt('/x', { appId: 'none', hosts });
      }
      await db.findOwnVersionAt('/x', app.id);
      await db.findHostOverlap(app.id, ['a.b.test', '*.b.test']);
      await db.listVersions(app.id, FIRST);
      await db.findVersion(app.id, 'label');
      await db.listRevisions(version.id, FIRST);
      await db.findRevision(version.id, 'label');
      await db.listEndpoints(revision.id, FIRST);
      await db.findEndpoint(revision.id, endpoint.id);
      await db.findEndpointByMethodAndPath(revision.id, 'GET', '/x');
      await db.findEndpointPaths(revision.id, 'GET', '/{');
      await db.hasActiveEndpoint(revision.id);
      await db.findRevisionWithoutEndpoint(app.id);
      await db.currentWeights(version.id);
      await db.someKeyHasScopes(app.id, ['a'], at(0));
      await db.listKeys(app.id, FIRST);
      await db.findKey(app.id, key.id);
      await db.findKeyByHash(key.token_hash);
      await db.findKeyByHash('none');
      await db.listKeyUsage(key.id, '2026-01-01', '2026-01-31');
      await db.listAdminTokens(FIRST);
      await db.findAdminToken(token.id);
      await db.findAdminTokenByHash(token.token_hash);
      await db.findSession(session.id);
      await db.findSessionByHash(session.value_hash);
      await db.listSessions(FIRST, times);
      await db.listSessions(FIRST, times, session.actor_id);
      await db.countSessions();
      await db.listAudit(FIRST);
      for (const field of [
        'actor',
        'action',
        'resource_type',
        'resource_id',
        'resource_name',
        'since',
        'until',
      ])
        await db.listAudit(FIRST, 'newest_first', { [field]: at(1) });
      await db.listAudit(FIRST, 'newest_first');
      await db.historyFrom();
      await db.listHistory(FIRST);
      await db.listHistory({ limit: 5, after: '3' }, { app_id: app.id });
      await db.findHistory(1);
      await db.firstRecords([1, 2]);
      await db.historyChanges(1, FIRST);
      await db.appsAt(0);
      await db.appsAt(0, app.id);
      await db.countKeys(app.id);
      await db.countVersions(app.id);
      await db.countRevisions(version.id);
      await db.countEndpoints(revision.id);
      await db.keyIdsOfApp(app.id);
      await db.updateApp({ ...app, hosts: ['a.b.test'] });
      await db.updateApp(app);
      await db.updateVersion(version);
      await db.updateRevision(revision);
      await db.updateEndpoint(endpoint);
      await db.updateKey(key);
      await db.setCurrentRevision(version.id, revision.id, true, at(2));
      await db.insertAdminToken(token);
      await db.insertApp(makeApp());
      await db.appendAudit(makeAudit());
      await db.insertSession(session);
      await db.recordSessionUse(session.id, at(1));
      await db.deleteLeastUsedSessions(session.actor_id, 0);
      await db.deleteSession(session.id);
      await db.deleteExpiredSessions(times);
      await db.deleteAdminToken(token.id);
    },
    { appIds: [app.id], versionIds: [version.id], keyIds: [key.id] },
  );
  await change(repository, async (db) => {
    await db.deleteEndpoint(endpoint.id);
    await db.deleteRevision(revision.id);
    await db.deleteVersion(version.id);
    await db.deleteKey(key.id);
    await db.deleteApp(app.id);
  });
}

test('every statement finds its rows by an index', async () => {
  const connection = new DatabaseSync(':memory:');
  const statements = new Set<string>();
  const db = memoryDatabase(connection, (event) => void statements.add(event.query.sql));
  const repository = await memoryRepository(db);
  const there = await seed(repository);
  statements.clear();
  await useEverything(repository, there);

  expect(statements.size, 'the statements were seen').toBeGreaterThan(40);
  const planOf = (sql: string): string[] =>
    connection
      .prepare(`explain query plan ${sql}`)
      .all(...Array.from({ length: sql.split('?').length - 1 }, () => null))
      .map((row) => String(row['detail']));
  const walks = [...statements]
    .filter((sql) => !WHOLE_TABLE.includes(sql.replaceAll(/\s+/g, ' ').trim()))
    .map((sql) => ({ sql, plan: planOf(sql) }))
    .filter(({ plan }) => plan.some((step) => step.startsWith('SCAN') && !OWN_VALUES.test(step)));
  expect(walks).toEqual([]);
  await repository.close();
});

test('events that wait for webhooks, and those of a list, are counted without reading or sorting their rows', async () => {
  const connection = new DatabaseSync(':memory:');
  const counts: { readonly sql: string; readonly parameters: readonly unknown[] }[] = [];
  const db = memoryDatabase(connection, ({ query }) => {
    if (/count\(\*\).* from event /s.test(query.sql)) counts.push(query);
  });
  const repository = await memoryRepository(db);
  const filters = [{ events: ['*'] }, { events: ['breaker.*', 'config.changed'] }];
  await change(repository, async (writer) => {
    for (const filter of filters)
      for (const app_ids of [[], ['a'], ['a', 'b']])
        await writer.insertWebhook(
          makeWebhook({ name: `${filter.events[0]} ${app_ids.length}`, ...filter, app_ids }),
        );
  });
  await repository.deliveries.states();
  await repository.events.list(FIRST, { app_ids: ['a'] });

  expect(counts.length).toBe(7);
  const steps = counts.flatMap(({ sql, parameters }) =>
    connection
      .prepare(`explain query plan ${sql}`)
      .all(...(parameters as string[]))
      .map((row) => String(row['detail'])),
  );
  const ofEvents = steps.filter((step) => /^(?:SEARCH|SCAN) event\b|TEMP B-TREE|MULTI-INDEX/.test(step));
  expect(ofEvents.length).toBeGreaterThan(6);
  expect(ofEvents.filter((step) => !step.startsWith('SEARCH event USING COVERING INDEX'))).toEqual([]);
  await repository.close();
});

test('the first events of some apps are found without sorting all of theirs', async () => {
  const connection = new DatabaseSync(':memory:');
  const reads: string[] = [];
  const db = memoryDatabase(connection, ({ query: { sql, parameters } }) => {
    if (!/select \* from event /.test(sql)) return;
    const plan = connection.prepare(`explain query plan ${sql}`).all(...(parameters as string[]));
    reads.push(plan.map((row) => String(row['detail'])).join('; '));
  });
  const { events } = await memoryRepository(db);
  for (const filter of [
    { app_ids: ['a'] },
    { app_ids: ['a', 'b'] },
    { app_ids: ['a'], types: ['breaker.*'] },
    { app_ids: ['a'], types: ['config.changed'] },
  ]) {
    await events.list({ ...FIRST, order: 'newest_first' }, filter);
    await events.after('', 10, filter);
  }
  expect(reads.length).toBe(8);
  // Only what the parts found, at most the limit of each, is sorted: the last step of the plan.
  const within = reads.map((plan) => plan.replace(/SCAN found.*$/s, ''));
  expect(within.filter((plan) => /MULTI-INDEX|TEMP B-TREE/.test(plan))).toEqual([]);
  expect(within.filter((plan) => !/SEARCH event USING INDEX event_app_id/.test(plan))).toEqual([]);
});
