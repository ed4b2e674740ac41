/**
 * Reads by host: which app or version has a path for the same requests, and which names lie within each other. Names
 * are stored in `app_host` with their labels reversed, so that each read is a look-up or a range of an index, whatever
 * the number of hosts.
 */
import { sql, type Kysely } from 'kysely';
import { isWildcardEntry, nameOfEntry, reversedLabels } from '../../http/fields/host-name.ts';
import type { ConfigReader, HostOverlap } from '../repository.ts';
import type { Tables } from './kysely-tables.ts';
import type { Codecs } from './rows.ts';

/** Maximum number of wildcards of an app within which names are searched, for warnings. */
const WILDCARDS_LOOKED_AT_MAX = 20;
/** Follows the dot in the order of bytes. */
const AFTER_DOT = '/';

export function hostReads(db: Kysely<Tables>, codecs: Codecs) {
  return {
    findAppAt: async (gatewayPath, { appId, hosts }) => {
      const apps = db.selectFrom('app').where('app.gateway_path', '=', gatewayPath);
      const others = apps.where('app.id', '!=', appId).selectAll('app').limit(1);
      const row = await (
        hosts.length === 0
          ? // Written out, so that the partial index fits.
            others.where('app.hosts', '=', sql.lit('[]'))
          : others
              .innerJoin('app_host', 'app_host.app_id', 'app.id')
              .where('app_host.host', 'in', hosts.map(reversedLabels))
      ).executeTakeFirst();
      return row && codecs.app.toRecord(row);
    },
    findVersionAt: async (gatewayPath, { appId, hosts }) => {
      const versions = db.selectFrom('version').where('version.gateway_path', '=', gatewayPath);
      const others = versions.where('version.app_id', '!=', appId).selectAll('version').limit(1);
      const row = await (
        hosts.length === 0
          ? others.where('version.host_scope', '=', '')
          : others
              .innerJoin('app_host', 'app_host.app_id', 'version.host_scope')
              .where('app_host.host', 'in', hosts.map(reversedLabels))
      ).executeTakeFirst();
      return row && codecs.version.toRecord(row);
    },
    findOwnVersionAt: async (gatewayPath, appId) => {
      const row = await db
        .selectFrom('version')
        .selectAll()
        .where('gateway_path', '=', gatewayPath)
        .where('app_id', '=', appId)
        .limit(1)
        .executeTakeFirst();
      return row && codecs.version.toRecord(row);
    },
    findHostOverlap: async (appId, hosts) => {
      const wildcards = hosts.filter(isWildcardEntry).slice(0, WILDCARDS_LOOKED_AT_MAX);
      for (const wildcard of wildcards) {
        const name = reversedLabels(nameOfEntry(wildcard));
        const found = await overlap(db, appId)
          .where('app_host.host', '>', `${name}.*`)
          .where('app_host.host', '<', name + AFTER_DOT)
          .executeTakeFirst();
        if (found !== undefined) return { ...overlapOf(found), isNarrower: true };
      }
      const above = [...new Set(hosts.flatMap(wildcardsOver))].map(reversedLabels);
      if (above.length === 0) return undefined;
      const found = await overlap(db, appId)
        .where('app_host.host', 'in', above.slice(0, PARAMETERS_MAX))
        .executeTakeFirst();
      return found && { ...overlapOf(found), isNarrower: false };
    },
  } satisfies Partial<ConfigReader>;
}

/** SQLite allows 32,766. */
const PARAMETERS_MAX = 10_000;

/** Hosts of other apps with a version at a path of this app. */
function overlap(db: Kysely<Tables>, appId: string) {
  return db
    .selectFrom('app_host')
    .innerJoin('version as theirs', 'theirs.host_scope', 'app_host.app_id')
    .innerJoin('version as ours', 'ours.gateway_path', 'theirs.gateway_path')
    .innerJoin('app', 'app.id', 'app_host.app_id')
    .where('ours.app_id', '=', appId)
    .where('app_host.app_id', '!=', appId)
    .select(['app_host.host', 'app.slug', 'theirs.gateway_path'])
    .limit(1);
}

function overlapOf({ host, slug, gateway_path }: Omit<HostOverlap, 'isNarrower'>) {
  return { host: reversedLabels(host), slug, gateway_path };
}

/** The wildcards that stand for a name, or for everything that a wildcard stands for. */
function wildcardsOver(host: string): string[] {
  const labels = nameOfEntry(host).split('.');
  return labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`);
}
