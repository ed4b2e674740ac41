/** What a gateway serves of the certificates by ACME, with a real database. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { SECRET_PLACES } from '../../policy/secret-places.ts';
import type { OrderedChange } from '../../proxy/downstream/tls/ordered-certificates.ts';
import { openSqlite } from '../../storage/sqlite/sqlite.ts';
import { AcmeView } from './acme-view.ts';

const HOLDER = 'gateway';
const NAME = 'site.test';
const pem = (file: string): string =>
  readFileSync(resolve(import.meta.dirname, '../../../test/support/tls', file), 'utf8');

it('publishes what was stored, also if an earlier refresh has read it and failed then', async () => {
  const repository = await openSqlite({
    path: ':memory:',
    autoMigrate: true,
    clock: systemClock,
    secretPlaces: SECRET_PLACES,
  });
  onTestFinished(() => repository.close());
  const store = repository.acme;
  expect(await store.lease(HOLDER, 60_000)).toBe(true);
  const writer = store.as(HOLDER);
  await writer.change(NAME, { chain: pem('site.pem'), private_key: pem('site-key.pem') });
  const challenge = { token: 't'.repeat(22), name: NAME, key_authorization: 'authorization' };
  await writer.setChallenges(NAME, [{ ...challenge, kind: 'tls-alpn-01' }]);
  const published: OrderedChange[] = [];
  let fails = true;
  const view = new AcmeView({
    store: () => store,
    publish: async (change) => void published.push(change),
    clock: {
      ...systemClock,
      // For the certificate that answers the challenge.
      nowMs: () => {
        if (fails) throw new Error('it cannot be made');
        return systemClock.nowMs();
      },
    },
    log: pino({ level: 'silent' }),
  });
  await expect(view.refresh()).rejects.toThrow('it cannot be made');
  fails = false;
  await view.refresh();
  expect(published).toHaveLength(1);
  expect(published[0]?.certificates.map(([name]) => name)).toEqual([NAME]);
  expect(published[0]?.alpnAnswers.map(([name]) => name)).toEqual([NAME]);
});
