/**
 * Writes a database with a large configuration in seconds: the schema and the form of the rows are those of
 * src/storage (its migrations, its codecs), only the way in is direct, one transaction of prepared statements. What
 * is in it was checked against the API's rules once and is loaded and compiled by Headgate like any other.
 */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { SECRET_PLACES } from '../src/policy/secret-places.ts';
import { systemClock } from '../src/lib/clock.ts';
import { uuidv7 } from '../src/lib/ids.ts';
import type { Policy } from '../src/policy/registry.ts';
import type { App, Endpoint, Revision, StoredApiKey, Version } from '../src/model/resources.ts';
import { tokenDisplayPrefix, tokenHash } from '../src/model/token.ts';
import { memorySecretBox } from '../src/storage/secrets/secret-key.ts';
import { createCodecs } from '../src/storage/sql/rows.ts';
import { openSqlite } from '../src/storage/sqlite/sqlite.ts';
import { newFolder } from './processes.ts';
import {
  ENDPOINTS_PER_VERSION,
  SCOPE,
  benchToken,
  fillerApp,
  fillerPrefix,
  fillerResource,
} from './service.ts';

export interface Filler {
  readonly endpoints: number;
  /** Default: ENDPOINTS_PER_VERSION. */
  readonly endpointsPerVersion?: number;
  /** API keys of the first app. */
  readonly keys?: number;
  /** Policy of every app. */
  readonly policy?: Policy;
}

const AT = '2026-01-01T00:00:00.000Z';
const base = () => ({ id: uuidv7(systemClock.nowMs()), created_at: AT, updated_at: AT });

/** All records, parents before children. */
export interface FillerRecords {
  readonly apps: readonly App[];
  readonly versions: readonly Version[];
  readonly revisions: readonly Revision[];
  readonly endpoints: readonly Endpoint[];
}

export function fillerRecords(filler: Filler, originPort: number): FillerRecords {
  const { endpoints, endpointsPerVersion: perVersion = ENDPOINTS_PER_VERSION, policy } = filler;
  const records = {
    apps: [] as App[],
    versions: [] as Version[],
    revisions: [] as Revision[],
    endpoints: [] as Endpoint[],
  };
  for (let number = 0; number < Math.ceil(endpoints / perVersion); number++) {
    const appNumber = fillerApp(number);
    const app = (records.apps[appNumber] ??= appRecord(appNumber, policy));
    const version = versionRecord(app, number);
    const revision = revisionRecord(version, originPort);
    records.versions.push(version);
    records.revisions.push(revision);
    const count = Math.min(perVersion, endpoints - number * perVersion);
    for (let index = 0; index < count; index++) records.endpoints.push(endpointRecord(revision, index));
  }
  return records;
}

/** One after the other: a million of them take a gigabyte. */
export function* fillerKeys({ keys = 0 }: Filler, appId: string): IterableIterator<StoredApiKey> {
  for (let number = 0; number < keys; number++) yield keyRecord(appId, number);
}

/** Databases that were written before, by what is in them. */
const written = new Map<string, string>();

export async function writeDatabase(path: string, filler: Filler, originPort: number): Promise<void> {
  const content = JSON.stringify([filler, originPort]);
  const same = written.get(content);
  if (same !== undefined) return copyFileSync(same, path);
  const master = join(newFolder('database'), 'master.db');
  await fillDatabase(master, filler, originPort);
  written.set(content, master);
  copyFileSync(master, path);
}

async function fillDatabase(path: string, filler: Filler, originPort: number): Promise<void> {
  await (
    await openSqlite({ secretPlaces: SECRET_PLACES, path, autoMigrate: true, clock: systemClock })
  ).close();
  const database = new DatabaseSync(path);
  // The file need not survive a crash, and the indexes of a million keys should stay in memory while they grow.
  database.exec('pragma synchronous = off');
  database.exec('pragma cache_size = -1000000');
  const insert = inserter(database);
  // No record here has a secret, so any key will do.
  const codecs = createCodecs({ box: memorySecretBox(), places: SECRET_PLACES });
  database.exec('begin');
  const records = fillerRecords(filler, originPort);
  for (const record of records.apps) insert('app', codecs.app.toRow(record));
  for (const record of records.versions) insert('version', codecs.version.toRow(record));
  for (const record of records.revisions) insert('revision', codecs.revision.toRow(record));
  for (const record of records.endpoints) insert('endpoint', codecs.endpoint.toRow(record));
  for (const record of fillerKeys(filler, records.apps[0]?.id ?? ''))
    insert('api_key', codecs.key.toRow(record));
  database.exec('commit');
  // All of it into the one file that is copied.
  database.exec('pragma wal_checkpoint(truncate)');
  database.close();
}

/** One prepared statement per table; every row of a table has the same columns. */
function inserter(database: DatabaseSync): (table: string, row: object) => void {
  const statements = new Map<string, ReturnType<DatabaseSync['prepare']>>();
  return (table, row) => {
    let statement = statements.get(table);
    if (statement === undefined) {
      const columns = Object.keys(row);
      const marks = columns.map((column) => `:${column}`).join(', ');
      statement = database.prepare(`insert into ${table} (${columns.join(', ')}) values (${marks})`);
      statements.set(table, statement);
    }
    statement.run(row as Record<string, SQLInputValue>);
  };
}

function appRecord(number: number, policy: Policy | undefined): App {
  return {
    ...base(),
    name: `Filler ${number}`,
    slug: `app${number}`,
    gateway_path: `/app${number}`,
    routing_mode: 'managed_endpoint',
    default_policy: policy ?? null,
    description: null,
    labels: {},
    hosts: [],
    allow_encoded_slashes: false,
  };
}

function versionRecord(app: App, number: number): Version {
  const path = fillerPrefix(number);
  return {
    ...base(),
    app_id: app.id,
    version: path.slice(path.lastIndexOf('/') + 1),
    gateway_path: path,
    gateway_path_is_default: true,
    status: 'active',
    sunset_at: null,
    deprecated_at: null,
    successor: null,
  };
}

function revisionRecord(version: Version, originPort: number): Revision {
  return {
    ...base(),
    version_id: version.id,
    revision: 'r1',
    backend_scheme: 'http',
    backend_protocol: 'http1',
    backend_host: '127.0.0.1',
    backend_port: originPort,
    backend_base_path: '/',
    strip_gateway_path: true,
    preserve_host: false,
    traffic_weight: 100,
    health_check_path: null,
    default_policy: null,
    is_current: true,
    backend_tls: null,
    circuit_breaker: null,
    targets: null,
    discovery: null,
    load_balancing: null,
  };
}

function endpointRecord(revision: Revision, index: number): Endpoint {
  return {
    ...base(),
    revision_id: revision.id,
    method: 'GET',
    path: `/${fillerResource(index)}/{id}`,
    backend_path: null,
    policy_override: null,
    is_active: true,
  };
}

function keyRecord(appId: string, number: number): StoredApiKey {
  const token = benchToken(number);
  return {
    ...base(),
    app_id: appId,
    name: `key ${number}`,
    scopes: [SCOPE],
    token_prefix: tokenDisplayPrefix(token),
    is_active: true,
    expires_at: null,
    last_used_at: null,
    rate_limit: null,
    token_hash: tokenHash(token),
    previous_token_hash: null,
    previous_expires_at: null,
  };
}
