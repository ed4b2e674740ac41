import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, expect, test } from 'vitest';
import { startWebhookReceiver } from '../../../test/support/backends/webhook-receiver.ts';
import { at, change, FIRST } from '../../../test/contract/records.ts';
import { makeWebhook, noticed } from '../../../test/contract/repository-events.ts';
import { until } from '../../../test/support/measure/until.ts';
import { memoryDatabase, memoryRepository } from '../../../test/support/programs/memory-database.ts';
import { Egress } from '../../egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../../egress/own-listeners.ts';
import { systemClock } from '../../lib/clock.ts';
import type { StoredWebhook } from '../../model/events/webhook.ts';
import { QUIET_SAVE_MS, WebhookSender } from './webhook-sender.ts';

const HOUR_MS = 3_600_000;
const unexpected = (fields: object): void => expect.fail(JSON.stringify(fields));
let end: () => Promise<void>;
afterEach(() => end());

interface StartOptions {
  readonly aheadMs?: number;
  readonly onError?: (fields: object) => void;
}

async function start(webhook: StoredWebhook, { aheadMs = 0, onError = unexpected }: StartOptions = {}) {
  const db = memoryDatabase();
  const repository = await memoryRepository(db);
  await change(repository, (writer) => writer.insertWebhook(webhook));
  const time = { laterMs: 0 };
  const { deliveries } = repository;
  /** How many deliveries there were when a lease was taken. */
  const claims: number[] = [];
  const sender = new WebhookSender({
    repository: {
      ...repository,
      deliveries: {
        ...deliveries,
        claim: async (...given) => {
          const delivery = await deliveries.claim(...given);
          if (delivery !== undefined) claims.push(delivery.progress.delivered);
          return delivery;
        },
      },
    },
    egress: new Egress(
      { allow: [], deny: [], unixSocketsFrom: [] },
      new OwnListeners(createOwnPorts(), systemClock),
    ),
    settings: { timeoutMs: 2_000, maxTries: 1, retryMinMs: 10, retryMaxMs: 10 },
    holder: 'a',
    nodeName: 'a',
    clock: {
      nowMs: () => systemClock.nowMs() + aheadMs,
      monotonicMs: () => systemClock.monotonicMs() + time.laterMs,
    },
    log: { debug: unexpected, warn: unexpected, error: onError } as never,
  });
  end = async () => {
    await sender.stop();
    await repository.close();
  };
  const cursor = async () => (await repository.deliveries.states())[0]?.progress.cursor;
  return { db, repository, sender, time, cursor, claims };
}

test('the progress of a webhook that gets nothing is stored in the end', async () => {
  const { repository, sender, time, cursor } = await start(makeWebhook({ app_ids: ['quiet'] }));
  const [stored] = await repository.events.append([noticed('a', { app_id: 'loud' })]);
  sender.start();
  expect(await cursor()).not.toBe(stored?.id);
  await until(async () => {
    time.laterMs += QUIET_SAVE_MS;
    sender.look();
    return (await cursor()) === stored?.id;
  });
});

test('the rest of the backlog of a webhook goes to its new address', async () => {
  const [wrong, right] = [await startWebhookReceiver(() => 'late'), await startWebhookReceiver()];
  const webhook = makeWebhook({ url: `http://127.0.0.1:${wrong.port}/` });
  const { repository, sender } = await start(webhook);
  await repository.events.append(Array.from({ length: 100 }, (_, index) => noticed(String(index))));
  sender.start();
  await until(() => wrong.taken.length > 0);
  const updated_at = at(5);
  const url = `http://127.0.0.1:${right.port}/`;
  await change(repository, (writer) => writer.updateWebhook({ ...webhook, url, updated_at }));
  await until(() => right.taken.at(-1)?.event.subject.name === '99', 5_000);
  const ids = [...wrong.taken, ...right.taken].map(({ id }) => id);
  expect([ids.length, new Set(ids).size]).toEqual([100, 100]);
  await Promise.all([wrong.close(), right.close()]);
});

test('a gateway whose clock is wrong sends the time of the database, which receivers accept', async () => {
  const receiver = await startWebhookReceiver();
  const webhook = makeWebhook({ url: `http://127.0.0.1:${receiver.port}/` });
  const { repository, sender } = await start(webhook, { aheadMs: HOUR_MS });
  await repository.events.append([noticed('a')]);
  sender.start();
  await until(() => receiver.taken.length === 1);
  expect((await sender.test(webhook)).outcome.result).toBe('delivered');
  const offsets = receiver.taken.map(
    ({ headers }) => Number(headers['webhook-timestamp']) - systemClock.nowMs() / 1_000,
  );
  expect(offsets.filter((seconds) => Math.abs(seconds) < 300)).toHaveLength(2);
  await receiver.close();
});

test('the times of failures and dead letters are those of the database', async () => {
  const receiver = await startWebhookReceiver(() => 500);
  const webhook = makeWebhook({ url: `http://127.0.0.1:${receiver.port}/` });
  const { repository, sender } = await start(webhook, { aheadMs: HOUR_MS });
  await repository.events.append([noticed('a')]);
  sender.start();
  const letter = await until(async () => {
    const { items } = await repository.read((reader) => reader.listDeadLetters(webhook.id, FIRST));
    return items[0];
  });
  const [state] = await repository.deliveries.states();
  for (const ms of [Date.parse(letter.failed_at), state?.progress.failed_at_ms ?? 0])
    expect(Math.abs(ms - systemClock.nowMs())).toBeLessThan(HOUR_MS / 2);
  await receiver.close();
});

test('a gateway that was frozen for longer than its lease sends nothing more with it', async () => {
  const given: { freeze?: () => void } = {};
  const receiver = await startWebhookReceiver(() => void given.freeze?.());
  const webhook = makeWebhook({ url: `http://127.0.0.1:${receiver.port}/` });
  const { repository, sender, time, claims } = await start(webhook);
  await repository.events.append([noticed('a'), noticed('b'), noticed('c')]);
  // In the middle of the first request, and once.
  given.freeze = () => {
    time.laterMs += 6_000;
    delete given.freeze;
  };
  sender.start();
  await until(() => receiver.taken.length === 3);
  expect(receiver.taken.map(({ event }) => event.subject.name)).toEqual(['a', 'b', 'c']);
  expect(claims).toEqual([0, 1]);
  await receiver.close();
});

test('a webhook whose secret cannot be read sends no test, because it would not be signed', async () => {
  const receiver = await startWebhookReceiver();
  const webhook = makeWebhook({ url: `http://127.0.0.1:${receiver.port}/`, secret: null });
  const { sender } = await start(webhook);
  expect((await sender.test(webhook)).outcome).toMatchObject({
    result: 'unavailable',
    error: expect.stringContaining('rotate it'),
  });
  expect(receiver.all).toEqual([]);
  await receiver.close();
});

test('while the database can be read but not written, it is checked once a second', async () => {
  const receiver = await startWebhookReceiver();
  const webhook = makeWebhook({ url: `http://127.0.0.1:${receiver.port}/` });
  let tries = 0;
  const { db, repository, sender } = await start(webhook, { onError: () => void (tries += 1) });
  await repository.events.append([noticed('a')]);
  await sql`create trigger refuse before update on webhook_delivery begin select raise(abort, 'no'); end`.execute(
    db,
  );
  sender.start();
  await until(() => tries > 0);
  await pause(500);
  expect(tries).toBeLessThanOrEqual(2);
  expect(receiver.all).toEqual([]);
  await sql`drop trigger refuse`.execute(db);
  await until(() => receiver.taken.length === 1);
  await receiver.close();
});

test('many webhooks that get nothing leave the database to the writes most of the time', async () => {
  const { repository, sender } = await start(makeWebhook({ app_ids: ['quiet'] }));
  for (let count = 0; count < 30; count++)
    await change(repository, (writer) =>
      writer.insertWebhook(makeWebhook({ name: `quiet ${count}`, app_ids: ['quiet'] })),
    );
  const { events } = repository;
  const after = events.after.bind(events);
  let busyMs = 0;
  // As long as a database on the network takes.
  events.after = async (...given) => {
    const startMs = performance.now();
    await pause(1);
    const found = await after(...given);
    busyMs += performance.now() - startMs;
    return found;
  };
  const startMs = performance.now();
  sender.start();
  for (let count = 0; count < 100; count++) {
    await repository.events.append([noticed(String(count), { app_id: 'loud' })]);
    await pause(10);
  }
  expect(busyMs).toBeGreaterThan(0);
  expect(busyMs / (performance.now() - startMs)).toBeLessThan(0.5);
});
