/**
 * The log of what each config version touched, over any SQL database. Written in the transaction of the write; gateways
 * that missed some versions read it to load only the difference. Bounded: a gateway that is further behind, or has
 * another history, loads everything.
 */
import type { Kysely } from 'kysely';
import { randomHex } from '../../lib/ids.ts';
import type { ConfigPosition, ChangeSet } from '../../model/config.ts';
import type { Tables } from './kysely-tables.ts';

/** Config versions whose changes are kept: some megabytes. */
export const CHANGES_KEPT = 10_000;
/** Larger changes are not recorded: loading everything then costs little more. */
const TOUCHED_IDS_MAX = 5_000;
const CHANGE_ID_BYTES = 8;

/** The current state of the database. */
export async function readPosition(db: Kysely<Tables>): Promise<ConfigPosition> {
  const row = await db
    .selectFrom('config_state')
    .leftJoin('config_change', 'config_change.config_version', 'config_state.config_version')
    .select(['config_state.config_version', 'config_change.change_id'])
    .where('config_state.id', '=', 1)
    .executeTakeFirst();
  return { configVersion: row?.config_version ?? 0, changeId: row?.change_id ?? undefined };
}

/**
 * Records what the version touched and deletes old entries.
 * @returns the change's id
 */
export async function logChange(
  db: Kysely<Tables>,
  configVersion: number,
  touched: ChangeSet,
): Promise<string> {
  const { appIds, versionIds, endpoints, keyIds } = touched;
  const changeId = randomHex(CHANGE_ID_BYTES);
  const isMuch = appIds.length + versionIds.length + keyIds.length > TOUCHED_IDS_MAX;
  const text = isMuch ? null : JSON.stringify({ appIds, versionIds, endpoints, keyIds });
  await db
    .insertInto('config_change')
    .values({ config_version: configVersion, change_id: changeId, touched: text })
    .execute();
  await db
    .deleteFrom('config_change')
    .where('config_version', '<=', configVersion - CHANGES_KEPT)
    .execute();
  return changeId;
}

/**
 * Everything that was touched after `known`, up to `configVersion`.
 * @returns undefined if the log does not cover it, or `known` belongs to another history
 */
export async function touchedSince(
  db: Kysely<Tables>,
  known: ConfigPosition,
  configVersion: number,
): Promise<ChangeSet | undefined> {
  const missed = configVersion - known.configVersion;
  if (missed < 0 || missed > CHANGES_KEPT) return undefined;
  const rows = await db
    .selectFrom('config_change')
    .selectAll()
    .where('config_version', '>=', known.configVersion)
    .where('config_version', '<=', configVersion)
    .orderBy('config_version')
    .execute();
  const first = rows[0]?.config_version === known.configVersion ? rows.shift() : undefined;
  if (first?.change_id !== known.changeId || rows.length !== missed) return undefined;
  // A single missed change is the usual case, and the only one where changed endpoints can be applied without their
  // version.
  if (rows.length === 1) return parse(rows[0]?.touched ?? null);
  const ids = { appIds: new Set<string>(), versionIds: new Set<string>(), keyIds: new Set<string>() };
  for (const { touched } of rows) {
    const one = parse(touched);
    if (one === undefined) return undefined;
    const { appIds, versionIds, keyIds } = one;
    for (const id of appIds) ids.appIds.add(id);
    for (const id of versionIds) ids.versionIds.add(id);
    for (const id of keyIds) ids.keyIds.add(id);
    if (ids.appIds.size + ids.versionIds.size + ids.keyIds.size > TOUCHED_IDS_MAX) return undefined;
  }
  return { appIds: [...ids.appIds], versionIds: [...ids.versionIds], keyIds: [...ids.keyIds] };
}

const parse = (touched: string | null): ChangeSet | undefined =>
  touched === null ? undefined : (JSON.parse(touched) as ChangeSet);
