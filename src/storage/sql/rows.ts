/**
 * Records ↔ rows, in one place for every SQL database. Most fields are stored unchanged; the others are flags (0 or
 * 1), JSON texts, and policies, which are JSON texts with sealed secrets. A codec names every field, and the
 * compiler checks that none is forgotten. A column without a name here belongs to a later version of the program
 * that shares the database during an upgrade: it is neither shown nor written.
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
import type { PolicyValues } from '../../model/policy.ts';
import { openPolicy, sealPolicy, type Sealing } from './policy-secrets.ts';
import type { SecretBox } from '../secrets/secret-box.ts';
import type { RowOf } from './kysely-tables.ts';

/** How each field of `T` is stored in its column. */
type FieldKinds<T> = {
  readonly [K in keyof T]-?: T[K] extends string | number | null
    ? 'plain'
    : T[K] extends boolean
      ? 'flag'
      : K extends PolicyField
        ? 'policy'
        : K extends ListField
          ? 'list'
          : 'json';
};

/** The fields that hold a `Policy`, in whatever record. */
type PolicyField = 'default_policy' | 'policy_override';

/** A list that earlier rows lack, as in the history; it is empty then. */
type ListField = 'hosts';

interface Codec<T> {
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
  /** For other secrets than those of policies. */
  readonly box: SecretBox;
}

/**
 * The codecs of one database.
 * @param secrets seal and open the secrets of policies; reading one that does not open throws `StorageUnavailable`
 */
export function createCodecs(secrets: Sealing): Codecs {
  return {
    app: codec(secrets, APP),
    version: codec(secrets, VERSION),
    revision: codec(secrets, REVISION),
    endpoint: codec(secrets, ENDPOINT),
    key: codec(secrets, KEY),
    adminToken: codec(secrets, ADMIN_TOKEN),
    audit: codec(secrets, AUDIT_ENTRY),
    box: secrets.box,
  };
}

const TIMES = { created_at: 'plain', updated_at: 'plain' } as const;

const APP: FieldKinds<App> = {
  id: 'plain',
  name: 'plain',
  slug: 'plain',
  gateway_path: 'plain',
  hosts: 'list',
  routing_mode: 'plain',
  default_policy: 'policy',
  description: 'plain',
  labels: 'json',
  allow_encoded_slashes: 'flag',
  ...TIMES,
};

const VERSION: FieldKinds<Version> = {
  id: 'plain',
  app_id: 'plain',
  version: 'plain',
  gateway_path: 'plain',
  gateway_path_is_default: 'flag',
  status: 'plain',
  sunset_at: 'plain',
  deprecated_at: 'plain',
  successor: 'plain',
  ...TIMES,
};

const REVISION: FieldKinds<Revision> = {
  id: 'plain',
  version_id: 'plain',
  revision: 'plain',
  backend_scheme: 'plain',
  backend_protocol: 'plain',
  backend_host: 'plain',
  backend_port: 'plain',
  backend_base_path: 'plain',
  strip_gateway_path: 'flag',
  preserve_host: 'flag',
  traffic_weight: 'plain',
  health_check_path: 'plain',
  default_policy: 'policy',
  is_current: 'flag',
  backend_tls: 'json',
  circuit_breaker: 'json',
  targets: 'json',
  discovery: 'json',
  load_balancing: 'json',
  ...TIMES,
};

const ENDPOINT: FieldKinds<Endpoint> = {
  id: 'plain',
  revision_id: 'plain',
  method: 'plain',
  path: 'plain',
  backend_path: 'plain',
  policy_override: 'policy',
  is_active: 'flag',
  ...TIMES,
};

const KEY: FieldKinds<StoredApiKey> = {
  id: 'plain',
  app_id: 'plain',
  name: 'plain',
  scopes: 'json',
  token_prefix: 'plain',
  is_active: 'flag',
  expires_at: 'plain',
  last_used_at: 'plain',
  rate_limit: 'json',
  token_hash: 'plain',
  previous_token_hash: 'plain',
  previous_expires_at: 'plain',
  ...TIMES,
};

const ADMIN_TOKEN: FieldKinds<StoredAdminToken> = {
  id: 'plain',
  name: 'plain',
  role: 'plain',
  token_prefix: 'plain',
  expires_at: 'plain',
  last_used_at: 'plain',
  token_hash: 'plain',
  ...TIMES,
};

const AUDIT_ENTRY: FieldKinds<AuditEntry> = {
  id: 'plain',
  at: 'plain',
  actor: 'plain',
  action: 'plain',
  resource_type: 'plain',
  resource_id: 'plain',
  resource_name: 'plain',
  parents: 'json',
  address: 'plain',
  request_id: 'plain',
  config_version: 'plain',
  change: 'json',
};

type Fields = Record<string, unknown>;

function codec<T extends { readonly id: string }>(secrets: Sealing, kinds: FieldKinds<T>): Codec<T> {
  const entries = Object.entries<string>(kinds);
  const names = entries.map(([name]) => name);
  const named = (kind: string): string[] => entries.filter(([, of]) => of === kind).map(([name]) => name);
  const [flags, policies, lists] = [named('flag'), named('policy'), named('list')];
  const jsons = [...policies, ...lists, ...named('json')];
  return {
    toRow(record) {
      const row = ofThese(names, record);
      for (const name of flags) row[name] = row[name] === true ? 1 : 0;
      for (const name of policies) {
        const policy = row[name] as PolicyValues | null | undefined;
        if (policy) row[name] = sealPolicy(policy, secrets, record.id);
      }
      for (const name of jsons) {
        const value = row[name];
        row[name] = value === null || value === undefined ? null : JSON.stringify(value);
      }
      return row as RowOf<T>;
    },
    toRecord(row) {
      const record = ofThese(names, row);
      for (const name of flags) record[name] = record[name] === 1;
      for (const name of jsons) {
        const value = record[name];
        record[name] = typeof value === 'string' ? (JSON.parse(value) as unknown) : null;
      }
      for (const name of lists) record[name] ??= [];
      for (const name of policies) {
        const policy = record[name] as PolicyValues | null;
        if (policy) record[name] = openPolicy(policy, secrets, String(record['id']));
      }
      return record as T;
    },
  };
}

/** A copy with only these fields. Usually there are no others, and a million rows are copied faster as a whole. */
function ofThese(names: readonly string[], fields: Fields): Fields {
  if (Object.keys(fields).length === names.length) return { ...fields };
  return Object.fromEntries(names.map((name) => [name, fields[name]]));
}
