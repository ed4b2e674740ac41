/**
 * Reads behind the warnings of a write: whether traffic still finds a route afterwards. Each query stops at the first
 * row that decides it or reads a bounded number of rows, since every write of its kind runs it.
 */
import type { Kysely } from 'kysely';
import type { ConfigReader } from '../repository.ts';
import type { Tables } from './kysely-tables.ts';

/** Keys of an app whose scopes are read, newest first. */
const KEYS_LOOKED_AT_MAX = 1_000;

export function stateReads(db: Kysely<Tables>) {
  return {
    hasActiveEndpoint: async (revisionId) => {
      const query = db.selectFrom('endpoint').select('id').where('revision_id', '=', revisionId);
      return (await query.where('is_active', '=', 1).limit(1).executeTakeFirst()) !== undefined;
    },
    findRevisionWithoutEndpoint: (appId) =>
      db
        .selectFrom('version')
        .innerJoin('revision', 'revision.version_id', 'version.id')
        .select(['version.version', 'revision.revision'])
        .where('version.app_id', '=', appId)
        .where('version.status', '!=', 'retired')
        .where('revision.is_current', '=', 1)
        .where((where) =>
          where.not(
            where.exists(
              where
                .selectFrom('endpoint')
                .select('endpoint.id')
                .whereRef('endpoint.revision_id', '=', 'revision.id')
                .where('endpoint.is_active', '=', 1),
            ),
          ),
        )
        .limit(1)
        .executeTakeFirst(),
    currentWeights: async (versionId) => {
      const current = db
        .selectFrom('revision')
        .where('version_id', '=', versionId)
        .where('is_current', '=', 1);
      const row = await current
        .select(({ fn }) => [fn.countAll().as('count'), fn.sum('traffic_weight').as('weight')])
        .executeTakeFirstOrThrow();
      return { count: Number(row.count), weight: Number(row.weight ?? 0) };
    },
    someKeyHasScopes: async (appId, scopes, now) => {
      const rows = await db
        .selectFrom('api_key')
        .select(['scopes', 'is_active', 'expires_at'])
        .where('app_id', '=', appId)
        .orderBy('id', 'desc')
        .limit(KEYS_LOOKED_AT_MAX + 1)
        .execute();
      const isHeld = rows.some((row) => {
        if (row.is_active === 0 || (row.expires_at !== null && row.expires_at <= now)) return false;
        const held = new Set(JSON.parse(row.scopes) as readonly string[]);
        return scopes.every((scope) => held.has(scope));
      });
      return isHeld || rows.length <= KEYS_LOOKED_AT_MAX ? isHeld : undefined;
    },
  } satisfies Partial<ConfigReader>;
}
