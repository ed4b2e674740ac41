/**
 * Checks whether the database and the limit store answer and meet the requirements of this program. Changes
 * nothing in either: the counters with which it tries the store belong to no limit, and expire within seconds.
 */
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/error-message.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import { numberedProbe, PROBE_KEYS } from '../../limits/shared/limit-server.ts';
import { RedisLimitServer } from '../../limits/shared/redis/redis-server.ts';
import {
  isNearlyFull,
  memoryText,
  MORE_MEMORY,
  removesCarelessly,
} from '../../limits/shared/redis/store-memory.ts';
import { isOutOfMemory } from '../../limits/shared/redis/store-refusals.ts';
import { parseRedisUrl, redisAddress } from '../../model/redis-url.ts';
import type { Settings } from '../../settings/settings.ts';
import { DatabaseEmpty, SchemaBehind, StorageRefused } from '../../storage/storage-errors.ts';
import { isServed } from '../../storage/sqlite/gateway-lock.ts';
import { secretKeyFileProblem, wantedKey } from '../../storage/secrets/secret-key.ts';
import { exclusiveHolder } from '../../storage/sqlite/lock-holder.ts';
import { lookAtSqlite, type SqliteLook } from '../../storage/sqlite/look-at-sqlite.ts';
import { sealingOf, type DatabaseLocation } from '../database/database-location.ts';
import { CLOCK_FIX, clockAheadMs, isClockWrong, wrongClockText } from '../database/clock-watch.ts';
import { openDatabase } from '../database/open-database.ts';
import { error, ok, warning, type Finding } from './finding.ts';
import { secretKeyChecks } from './secret-key-checks.ts';
import { counted } from '../../lib/text/counted.ts';

const MIGRATE = 'run headgate migrate, after a backup';
const NEWER = 'run the version of Headgate that made it, or a later one; or restore a backup';

/** @param servingPid pid of the gateway that has this database open */
export async function databaseChecks(
  database: DatabaseLocation,
  settings: Settings,
  clock: Clock,
  servingPid: number | undefined,
): Promise<Finding[]> {
  if (settings.configFile !== undefined) return [ok('database', 'none: the configuration comes from files')];
  if (database.kind === 'postgres') return postgresChecks(database, settings, clock);
  if (database.file === undefined)
    return [
      warning(
        'database',
        'it is in memory, and is lost when the process ends',
        'name a file in GATEWAY_DATABASE_URL',
      ),
    ];
  const { file } = database;
  const keyChecks = (needsKey: boolean): Finding[] => [
    ...keyFileChecks(database, needsKey),
    ...secretKeyChecks(sealingOf(database), undefined),
  ];
  if (servingPid !== undefined)
    return [ok('database', `"${file}" is served by process ${servingPid}`), ...keyChecks(false)];
  if (isServed(file)) {
    const unseen = `"${file}" is served by a gateway whose process cannot be seen from here`;
    return [ok('database', unseen), ...keyChecks(false)];
  }
  const holder = exclusiveHolder(file);
  if (holder !== undefined)
    return [
      error(
        'database',
        `"${file}" is locked by process ${holder}, so a gateway cannot open it`,
        `see what it is (ps -p ${holder}), and wait until it has finished, or end it`,
      ),
      ...keyChecks(false),
    ];
  const look = lookAtSqlite(file);
  const found = sqliteCheck(file, look, settings.database.autoMigrate ?? true);
  return [found, ...keyChecks(look.state === 'readable' && look.needsKey)];
}

/** What a start says of the file of the secret key, which it reads only if the setting has no key. */
function keyFileChecks(database: DatabaseLocation, needsKey: boolean): Finding[] {
  const { file, secretKeys } = database;
  if (file === undefined || secretKeys !== undefined) return [];
  const problem = secretKeyFileProblem(file);
  const back =
    'copy the file secret-key back from where you keep it, readable only for the gateway’s user (chmod 600)';
  if (problem !== undefined)
    return [
      error('secret key', problem, `${back}; for a new database, remove it: the first start makes a key`),
    ];
  if (!needsKey || sealingOf(database).box !== undefined) return [];
  const wanted = `"${file}" contains encrypted secrets, and there is no key for them; expected ${wantedKey(file)}`;
  return [error('secret key', wanted, back)];
}

function sqliteCheck(file: string, look: SqliteLook, autoMigrate: boolean): Finding {
  switch (look.state) {
    case 'missing':
      return ok('database', `"${file}" will be made at the first start`);
    case 'recovering':
      return ok('database', `"${file}" was not closed properly; the next start recovers it`);
    case 'unusable':
      return error(
        'database',
        `"${file}": ${look.reason}`,
        'name another file in GATEWAY_DATABASE_URL, or restore a backup',
      );
    default:
  }
  if (look.unknown.length > 0)
    return error('database', `"${file}" is newer than this program (${look.unknown.join(', ')})`, NEWER);
  if (look.pending.length === 0) return ok('database', `"${file}" has the schema of this program`);
  if (autoMigrate)
    return ok(
      'database',
      `"${file}" is migrated at the next start (${counted(look.pending.length, 'migration')}); make a backup first`,
    );
  return error('database', `"${file}" lacks ${look.pending.join(', ')}`, MIGRATE);
}

async function postgresChecks(
  database: DatabaseLocation,
  settings: Settings,
  clock: Clock,
): Promise<Finding[]> {
  const unchanged = { ...settings, database: { ...settings.database, autoMigrate: false } };
  try {
    const repository = await openDatabase(database, unchanged, clock, true);
    let aheadMs: number | undefined;
    let keys: Finding[];
    try {
      aheadMs = await clockAheadMs(repository, clock);
      // Writes a value that is there already: a user who may only read would be found out by the first change.
      await repository.assertPrivileges();
      await repository.pingWrite();
      keys = secretKeyChecks(sealingOf(database), await repository.secrets.count());
    } finally {
      await repository.close();
    }
    const found = ok('database', 'PostgreSQL answers and has the schema of this program');
    if (aheadMs === undefined || !isClockWrong(aheadMs)) return [found, ...keys];
    return [found, ...keys, warning('clock', wrongClockText('it', aheadMs), CLOCK_FIX)];
  } catch (failure) {
    const detail = messageOf(failure);
    const isBehind = failure instanceof DatabaseEmpty || failure instanceof SchemaBehind;
    if (isBehind && settings.database.autoMigrate === true)
      return [ok('database', 'PostgreSQL answers; the next start makes or updates its tables')];
    const fix = isBehind ? `${MIGRATE}, or set GATEWAY_AUTO_MIGRATE=true` : postgresFix(failure);
    return [error('database', detail, fix)];
  }
}

function postgresFix(failure: unknown): string {
  return failure instanceof StorageRefused
    ? 'correct what the message names: a setting, its file, or the database'
    : 'check host, user, password and pg_hba.conf of the server, whether it is the primary, and GATEWAY_DATABASE_URL';
}

/** Added to the time that an attempt to connect may take. */
const ANSWER_MARGIN_MS = 500;

export async function storeChecks({ limits }: Settings): Promise<Finding[]> {
  const target = limits.redisUrl === undefined ? undefined : parseRedisUrl(limits.redisUrl);
  if (limits.redisUrl === undefined || target === undefined)
    return [ok('store', 'none: each gateway counts limits for itself')];
  const at = redisAddress(target);
  const { redisUrl: url, keyPrefix, connectTimeoutMs } = limits;
  const server = new RedisLimitServer({ url, keyPrefix, connectTimeoutMs });
  try {
    await server.connect(connectTimeoutMs);
    const reason = (await withTimeout(ANSWER_MARGIN_MS, refusalOf(server))) ?? 'it does not answer';
    if (reason === '' || isOutOfMemory(reason)) return [await memoryCheck(server, at)];
    return [
      error(
        'store',
        `${at}: ${reason}`,
        'check GATEWAY_REDIS_URL and the server; until then limits are counted by each gateway for itself',
      ),
    ];
  } finally {
    server.close();
  }
}

/**
 * Why the store cannot count limits: the user may lack the right to run scripts, a replica does not write, and a server
 * of a cluster has only some counters. '' when it can.
 */
async function refusalOf(server: RedisLimitServer): Promise<string> {
  const probes = Array.from({ length: PROBE_KEYS }, (_, number) => numberedProbe(number));
  const reasons = await Promise.all(
    probes.map(
      (probe) =>
        new Promise<string>((done) =>
          server.grant(probe, (reply, reason) => done(reply === undefined ? reason : '')),
        ),
    ),
  );
  return reasons.find((reason) => reason !== '') ?? '';
}

/** Of a store that answers. A user without the right to ask for the memory may still count limits. */
async function memoryCheck(server: RedisLimitServer, at: string): Promise<Finding> {
  const answer = server.memory().catch(() => undefined);
  const memory = await withTimeout(ANSWER_MARGIN_MS, answer);
  if (memory === undefined) return ok('store', `${at} answers`);
  if (isNearlyFull(memory))
    return warning(
      'store',
      `${at} answers; ${memoryText(memory)}. When it is full it refuses all calls`,
      MORE_MEMORY,
    );
  if (removesCarelessly(memory))
    return warning(
      'store',
      `${at} answers, and its maxmemory-policy is ${memory.policy}: when it is full, it removes counters that are in use`,
      'set maxmemory-policy to volatile-lru',
    );
  return ok('store', `${at} answers; ${memoryText(memory)}`);
}
