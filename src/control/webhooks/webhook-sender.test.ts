import { expect, test } from 'vitest';
import { change } from '../../../test/contract/records.ts';
import { makeWebhook, noticed } from '../../../test/contract/repository-events.ts';
import { until } from '../../../test/support/measure/until.ts';
import { memoryDatabase } from '../../../test/support/programs/memory-database.ts';
import { systemClock } from '../../lib/clock.ts';
import { HISTORY_DEFAULTS } from '../../model/history/config-history.ts';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import { migrate } from '../../storage/migrate.ts';
import { memorySecretBox } from '../../storage/secrets/secret-key.ts';
import { createSqlRepository } from '../../storage/sql/repository.ts';
import { QUIET_SAVE_MS, WebhookSender } from './webhook-sender.ts';

test('how far a webhook is that gets nothing is stored in the end', async () => {
  const db = memoryDatabase();
  await migrate(db, systemClock);
  const repository = createSqlRepository({
    driver: 'sqlite',
    write: db,
    read: db,
    assertPresent: () => {},
    groupWritesMax: 1,
    history: HISTORY_DEFAULTS,
    clock: systemClock,
    secrets: { box: memorySecretBox(), places: SECRET_PLACES },
  });
  await change(repository, (writer) => writer.insertWebhook(makeWebhook({ app_ids: ['quiet'] })));
  let laterMs = 0;
  const sender = new WebhookSender({
    repository,
    egress: undefined as never,
    settings: { timeoutMs: 1, triesMax: 1, retryMinMs: 1, retryMaxMs: 1 },
    holder: 'a',
    nodeName: 'a',
    clock: {
      ...systemClock,
      nowMs: systemClock.nowMs,
      monotonicMs: () => systemClock.monotonicMs() + laterMs,
    },
    log: { debug: expect.fail, warn: expect.fail, error: expect.fail } as never,
  });
  const cursor = async (): Promise<string | undefined> =>
    (await repository.deliveries.states())[0]?.progress.cursor;
  const [stored] = await repository.events.append([noticed('a', { app_id: 'loud' })]);
  sender.start();
  expect(await cursor()).not.toBe(stored?.id);
  await until(async () => {
    laterMs += QUIET_SAVE_MS;
    sender.look();
    return (await cursor()) === stored?.id;
  });
  await sender.stop();
  await repository.close();
});
