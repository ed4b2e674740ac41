/**
 * Records ↔ rows, in one place for every SQL database. Most fields are stored as they are; a codec names those
 * that are not: flags (0 or 1), JSON texts, and policies, which are JSON texts with their secrets sealed. The
 * compiler checks that none is forgotten.
 */
import type {
  App,
  AuditEntry,
  Endpoint,
  Revision,
  StoredAdminToken,
  StoredApiKey,
  Version,
} from '../../model/resources.ts';
import type { Policy } from '../../model/policy.ts';
import type { SecretBox } from '../secret-box.ts';
import { openPolicy, sealPolicy } from './policy-secrets.ts';
import type { RowOf } from './schema.ts';

/** The fields of `T` that cannot lie in a column as they are, with the way in which they do. */
type SpecialFields<T> = {
  [K in keyof T as T[K] extends string | number | null ? never : K]-?: T[K] extends boolean
    ? 'flag'
    : K extends PolicyField
      ? 'policy'
      : 'json';
};

/** The fields that hold a `Policy`, in whatever record. */
type PolicyField = 'default_policy' | 'policy_override';

export interface Codec<T> {
  readonly toRow: (record: T) => RowOf<T>;
  readonly toRecord: (row: RowOf<T>) => T;
}

export interface Codecs {
  readonly app: Codec<App>;
  readonly version: Codec<Version>;
  readonly revision: Codec<Revision>;
  readonly endpoint: Codec<Endpoint>;
  readonly key: Codec<StoredApiKey>;
  readonly adminToken: Codec<StoredAdminToken>;
  readonly audit: Codec<AuditEntry>;
}

/**
 * The codecs of one database.
 * @param secrets seals and opens the secrets of policies; reading one that does not open throws `StorageUnavailable`
 */
export function createCodecs(secrets: SecretBox): Codecs {
  return {
    app: codec<App>(secrets, { default_policy: 'policy', labels: 'json', allow_encoded_slashes: 'flag' }),
    version: codec<Version>(secrets, { gateway_path_is_default: 'flag' }),
    revision: codec<Revision>(secrets, {
      strip_gateway_path: 'flag',
      preserve_host: 'flag',
      default_policy: 'policy',
      is_current: 'flag',
      backend_tls: 'json',
      circuit_breaker: 'json',
    }),
    endpoint: codec<Endpoint>(secrets, { policy_override: 'policy', is_active: 'flag' }),
    key: codec<StoredApiKey>(secrets, { scopes: 'json', is_active: 'flag', rate_limit: 'json' }),
    adminToken: codec<StoredAdminToken>(secrets, {}),
    audit: codec<AuditEntry>(secrets, { change: 'json' }),
  };
}

type Fields = Record<string, unknown>;

function codec<T extends { readonly id: string }>(secrets: SecretBox, special: SpecialFields<T>): Codec<T> {
  const entries = Object.entries(special);
  const named = (kind: string): string[] => entries.filter(([, of]) => of === kind).map(([name]) => name);
  const [flags, policies, jsons] = [named('flag'), named('policy'), [...named('policy'), ...named('json')]];
  return {
    toRow(record) {
      const row: Fields = { ...(record as Fields) };
      for (const name of flags) row[name] = row[name] === true ? 1 : 0;
      for (const name of policies) {
        const policy = row[name] as Policy | null | undefined;
        if (policy) row[name] = sealPolicy(policy, secrets, record.id);
      }
      for (const name of jsons) {
        const value = row[name];
        row[name] = value === null || value === undefined ? null : JSON.stringify(value);
      }
      return row as RowOf<T>;
    },
    toRecord(row) {
      const record: Fields = { ...(row as Fields) };
      for (const name of flags) record[name] = record[name] === 1;
      for (const name of jsons) {
        const value = record[name];
        record[name] = typeof value === 'string' ? (JSON.parse(value) as unknown) : null;
      }
      for (const name of policies) {
        const policy = record[name] as Policy | null;
        if (policy) record[name] = openPolicy(policy, secrets, String(record['id']));
      }
      return record as T;
    },
  };
}
