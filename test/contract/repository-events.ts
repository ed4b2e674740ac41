/** The part of the repository's contract that is about events, webhooks and how far they are. */
import { expect, test } from 'vitest';
import type { NewEvent } from '../../src/storage/event-store.ts';
import { DeliveryLeaseLost } from '../../src/storage/delivery-store.ts';
import type { StoredWebhook } from '../../src/model/events/webhook.ts';
import type { Repository } from '../../src/storage/repository.ts';
import { uuidv7 } from '../../src/lib/ids.ts';
import { at, change, FIRST, makeApp, makeRevision, makeVersion, touched } from './records.ts';

export const noticed = (name: string, extra: Partial<NewEvent> = {}): NewEvent => ({
  type: 'node.joined',
  at: at(1),
  node: 'a',
  subject: { kind: 'node', id: name, name },
  data: { program_version: '1' },
  ...extra,
});

export const makeWebhook = (extra: Partial<StoredWebhook> = {}): StoredWebhook => ({
  id: uuidv7(Date.now()),
  name: 'hook',
  url: 'https://receiver.test/',
  events: ['*'],
  app_ids: [],
  is_active: true,
  disabled_reason: null,
  secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  previous_secret: null,
  previous_secret_expires_at: null,
  created_at: at(0),
  updated_at: at(0),
  ...extra,
});

const DECADE_MS = 315_576_000_000;

export function eventsContract(current: () => Repository): void {
  const add = (webhook: StoredWebhook) =>
    change(current(), async (writer) => void (await writer.insertWebhook(webhook)));
  const names = async (types?: string[]) => {
    const { events } = await current().events.after('', 100, types === undefined ? {} : { types });
    return events.map(({ subject }) => subject.name);
  };

  test('events come back in the order of their ids, as they were recorded, and a cursor goes on from each', async () => {
    const { events } = current();
    const stored = await events.append(['a', 'b', 'c'].map((name) => noticed(name, { app_id: 'app' })));
    expect(stored.map(({ id }) => id).toSorted()).toEqual(stored.map(({ id }) => id));
    const first = await events.after('', 2, {});
    expect(first.events).toEqual(stored.slice(0, 2));
    const rest = await events.after(first.reached, 2, {});
    expect(rest).toEqual({ events: stored.slice(2), reached: stored[2]?.id });
    const newest = await events.list({ limit: 2, after: undefined, order: 'newest_first' }, {});
    expect(newest).toMatchObject({ total: 3, items: [{ id: stored[2]?.id }, { id: stored[1]?.id }] });
    expect(await events.bounds()).toEqual({ oldest: stored[0]?.id, newest: stored[2]?.id });
  });

  test('a key makes one event of several, and filters choose by type, app and time', async () => {
    const { events } = current();
    const keyed = (type: 'breaker.opened' | 'breaker.closed') =>
      noticed(type, { type, dedupe_key: type, app_id: 'app', at: at(5) });
    await events.append([keyed('breaker.opened'), noticed('x')]);
    expect(await events.append([keyed('breaker.opened'), keyed('breaker.closed')])).toHaveLength(1);
    expect(await names()).toEqual(['breaker.opened', 'x', 'breaker.closed']);
    expect(await names(['breaker.*'])).toEqual(['breaker.opened', 'breaker.closed']);
    expect(await names(['node.joined'])).toEqual(['x']);
    const { events: ofApp } = await events.after('', 10, { app_ids: ['app', 'other'], since: at(2) });
    expect(ofApp).toHaveLength(2);
    // Nothing that matches is missed by what is reached.
    const none = await events.after('', 10, { types: ['key.expired'] });
    expect(none).toEqual({ events: [], reached: (await events.bounds()).newest });
  });

  test('a write has its events in its own transaction, and none when it is undone', async () => {
    const app = makeApp();
    const version = makeVersion(app);
    const [old, recent] = [makeRevision(version), makeRevision(version)];
    await change(
      current(),
      async (writer) => {
        await writer.insertApp(app);
        await writer.insertVersion(version);
        await writer.insertRevision({ ...old, is_current: true });
        await writer.insertRevision({ ...recent, is_current: false });
      },
      { appIds: [app.id] },
    );
    const turn = (id: string) =>
      change(current(), (writer) => writer.setCurrentRevision(version.id, id, true, at(9)), {
        versionIds: [version.id],
      });
    await turn(recent.id);
    await turn(old.id);
    const refused = current().write(
      async (writer) => {
        await writer.deleteApp(app.id);
        return { value: 1, touched: touched({ appIds: [app.id] }) };
      },
      () => {
        throw new Error('refused');
      },
    );
    await expect(refused).rejects.toThrow('refused');
    const { events } = await current().events.after('', 100, { app_ids: [app.id] });
    expect(events.map(({ type, subject }) => `${type} ${subject.name}`)).toEqual([
      'config.changed 1',
      `revision.activated ${old.revision}`,
      'config.changed 2',
      `revision.activated ${recent.revision}`,
      'config.changed 3',
      `revision.rolled_back ${old.revision}`,
    ]);
    expect(events.at(-1)?.data).toMatchObject({ app: app.slug, replaced: [recent.revision] });
    expect(events[0]?.data).toMatchObject({ changed_records: 4, config_version: 1 });
  });

  test('a webhook is stored with its secret, and starts with the events after it', async () => {
    const { events, deliveries } = current();
    await events.append([noticed('before')]);
    const webhook = makeWebhook();
    await add(webhook);
    expect(await current().read((reader) => reader.findWebhook(webhook.id))).toEqual(webhook);
    expect((await deliveries.due()).due).toEqual([]);
    await events.append([noticed('after')]);
    expect((await deliveries.due()).due.map(({ id }) => id)).toEqual([webhook.id]);
    const { waiting } = (await deliveries.states())[0] ?? {};
    expect(waiting).toBe(1);
    await change(current(), async (writer) => {
      await writer.updateWebhook({ ...webhook, is_active: false });
    });
    expect((await deliveries.due()).due).toEqual([]);
    await change(current(), async (writer) => void (await writer.deleteWebhook(webhook.id)));
    expect(await deliveries.states()).toEqual([]);
  });

  test('one gateway sends for a webhook, and a lease that ended writes nothing', async () => {
    const { events, deliveries } = current();
    const webhook = makeWebhook();
    await add(webhook);
    const [event] = await events.append([noticed('x')]);
    const cursor = event?.id ?? '';
    expect((await deliveries.claim(webhook.id, 'a', 60_000))?.webhook).toEqual(webhook);
    expect(await deliveries.claim(webhook.id, 'b', 60_000)).toBeUndefined();
    await deliveries.renew(webhook.id, 'a', 1);
    await expect.poll(() => deliveries.claim(webhook.id, 'b', 60_000)).toBeDefined();
    const late = deliveries.save(webhook.id, 'a', { progress: { cursor } });
    await expect(late).rejects.toBeInstanceOf(DeliveryLeaseLost);
    await deliveries.save(webhook.id, 'b', { progress: { cursor }, delivered: 1, release: true });
    expect((await deliveries.claim(webhook.id, 'a', 10))?.progress).toMatchObject({ cursor, delivered: 1 });
  });

  test('a clock that was hours ahead keeps no webhook waiting once it is right', async () => {
    const { events, deliveries } = current();
    const webhook = makeWebhook();
    await add(webhook);
    await events.append([noticed('x')]);
    const due = async () => (await deliveries.due()).due.map(({ id }) => id);
    const nowMs = await deliveries.nowMs();
    const hoursMs = 6 * 3_600_000;
    await deliveries.claim(webhook.id, 'a', 60_000);
    const failure = { failures: 3, tries: 3, last_error: 'it answered 500' };
    const failed = { ...failure, failed_at_ms: nowMs };
    await deliveries.save(webhook.id, 'a', { progress: failed, waitMs: 60_000, release: true });
    expect(await due()).toEqual([]);
    await deliveries.claim(webhook.id, 'a', 60_000);
    const ahead = { ...failure, failed_at_ms: nowMs + hoursMs };
    await deliveries.save(webhook.id, 'a', { progress: ahead, waitMs: hoursMs + 60_000, release: true });
    expect(await due()).toEqual([webhook.id]);
    // By the clock of that time, this lease lasts for a minute.
    await deliveries.claim(webhook.id, 'a', hoursMs + 60_000);
    expect(await due()).toEqual([webhook.id]);
    expect(await deliveries.claim(webhook.id, 'b', 60_000)).toBeDefined();
  });

  test('an event that is given up is a dead letter until it arrives', async () => {
    const { events, deliveries } = current();
    const webhook = makeWebhook();
    await add(webhook);
    const [event] = await events.append([noticed('x')]);
    if (event === undefined) throw new Error('no event');
    await deliveries.claim(webhook.id, 'a', 60_000);
    const givenUp = { event, tries: 5, error: 'answered 400', failed_at: at(3) };
    await deliveries.save(webhook.id, 'a', { progress: { cursor: event.id }, givenUp, release: true });
    const letters = () => current().read((reader) => reader.listDeadLetters(webhook.id, FIRST));
    expect((await letters()).items).toEqual([{ id: event.id, ...givenUp, is_wanted: false }]);
    expect((await deliveries.due()).due).toEqual([]);
    await change(current(), async (writer) => void (await writer.wantDeadLetters(webhook.id)));
    expect((await deliveries.due()).due.map(({ id }) => id)).toEqual([webhook.id]);
    expect(await deliveries.wanted(webhook.id, 10)).toHaveLength(1);
    await deliveries.claim(webhook.id, 'a', 60_000);
    await deliveries.save(webhook.id, 'a', { progress: {}, arrived: [event.id], release: true });
    expect((await letters()).total).toBe(0);
  });

  test('events beyond the bounds go, those that a webhook waits for as dead letters', async () => {
    const { events } = current();
    await events.append([noticed('early')]);
    const webhook = makeWebhook({ events: ['node.*'] });
    await add(webhook);
    await events.append([noticed('1'), noticed('2', { type: 'database.away' }), noticed('3'), noticed('4')]);
    while (!(await events.trim({ maxEvents: 2, maxAgeMs: DECADE_MS }))) continue;
    // Each type has its room.
    expect(await names()).toEqual(['2', '4']);
    const { items } = await current().read((reader) => reader.listDeadLetters(webhook.id, FIRST));
    expect(items.map(({ event }) => event.subject.name)).toEqual(['1', '3']);
    const kept = await events.after('', 10, {});
    const removed = await events.removed({});
    expect(removed.upTo > (kept.events[0]?.id ?? '~')).toBe(true);
    expect(removed.isComplete, 'nothing is known of removals by age').toBe(false);
    expect((await events.removed({ types: ['database.*'] })).upTo).toBe('');
    // By age: all but the newest.
    await events.trim({ maxEvents: 100, maxAgeMs: -DECADE_MS });
    expect(await names()).toEqual(['4']);
    const aged = { upTo: kept.events[0]?.id, isComplete: true };
    expect(await events.removed({ types: ['database.*'] })).toEqual(aged);
    expect(await events.removed({ types: ['node.*'] })).toEqual({ ...removed, isComplete: true });
    expect((await events.removed({ types: ['version.*'] })).upTo).toBe('');
  });
}
