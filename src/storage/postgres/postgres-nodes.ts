/**
 * Statements for the table of gateways that share a database and for their notifications. Times come from the database,
 * since the clocks of the gateways may differ. Each schema has its own channel.
 */
import { sql, type Kysely } from 'kysely';
import { timestamp } from '../../lib/clock.ts';
import type { NodeDescription, NodeRecord } from '../repository.ts';
import type { SealingKey } from '../secrets/stored-secrets.ts';
import type { Tables } from '../sql/kysely-tables.ts';

const CHANNEL = `'headgate_' || substr(md5(current_schema()), 1, 16)`;
const NOW_MS = `(extract(epoch from clock_timestamp()) * 1000)::bigint`;
/**
 * A heartbeat that is as far ahead was stored before the clock of the database was set back, or by a server whose
 * clock was ahead: a gateway that has ended since would count as live until then. Others have sent another one.
 */
const IS_LIVE = `abs(${NOW_MS} - last_seen_ms) < timeout_ms`;

/** Between the ids of keys in a row; no id has one. */
const KEY_SEPARATOR = ' ';

/** A payload on the channel. */
export type Notice =
  | { readonly kind: 'changed' }
  | { readonly kind: 'applied'; readonly nodeId: string; readonly configVersion: number }
  | { readonly kind: 'message'; readonly text: string };

/** undefined for payloads of other programs. */
export function parseNotice(payload: string): Notice | undefined {
  const [kind, nodeId = '', version = ''] = payload.split(' ');
  if (kind === 'changed') return { kind };
  if (kind === 'message') return { kind, text: payload.slice('message '.length) };
  return kind === 'applied' && /^\d{1,15}$/.test(version)
    ? { kind, nodeId, configVersion: Number(version) }
    : undefined;
}

/** Call it inside a write: the others are notified when it commits. */
export async function announceChange(db: Kysely<Tables>, configVersion: number): Promise<void> {
  await sql`select pg_notify(${sql.raw(CHANNEL)}, ${`changed ${configVersion}`})`.execute(db);
}

/** Live gateways, ordered by start time. */
export async function readLiveNodes(db: Kysely<Tables>): Promise<NodeRecord[]> {
  const rows = await db
    .selectFrom('node')
    .selectAll()
    .where(sql<boolean>`${sql.raw(IS_LIVE)}`)
    .orderBy('started_at')
    .orderBy('id')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    programVersion: row.program_version,
    startedAt: row.started_at,
    lastSeenAt: timestamp(row.last_seen_ms),
    configVersion: row.config_version,
  }));
}

/** The names of the channels to LISTEN on: of all gateways, and of this one. @param nodeId a UUID */
export function channelsQuery(nodeId: string): { readonly text: string; readonly values: unknown[] } {
  return { text: `select ${CHANNEL} as common, ${CHANNEL} || $1 as own`, values: [ownSuffix(nodeId)] };
}

/** Channel names have at most 63 bytes. */
function ownSuffix(nodeId: string): string {
  return `_${nodeId.replaceAll('-', '')}`;
}

/** Sends a message to gateways when the transaction commits. The commit does not wait for the disk. */
export async function sendMessages(
  db: Kysely<Tables>,
  nodeId: string | undefined,
  texts: readonly string[],
): Promise<void> {
  const suffix = nodeId === undefined ? '' : ownSuffix(nodeId);
  await sql`
    with quiet as (select set_config('synchronous_commit', 'off', true) as value)
    select pg_notify(${sql.raw(CHANNEL)} || ${suffix}::text, 'message ' || message)
    from unnest(${[...texts]}::text[]) as message where (select value from quiet) is not null`.execute(db);
}

export interface Beat {
  readonly config_version: number;
  readonly change_id: string | null;
  readonly live: number;
  /** Number of gateways that started before this one. */
  readonly before: number;
}

/**
 * One round trip that records a heartbeat, removes dead gateways, and reads the state of the database. A crash
 * of the server may lose it without harm, so its commit does not wait for the disk.
 */
const beat = (first: string): string => `
  with quiet as (select set_config('synchronous_commit', 'off', true) as value),
  dead as (
    delete from node where id <> $1 and not ${IS_LIVE}
      and (select value from quiet) is not null
  ),
  beat as (
    insert into node
      (id, name, program_version, secret_key_id, started_at, timeout_ms, config_version, last_seen_ms)
    values ($1, $2, $3, $4, $5, $6, $7, ${NOW_MS})
    on conflict (id) do update
      set config_version = excluded.config_version, last_seen_ms = excluded.last_seen_ms
  )
  select ${first} config_version, change_id, 1 + others.live as live, others.before
  from config_state left join config_change using (config_version), (
    select count(*) as live, count(*) filter (where (started_at, id) < ($5, $1)) as before
    from node where id <> $1 and ${IS_LIVE}
  ) as others`;

const BEAT = beat('');
/** The same, and announces the version that the node serves. */
const BEAT_AND_TELL = beat(`pg_notify(${CHANNEL}, $8),`);

/** @param tell whether to announce the version to the others */
export function beatQuery(
  node: NodeDescription,
  secretKeyIds: readonly string[],
  configVersion: number,
  tell: boolean,
): { readonly text: string; readonly values: unknown[] } {
  const keys = secretKeyIds.length === 0 ? null : secretKeyIds.join(KEY_SEPARATOR);
  const values: unknown[] = [node.id, node.name, node.programVersion, keys];
  values.push(node.startedAt, node.timeoutMs, configVersion);
  if (!tell) return { text: BEAT, values };
  return { text: BEAT_AND_TELL, values: [...values, `applied ${node.id} ${configVersion}`] };
}

/** The keys of a gateway, as in its row. */
export interface NodeKeys {
  readonly name: string;
  readonly secret_key_id: string | null;
}

/** The keys of the other live gateways. */
export function otherKeysQuery(nodeId: string): { readonly text: string; readonly values: unknown[] } {
  const text = `
    select name, secret_key_id from node where id <> $1 and ${IS_LIVE} order by started_at, id`;
  return { text, values: [nodeId] };
}

export function keyIdsOf({ secret_key_id: ids }: Pick<NodeKeys, 'secret_key_id'>): readonly string[] {
  return ids === null ? [] : ids.split(KEY_SEPARATOR);
}

/** Whether two gateways can decrypt what the other one encrypts. Without keys they encrypt nothing. */
export function keysFit(some: readonly string[], others: readonly string[]): boolean {
  const [[first], [second]] = [some, others];
  if (first === undefined || second === undefined) return first === second;
  return others.includes(first) && some.includes(second);
}

/** What each live gateway encrypts with. */
export async function readSealingKeys(db: Kysely<Tables>): Promise<readonly SealingKey[]> {
  const rows = await db
    .selectFrom('node')
    .select(['name', 'secret_key_id'])
    .where(sql<boolean>`${sql.raw(IS_LIVE)}`)
    .orderBy('started_at')
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ name: row.name, keyId: keyIdsOf(row)[0] }));
}

export function leaveQuery(nodeId: string): { readonly text: string; readonly values: unknown[] } {
  return { text: 'delete from node where id = $1', values: [nodeId] };
}
