/** `SecretStore` over any SQL database: looks at every sealed value, and seals values again with the first key. */
import { setImmediate as turn } from 'node:timers/promises';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { withBudget } from '../../lib/deadline-budget.ts';
import type { SealedCount, SealedState, SecretStore } from '../secret-store.ts';
import type { Tables } from '../sql/kysely-tables.ts';
import type { SecretPlaces } from '../../model/policy.ts';
import { inspectSealedValues, type Sealing } from '../sql/policy-secrets.ts';
import type { HeldSecrets } from './secret-key.ts';
import { maskAuditedUrls } from '../sql/events/sealed-url.ts';
import { isSealed, neededKeyId, type SecretBox } from './secret-box.ts';
import { SEALED_COLUMNS, type ChangeSealed, type SealedColumn } from './sealed-columns.ts';

/** Rows that are read at once, and changed in one transaction. */
const PAGE_ROWS = 200;

type InTransaction = <T>(work: (db: Kysely<Tables>) => Promise<T>) => Promise<T>;

export interface StoredSecretsDeps {
  readonly secrets: Sealing;
  readonly inRead: InTransaction;
  readonly inWrite: InTransaction;
  /** The gateways on the database with the key that each encrypts with; absent: there is only this one. */
  readonly sealingKeys?: ((db: Kysely<Tables>) => Promise<readonly SealingKey[]>) | undefined;
}

/** What a gateway encrypts with; undefined if it has no key. */
export interface SealingKey {
  readonly name: string;
  readonly keyId: string | undefined;
}

export function createSecretStore(deps: StoredSecretsDeps): SecretStore {
  const { keyName, keyIds } = deps.secrets.box;
  return {
    keyName,
    keyIds,
    // A call may take longer than one call may wait for the database.
    count: () => withBudget(undefined, () => countAll(deps)),
    rekey: () => withBudget(undefined, () => rekeyAll(deps)),
  };
}

/**
 * What a database that is opened without a key holds. Looks at no history: it can do without the key. Scans whole
 * tables.
 * @param hasTable false where the schema is older
 */
export async function heldSecrets(
  db: Kysely<Tables>,
  places: SecretPlaces,
  hasTable: (name: string) => Promise<boolean>,
): Promise<HeldSecrets> {
  if ((await inspectSealedValues(db, places, undefined)).total > 0) return 'policies';
  for (const column of SEALED_COLUMNS) {
    if (column.belongsTo !== 'webhooks' && column.belongsTo !== 'certificates') continue;
    if (!(await hasTable(column.table))) continue;
    for await (const rows of pagesOf((work) => work(db), column)) {
      if (rows.some(({ text }) => /(^|\/)enc:v/.test(text))) return 'others';
    }
  }
  return 'none';
}

/** Like `SecretStore.count`, in one transaction. The schema must be current. */
export function countSealed(db: Kysely<Tables>, secrets: Sealing): Promise<readonly SealedCount[]> {
  return countAll({ secrets, inRead: (work) => work(db) });
}

async function countAll({
  secrets,
  inRead,
}: Pick<StoredSecretsDeps, 'secrets' | 'inRead'>): Promise<readonly SealedCount[]> {
  const counts = new Map<string, SealedCount>();
  for (const column of SEALED_COLUMNS) {
    for await (const rows of pagesOf(inRead, column)) {
      for (const row of rows) {
        mapRow(column, row, secrets, (sealed, place) => {
          const keyId = neededKeyId(sealed);
          const state = stateOf(sealed, place, secrets);
          const id = `${column.belongsTo} ${keyId} ${state}`;
          const { count } = counts.get(id) ?? { count: 0 };
          counts.set(id, { place: column.belongsTo, keyId, state, count: count + 1 });
          return sealed;
        });
      }
    }
  }
  return [...counts.values()];
}

async function rekeyAll({ secrets, inRead, inWrite, sealingKeys }: StoredSecretsDeps) {
  const { box } = secrets;
  const [first] = box.keyIds;
  if (first === undefined) return { refused: `there is no key: ${box.keyName} is not set` };
  const others = sealingKeys === undefined ? [] : await inRead(sealingKeys);
  const other = others.find(({ keyId }) => keyId !== first);
  if (other !== undefined) {
    return {
      refused: `the gateway "${other.name}" still encrypts with another key; expected every gateway on the database to have the same first key in ${box.keyName}`,
    };
  }
  let rekeyed = 0;
  for (const column of SEALED_COLUMNS) {
    for await (const rows of pagesOf(inRead, column)) {
      const changes: Change[] = [];
      for (const row of rows) {
        const text = mapRow(column, row, secrets, (sealed, place) => {
          const opened = openedForRekey(sealed, place, box);
          if (opened === undefined || !('text' in opened)) return sealed;
          rekeyed += 1;
          return box.seal(opened.text, place);
        });
        if (text !== row.text) changes.push({ row, text });
      }
      if (changes.length > 0) await inWrite((db) => store(db, column, changes));
    }
  }
  await maskAuditedUrls(inWrite);
  return { rekeyed };
}

/** undefined: it needs no other key than the first. */
function openedForRekey(stored: string, place: string, box: SecretBox) {
  if (!isSealed(stored)) return { text: stored };
  return neededKeyId(stored) === box.keyIds[0] ? undefined : box.open(stored, place);
}

function stateOf(sealed: string, place: string, { box }: Sealing): SealedState {
  if (!isSealed(sealed)) return 'plain';
  if (box.keyIds.length === 0) return 'unreadable';
  if ('problem' in box.open(sealed, place)) return 'unreadable';
  return neededKeyId(sealed) === box.keyIds[0] ? 'current' : 'other';
}

interface SealedRow {
  readonly key: readonly (string | number)[];
  readonly text: string;
}

interface Change {
  readonly row: SealedRow;
  readonly text: string;
}

function mapRow(column: SealedColumn, { key, text }: SealedRow, sealing: Sealing, change: ChangeSealed) {
  return column.map(text, key.map(String), sealing.places, change);
}

/** A value that was written since it was read has the key of its writer by now. */
async function store(db: Kysely<Tables>, { table, key, column }: SealedColumn, changes: readonly Change[]) {
  for (const { row, text } of changes) {
    const same = key.map((name, index) => sql`${sql.ref(name)} = ${row.key[index]}`);
    await sql`
      update ${sql.table(table)} set ${sql.ref(column)} = ${text}
      where ${sql.join([...same, sql`${sql.ref(column)} = ${row.text}`], sql` and `)}`.execute(db);
  }
}

/** The rows that may have sealed values, in the order of their key. Reads the text of no other row. */
async function* pagesOf(
  inRead: InTransaction,
  { table, key, column, mayBePlain = false }: SealedColumn,
): AsyncGenerator<readonly SealedRow[]> {
  const keys = sql.join(key.map((name) => sql.ref(name)));
  for (let last: SealedRow | undefined; ;) {
    const rest: RawBuilder<unknown> =
      last === undefined ? sql`` : sql`where (${keys}) > (${sql.join(last.key)})`;
    const found = await inRead(async (db) => {
      const { rows } = await sql<Record<string, string | number | null>>`
        select ${keys}, case when ${sql.ref(column)} like ${mayBePlain ? '%' : '%enc:v%'} then ${sql.ref(column)} end as sealed_text
        from ${sql.table(table)} ${rest} order by ${keys} limit ${sql.lit(PAGE_ROWS)}`.execute(db);
      return rows.map((row) => ({ key: key.map((name) => row[name] ?? ''), text: row['sealed_text'] }));
    });
    yield found.flatMap(({ key: at, text }) => (typeof text === 'string' ? [{ key: at, text }] : []));
    const end = found.at(-1);
    if (end === undefined || found.length < PAGE_ROWS) return;
    last = { key: end.key, text: '' };
    // On SQLite a page blocks the thread: other calls run in between.
    await turn();
  }
}
