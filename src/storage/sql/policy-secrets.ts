/**
 * The secrets inside policies, sealed when a row is written and opened when it is read, so that no other part of the
 * program sees a sealed value. Plain values are read unchanged. Knows neither policies nor encryption: the places of
 * secrets come from the schemas of the parts (policy/secret-places.ts).
 */
import { sql, type Kysely } from 'kysely';
import type { PolicyValues, SecretPlaces } from '../../model/policy.ts';
import { StorageUnavailable } from '../storage-errors.ts';
import { isSealed, type SecretBox } from '../secrets/secret-box.ts';
import type { Tables } from './kysely-tables.ts';

/** What sealing policies requires: the key of the database, and where policies have secrets. */
export interface Sealing {
  readonly box: SecretBox;
  readonly places: SecretPlaces;
}

/** Every column that holds policies. */
export const POLICY_COLUMNS = [
  ['app', 'default_policy'],
  ['revision', 'default_policy'],
  ['endpoint', 'policy_override'],
] as const satisfies readonly (readonly [keyof Tables, string])[];

/** A copy for the row of the record with this id. */
export function sealPolicy(policy: PolicyValues, { box, places }: Sealing, recordId: string): PolicyValues {
  return mapSecrets(policy, places, (secret) => box.seal(secret, recordId));
}

/**
 * Reverses `sealPolicy`; may return its argument.
 * @throws StorageUnavailable if a secret does not open: the policy must not be used without it
 */
export function openPolicy(policy: PolicyValues, { box, places }: Sealing, recordId: string): PolicyValues {
  return mapSecrets(policy, places, (secret) => {
    if (!isSealed(secret)) return secret;
    const opened = box.open(secret, recordId);
    if ('text' in opened) return opened.text;
    const reason =
      opened.problem === 'other_key'
        ? `it was not encrypted with the key of ${box.keyName}`
        : 'its encrypted value is damaged';
    throw new StorageUnavailable(
      `Cannot read the secret in the policy of ${recordId}: ${reason}; expected a value that the key can decrypt`,
    );
  });
}

/** Sealed values in a database. */
export interface SealedValues {
  readonly total: number;
  /** Whether any value was sealed with another key. */
  readonly otherKey: boolean;
  /** Table and id of the first damaged value. */
  readonly damaged: string | undefined;
}

/** Checks the secrets of all policies; without `box` it only counts them. Scans whole tables. */
export async function inspectSealedValues(
  db: Kysely<Tables>,
  places: SecretPlaces,
  box: SecretBox | undefined,
): Promise<SealedValues> {
  let total = 0;
  let otherKey = false;
  let damaged: string | undefined;
  for (const [table, column] of POLICY_COLUMNS) {
    const rows = await sql<{ id: string; policy: string }>`
      select id, ${sql.ref(column)} as policy from ${sql.table(table)}
      where ${sql.ref(column)} like ${'%":"enc:v%'}`.execute(db);
    for (const { id, policy } of rows.rows) {
      for (const secret of secretsOf(JSON.parse(policy) as PolicyValues, places)) {
        if (!isSealed(secret)) continue;
        total += 1;
        const opened = box?.open(secret, id);
        if (opened === undefined || 'text' in opened) continue;
        if (opened.problem === 'other_key') otherKey = true;
        else damaged ??= `${table} ${id}`;
      }
    }
  }
  return { total, otherKey, damaged };
}

/** The secrets of a policy, in the order of their places. */
export function secretsOf(policy: PolicyValues, places: SecretPlaces): string[] {
  const found: string[] = [];
  mapSecrets(policy, places, (secret) => {
    found.push(secret);
    return secret;
  });
  return found;
}

/** A copy with other secrets; the policy itself if none changes. */
export function mapSecrets(
  policy: PolicyValues,
  places: SecretPlaces,
  change: (secret: string) => string,
): PolicyValues {
  return places.reduce((changed, place) => changedAt(changed, place, change), policy);
}

function changedAt(
  values: PolicyValues,
  [name = '', ...inner]: readonly string[],
  change: (secret: string) => string,
): PolicyValues {
  const value = values[name];
  let changed = value;
  if (inner.length === 0) {
    if (typeof value === 'string') changed = change(value);
  } else if (typeof value === 'object' && value !== null) {
    changed = changedAt(value as PolicyValues, inner, change);
  }
  return changed === value ? values : { ...values, [name]: changed };
}
