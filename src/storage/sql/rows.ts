/**
 * Records ↔ rows, in one place for every SQL database. Most fields are stored as they are; a codec names those
 * that are not: flags (0 or 1) and JSON texts. The compiler checks that none is forgotten.
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
import type { RowOf } from './schema.ts';

/** The fields of `T` that cannot lie in a column as they are, with the way in which they do. */
type SpecialFields<T> = {
  [K in keyof T as T[K] extends string | number | null ? never : K]-?: T[K] extends boolean ? 'flag' : 'json';
};

export interface Codec<T> {
  readonly toRow: (record: T) => RowOf<T>;
  readonly toRecord: (row: RowOf<T>) => T;
}

type Fields = Record<string, unknown>;

function codec<T>(special: SpecialFields<T>): Codec<T> {
  const entries = Object.entries(special);
  const flags = entries.filter(([, kind]) => kind === 'flag').map(([name]) => name);
  const jsons = entries.filter(([, kind]) => kind === 'json').map(([name]) => name);
  return {
    toRow(record) {
      const row: Fields = { ...(record as Fields) };
      for (const name of flags) row[name] = row[name] === true ? 1 : 0;
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
      return record as T;
    },
  };
}

export const appCodec = codec<App>({
  default_policy: 'json',
  labels: 'json',
  allow_encoded_slashes: 'flag',
});
export const versionCodec = codec<Version>({ gateway_path_is_default: 'flag' });
export const revisionCodec = codec<Revision>({
  strip_gateway_path: 'flag',
  preserve_host: 'flag',
  default_policy: 'json',
  is_current: 'flag',
  backend_tls: 'json',
  circuit_breaker: 'json',
});
export const endpointCodec = codec<Endpoint>({ policy_override: 'json', is_active: 'flag' });
export const keyCodec = codec<StoredApiKey>({ scopes: 'json', is_active: 'flag', rate_limit: 'json' });
export const adminTokenCodec = codec<StoredAdminToken>({});
export const auditCodec = codec<AuditEntry>({ change: 'json' });
