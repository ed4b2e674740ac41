/** The unbroken run of config versions up to the present one, which is what the history consists of. */
import type { Kysely } from 'kysely';
import { readPosition } from '../change-log.ts';
import type { Tables } from '../kysely-tables.ts';

export interface KeptRun {
  /** The present config version. */
  readonly head: number;
  /** The oldest version that can be rebuilt; records of earlier versions must be deleted. */
  readonly from: number;
}

export async function keptRun(db: Kysely<Tables>): Promise<KeptRun> {
  const { configVersion: head } = await readPosition(db);
  const last = await db
    .selectFrom('config_history')
    .select('from_version')
    .where('config_version', '=', head)
    .executeTakeFirst();
  // The last write came from a gateway that keeps no history, or nothing was written since the history exists.
  if (last === undefined) return { head, from: head };
  return { head, from: Math.max(last.from_version, ((await firstEntry(db)) ?? head) - 1) };
}

/** The oldest version with an entry. */
export async function firstEntry(db: Kysely<Tables>): Promise<number | undefined> {
  const first = await db
    .selectFrom('config_history')
    .select('config_version')
    .where('config_version', '>', 0)
    .orderBy('config_version')
    .limit(1)
    .executeTakeFirst();
  return first?.config_version;
}
