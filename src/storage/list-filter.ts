/**
 * The filter of a list, and its meaning for lists in memory; storage/sql implements the same in a database. Texts
 * are compared without regard to the case of the letters A to Z, and have no wildcards.
 */
import type { App, Endpoint, Revision, StoredApiKey, Version } from '../model/resources.ts';

/** Selects records that match all given values. */
export interface ListFilter {
  /** Names and values of labels; only for apps. */
  readonly labels?: readonly (readonly [name: string, value: string])[];
  /** Part of a name, label, path or description. Not empty. */
  readonly text?: string;
  /** See `STATUSES`. */
  readonly status?: string;
  /** RFC 3339, UTC, as `updated_at`; inclusive. */
  readonly updatedSince?: string;
  /** RFC 3339, UTC: keys that expire at or before this time have expired. */
  readonly now?: string;
}

/** The lists that can be filtered, by table. */
export interface FilteredRecords {
  readonly app: App;
  readonly version: Version;
  readonly revision: Revision;
  readonly endpoint: Endpoint;
  readonly api_key: StoredApiKey;
}
export type FilteredTable = keyof FilteredRecords;

/** Fields in which a text is searched. */
export const TEXT_FIELDS = {
  app: ['name', 'slug', 'gateway_path', 'hosts', 'description'],
  version: ['version', 'gateway_path'],
  revision: ['revision', 'backend_host', 'backend_base_path'],
  endpoint: ['path', 'backend_path'],
  api_key: ['name', 'token_prefix'],
} as const satisfies { readonly [T in FilteredTable]: readonly (keyof FilteredRecords[T])[] };

/** The values of a status; none where records have no status. Each record has exactly one. */
export const STATUSES: Readonly<Record<FilteredTable, readonly string[]>> = {
  app: [],
  version: ['active', 'deprecated', 'retired'],
  revision: ['current', 'not_current'],
  endpoint: ['active', 'inactive'],
  api_key: ['active', 'revoked', 'expired'],
};

/** Text that a host can contain. Other text is never found in the list of hosts, which a database stores as JSON. */
export const HOST_TEXT = /^[a-z0-9_.*-]+$/;

export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

export function matchesFilter<T extends FilteredTable>(
  table: T,
  record: FilteredRecords[T],
  { labels = [], text, status, updatedSince, now = '' }: ListFilter,
): boolean {
  if (updatedSince !== undefined && record.updated_at < updatedSince) return false;
  if (status !== undefined && statusOf(table, record, now) !== status) return false;
  const own = 'labels' in record ? record.labels : {};
  if (!labels.every(([name, value]) => Object.hasOwn(own, name) && own[name] === value)) return false;
  if (text === undefined) return true;
  const wanted = lowerAscii(text);
  return TEXT_FIELDS[table].some((field) => {
    const value = (record as unknown as Readonly<Record<string, unknown>>)[field];
    const texts = Array.isArray(value) ? (value as readonly string[]) : [value];
    return texts.some((each) => typeof each === 'string' && lowerAscii(each).includes(wanted));
  });
}

function statusOf(table: FilteredTable, record: FilteredRecords[FilteredTable], now: string): string {
  switch (table) {
    case 'version':
      return (record as Version).status;
    case 'revision':
      return (record as Revision).is_current ? 'current' : 'not_current';
    case 'endpoint':
      return (record as Endpoint).is_active ? 'active' : 'inactive';
    case 'api_key': {
      const { is_active: isActive, expires_at: expiresAt } = record as StoredApiKey;
      if (!isActive) return 'revoked';
      return expiresAt !== null && expiresAt <= now ? 'expired' : 'active';
    }
    case 'app':
      return '';
  }
}
