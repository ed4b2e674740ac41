/**
 * The secrets inside of policies, sealed on the way into a row and opened on the way out, so that no other part of
 * the program meets a sealed value. A policy has one: `auth.jwt.secret` (inline `jwks` are public keys only). Plain
 * values are read as they are. Knows how a policy is shaped, not how it is encrypted.
 */
import { sql, type Kysely } from 'kysely';
import type { Policy } from '../../model/policy.ts';
import { StorageUnavailable } from '../repository.ts';
import { isSealed, type SecretBox } from '../secrets/secret-box.ts';
import type { Tables } from './schema.ts';

/** Every column that holds policies. */
const POLICY_COLUMNS = [
  ['app', 'default_policy'],
  ['revision', 'default_policy'],
  ['endpoint', 'policy_override'],
] as const satisfies readonly (readonly [keyof Tables, string])[];

/** A copy for the row of the record with that id. */
export function sealPolicy(policy: Policy, box: SecretBox, recordId: string): Policy {
  const secret = secretOf(policy);
  return secret === undefined ? policy : withSecret(policy, box.seal(secret, recordId));
}

/**
 * The policy as it was before `sealPolicy`; may return its argument.
 * @throws StorageUnavailable when the secret does not open: without it the policy must not be used
 */
export function openPolicy(policy: Policy, box: SecretBox, recordId: string): Policy {
  const secret = secretOf(policy);
  if (secret === undefined || !isSealed(secret)) return policy;
  const opened = box.open(secret, recordId);
  if ('text' in opened) return withSecret(policy, opened.text);
  const reason =
    opened.problem === 'other_key'
      ? `it was encrypted with another key than that of ${box.keyName}`
      : 'its encrypted value is damaged';
  throw new StorageUnavailable(
    `Cannot read the secret in the policy of ${recordId}: ${reason}; expected a value that the key opens`,
  );
}

/** What a database holds of sealed values. */
export interface SealedValues {
  readonly total: number;
  /** Whether any was sealed with another key. */
  readonly otherKey: boolean;
  /** Table and id of the first that is damaged. */
  readonly damaged: string | undefined;
}

/** Goes through all policies with a secret; `box` undefined only counts them. Walks through whole tables. */
export async function inspectSealedValues(
  db: Kysely<Tables>,
  box: SecretBox | undefined,
): Promise<SealedValues> {
  let total = 0;
  let otherKey = false;
  let damaged: string | undefined;
  for (const [table, column] of POLICY_COLUMNS) {
    const rows = await sql<{ id: string; policy: string }>`
      select id, ${sql.ref(column)} as policy from ${sql.table(table)}
      where ${sql.ref(column)} like ${'%"secret":"enc:v%'}`.execute(db);
    for (const { id, policy } of rows.rows) {
      const secret = secretOf(JSON.parse(policy) as Policy);
      if (secret === undefined || !isSealed(secret)) continue;
      total += 1;
      const opened = box?.open(secret, id);
      if (opened === undefined || 'text' in opened) continue;
      if (opened.problem === 'other_key') otherKey = true;
      else damaged ??= `${table} ${id}`;
    }
  }
  return { total, otherKey, damaged };
}

function secretOf(policy: Policy): string | undefined {
  return policy.auth?.jwt?.secret;
}

function withSecret(policy: Policy, secret: string): Policy {
  const { auth } = policy;
  return auth === undefined || auth === null
    ? policy
    : { ...policy, auth: { ...auth, jwt: { ...auth.jwt, secret } } };
}
