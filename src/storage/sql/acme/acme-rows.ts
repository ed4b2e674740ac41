/**
 * Certificates by ACME in any SQL database. Seals private keys when it writes them and opens them when it reads them.
 */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import {
  AcmeLeaseLost,
  type AcmeCertificate,
  type AcmeCertificateChange,
  type AcmeStore,
  type AcmeWriter,
} from '../../acme-store.ts';
import type { Repository } from '../../repository.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { databaseNow, hasEnded } from '../events/database-clock.ts';
import type { RowOf, Tables } from '../kysely-tables.ts';

type InTransaction = <T>(work: (db: Kysely<Tables>) => Promise<T>) => Promise<T>;

export interface AcmeRowsDeps {
  readonly driver: Repository['driver'];
  readonly box: SecretBox;
  readonly inRead: InTransaction;
  readonly inWrite: InTransaction;
}

type CertificateRow = RowOf<AcmeCertificate> & { revision: number };

const SEALED_COLUMNS = ['private_key', 'order_key'] as const;
const REMOVED_AT_ONCE = 200;

export function createAcmeStore(deps: AcmeRowsDeps): AcmeStore {
  const { inRead, inWrite, box } = deps;
  const now = databaseNow(deps.driver);
  return {
    lease: (holder, ttlMs) => inWrite((db) => takeLease(db, holder, sql`${now} + ${ttlMs}`, now)),
    release: (holder) => inWrite((db) => releaseLease(db, holder)),
    revision: () => inRead(async (db) => (await readState(db)).revision),
    changesSince: (since) =>
      inRead(async (db) => {
        const state = await readState(db);
        const rows = await db
          .selectFrom('acme_certificate')
          .selectAll()
          .where('revision', '>', since)
          .orderBy('name')
          .execute();
        const challenges = await db.selectFrom('acme_challenge').selectAll().orderBy('token').execute();
        return {
          revision: state.revision,
          certificates: rows.map((row) => opened(row, box)),
          challenges: challenges.map((row) => ({ ...row, kind: row.kind as 'http-01' })),
          pausedUntilMs: state.paused_until_ms,
          pausedReason: state.paused_reason ?? undefined,
        };
      }),
    find: (name) => inRead((db) => findCertificate(db, name, box)),
    account: (directory) =>
      inRead(async (db) => {
        const row = await db
          .selectFrom('acme_account')
          .selectAll()
          .where('directory', '=', directory)
          .executeTakeFirst();
        const { text } = openKey(row?.private_key ?? null, directory, box);
        return text === null ? undefined : { directory, privateKey: text, url: row?.url ?? undefined };
      }),
    ordersBetween: (fromMs, toMs) =>
      inRead(async (db) => {
        const row = await db
          .selectFrom('acme_order')
          .select(sql<number>`count(*)`.as('count'))
          .where('started_ms', '>', fromMs)
          .where('started_ms', '<', toMs)
          .executeTakeFirst();
        return row?.count ?? 0;
      }),
    as: (holder) => createAcmeWriter(holder, now, deps),
  };
}

function createAcmeWriter(
  holder: string,
  now: RawBuilder<number>,
  { inWrite, box }: AcmeRowsDeps,
): AcmeWriter {
  const inLease = (work: (db: Kysely<Tables>, revision: number) => Promise<unknown>): Promise<void> =>
    inWrite(async (db) => {
      const state = await db
        .updateTable('acme_state')
        .set((eb) => ({ revision: eb('revision', '+', 1) }))
        .where('lease_holder', '=', holder)
        .where(sql<boolean>`lease_until_ms > ${now}`)
        .returning('revision')
        .executeTakeFirst();
      if (state === undefined) throw new AcmeLeaseLost();
      await work(db, state.revision);
    });
  return {
    putAccount: ({ directory, privateKey, url = null }, createdAt) =>
      inLease((db) => {
        const row = { private_key: box.seal(privateKey, directory), url };
        return db
          .insertInto('acme_account')
          .values({ ...row, directory, created_at: createdAt })
          .onConflict((conflict) => conflict.column('directory').doUpdateSet(row))
          .execute();
      }),
    change: (name, change) =>
      inLease((db, revision) => putCertificate(db, name, sealed(name, change, box), revision)),
    beginOrder: (id, name, change, nowMs) =>
      inLease(async (db, revision) => {
        await putCertificate(db, name, sealed(name, change, box), revision);
        await db.insertInto('acme_order').values({ id, name, started_ms: nowMs }).execute();
      }),
    setChallenges: (name, challenges) =>
      inLease(async (db) => {
        await db.deleteFrom('acme_challenge').where('name', '=', name).execute();
        if (challenges.length === 0) return;
        const tokens = challenges.map(({ token }) => token);
        await db.deleteFrom('acme_challenge').where('token', 'in', tokens).execute();
        await db
          .insertInto('acme_challenge')
          .values([...challenges])
          .execute();
      }),
    pause: (untilMs, reason) =>
      inLease((db) =>
        db.updateTable('acme_state').set({ paused_until_ms: untilMs, paused_reason: reason }).execute(),
      ),
    remove: (names, ordersBeforeMs) =>
      inLease(async (db) => {
        await db.deleteFrom('acme_order').where('started_ms', '<', ordersBeforeMs).execute();
        for (let start = 0; start < names.length; start += REMOVED_AT_ONCE) {
          const some = names.slice(start, start + REMOVED_AT_ONCE);
          await db.deleteFrom('acme_challenge').where('name', 'in', some).execute();
          await db.deleteFrom('acme_certificate').where('name', 'in', some).execute();
        }
      }),
  };
}

/**
 * Makes an order of the name due, in a write that also has its audit entry. Returns false when there is no such
 * row.
 */
export async function requestOrder(db: Kysely<Tables>, name: string): Promise<boolean> {
  const state = await db
    .updateTable('acme_state')
    .set((eb) => ({ revision: eb('revision', '+', 1) }))
    .returning('revision')
    .executeTakeFirst();
  const result = await db
    .updateTable('acme_certificate')
    .set({ revision: state?.revision ?? 0, renew_at_ms: 0, next_try_ms: 0, failures: 0 })
    .where('name', '=', name)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

async function takeLease(
  db: Kysely<Tables>,
  holder: string,
  until: RawBuilder<unknown>,
  now: RawBuilder<number>,
): Promise<boolean> {
  const result = await db
    .updateTable('acme_state')
    .set({ lease_holder: holder, lease_until_ms: sql<number>`${until}` })
    .where((eb) =>
      eb.or([
        eb('lease_holder', 'is', null),
        eb('lease_holder', '=', holder),
        hasEnded(sql<number>`lease_until_ms`, now),
      ]),
    )
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

async function releaseLease(db: Kysely<Tables>, holder: string): Promise<void> {
  await db
    .updateTable('acme_state')
    .set({ lease_holder: null, lease_until_ms: 0 })
    .where('lease_holder', '=', holder)
    .execute();
}

async function readState(db: Kysely<Tables>): Promise<Tables['acme_state']> {
  return db.selectFrom('acme_state').selectAll().executeTakeFirstOrThrow();
}

async function findCertificate(
  db: Kysely<Tables>,
  name: string,
  box: SecretBox,
): Promise<AcmeCertificate | undefined> {
  const row = await db.selectFrom('acme_certificate').selectAll().where('name', '=', name).executeTakeFirst();
  return row && opened(row, box);
}

const EMPTY: Omit<CertificateRow, 'name' | 'revision'> = {
  directory: null,
  chain: null,
  private_key: null,
  valid_from_ms: null,
  expires_at_ms: null,
  renew_at_ms: null,
  window_check_ms: null,
  failures: 0,
  last_error: null,
  failed_at_ms: null,
  next_try_ms: 0,
  order_directory: null,
  order_key: null,
  order_url: null,
  order_started_ms: null,
};

async function putCertificate(
  db: Kysely<Tables>,
  name: string,
  change: AcmeCertificateChange,
  revision: number,
): Promise<void> {
  await db
    .insertInto('acme_certificate')
    .values({ ...EMPTY, ...change, name, revision })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ ...change, revision }))
    .execute();
}

/** The place of a sealed key: a key of one name cannot be moved to another. */
export const certificatePlace = (name: string): string => `certificate ${name}`;

function sealed(name: string, change: AcmeCertificateChange, box: SecretBox): AcmeCertificateChange {
  const row: Record<string, unknown> = { ...change };
  for (const column of SEALED_COLUMNS) {
    const key = change[column];
    if (typeof key === 'string') row[column] = box.seal(key, certificatePlace(name));
  }
  return row;
}

/** A row whose key cannot be decrypted has none, and says so before any later error. */
function opened({ revision: _revision, ...row }: CertificateRow, box: SecretBox): AcmeCertificate {
  const key = openKey(row.private_key, certificatePlace(row.name), box);
  const orderKey = openKey(row.order_key, certificatePlace(row.name), box);
  const problem = key.problem ?? orderKey.problem;
  const found = { ...row, private_key: key.text, order_key: orderKey.text };
  if (problem === undefined) return found;
  return { ...found, last_error: row.last_error === null ? problem : `${problem}. ${row.last_error}` };
}

function openKey(
  stored: string | null,
  place: string,
  box: SecretBox,
): { readonly text: string | null; readonly problem?: string } {
  if (stored === null) return { text: null };
  const found = box.open(stored, place);
  if ('text' in found) return { text: found.text };
  const problem =
    found.problem === 'other_key'
      ? `the private key was not encrypted with the key of ${box.keyName}; start the gateway with the right key, or wait for a new certificate`
      : 'the encrypted private key is damaged; a new certificate is ordered';
  return { text: null, problem };
}
