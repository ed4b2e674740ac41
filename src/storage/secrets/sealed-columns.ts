/**
 * Every column of the database that has sealed values, and how to find and replace them in its text. The places that
 * the values are sealed for are those of the code that writes the columns.
 */
import type { PolicyValues, SecretPlaces } from '../../model/policy.ts';
import type { SealedPlace } from '../secret-store.ts';
import { certificatePlace } from '../sql/acme/acme-rows.ts';
import { mapUrl } from '../sql/events/sealed-url.ts';
import { webhookPlace } from '../sql/events/webhook-rows.ts';
import type { Tables } from '../sql/kysely-tables.ts';
import { mapSecrets, POLICY_COLUMNS } from '../sql/policy-secrets.ts';
import { isSealed } from './secret-box.ts';

/** The columns of policies; a record has one of them. */
const POLICY_NAMES = new Set(POLICY_COLUMNS.map(([, column]) => column));

/** @param sealed in a column that may be plain, also a plain value @returns the value to store in place of this one */
export type ChangeSealed = (sealed: string, place: string) => string;

export interface SealedColumn {
  readonly belongsTo: SealedPlace;
  readonly table: keyof Tables;
  /** The primary key. */
  readonly key: readonly string[];
  readonly column: string;
  /** An older version stored it as it is. */
  readonly mayBePlain?: boolean;
  /** @param key values of the primary key */
  map(text: string, key: readonly string[], places: SecretPlaces, change: ChangeSealed): string;
}

export const SEALED_COLUMNS: readonly SealedColumn[] = [
  ...POLICY_COLUMNS.map(([table, column]) => policies(table, column)),
  history('before'),
  history('after'),
  whole('webhooks', 'webhook', 'id', 'secret', webhookPlace),
  whole('webhooks', 'webhook', 'id', 'previous_secret', webhookPlace),
  {
    belongsTo: 'webhooks',
    table: 'webhook',
    key: ['id'],
    column: 'url',
    mayBePlain: true,
    map: (text, [id = ''], _places, change) => mapUrl(text, id, change),
  },
  whole('certificates', 'acme_account', 'directory', 'private_key', (directory) => directory),
  whole('certificates', 'acme_certificate', 'name', 'private_key', certificatePlace),
  whole('certificates', 'acme_certificate', 'name', 'order_key', certificatePlace),
];

function policies(table: keyof Tables, column: string): SealedColumn {
  return {
    belongsTo: 'policies',
    table,
    key: ['id'],
    column,
    map: (text, [id = ''], places, change) => inPolicy(text, id, places, change),
  };
}

function history(column: 'before' | 'after'): SealedColumn {
  return {
    belongsTo: 'history',
    table: 'config_history_record',
    key: ['config_version', 'position'],
    column,
    map: (text, _key, places, change) => inRow(text, places, change),
  };
}

/** A column whose whole text is one sealed value. */
function whole(
  belongsTo: SealedPlace,
  table: keyof Tables,
  key: string,
  column: string,
  placeOf: (key: string) => string,
): SealedColumn {
  return {
    belongsTo,
    table,
    key: [key],
    column,
    map: (text, [name = ''], _places, change) => change(text, placeOf(name)),
  };
}

function inPolicy(text: string, recordId: string, places: SecretPlaces, change: ChangeSealed): string {
  const policy = JSON.parse(text) as PolicyValues;
  const changed = mapSecrets(policy, places, (secret) =>
    isSealed(secret) ? change(secret, recordId) : secret,
  );
  return changed === policy ? text : JSON.stringify(changed);
}

/** The row of a record as JSON, in which a policy is JSON again. */
function inRow(text: string, places: SecretPlaces, change: ChangeSealed): string {
  const row = JSON.parse(text) as Record<string, unknown>;
  let isChanged = false;
  for (const column of POLICY_NAMES) {
    const policy = row[column];
    if (typeof policy !== 'string') continue;
    row[column] = inPolicy(policy, String(row['id']), places, change);
    isChanged ||= row[column] !== policy;
  }
  return isChanged ? JSON.stringify(row) : text;
}
