/**
 * A `ListFilter` as a condition of SQL that SQLite and Postgres read alike. Texts are found with `replace`, which knows
 * no wildcards; `lower` changes only A to Z, because the columns compare by bytes.
 */
import { sql, type RawBuilder, type SqlBool } from 'kysely';
import { HOST_TEXT, lowerAscii, TEXT_FIELDS, type FilteredTable, type ListFilter } from '../list-filter.ts';

/** undefined: every row matches. */
export function filterCondition(
  table: FilteredTable,
  { labels = [], text, status, updatedSince, now = '' }: ListFilter = {},
): RawBuilder<SqlBool> | undefined {
  const conditions: RawBuilder<SqlBool>[] = [];
  const field = (name: string) => sql.ref(`${table}.${name}`);
  if (updatedSince !== undefined) conditions.push(sql`${field('updated_at')} >= ${updatedSince}`);
  if (status !== undefined) conditions.push(statusCondition(table, status, now));
  for (const [name, value] of labels) {
    // No other text within the JSON has this form: quotation marks in values are escaped, and names of labels have
    // none.
    const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
    conditions.push(sql`replace(${field('labels')}, ${member}, '') <> ${field('labels')}`);
  }
  if (text !== undefined) {
    const wanted = lowerAscii(text);
    const fields: readonly string[] = TEXT_FIELDS[table];
    const found = fields
      .filter((name) => name !== 'hosts' || HOST_TEXT.test(wanted))
      .map((name) => sql<SqlBool>`replace(lower(${field(name)}), ${wanted}, '') <> lower(${field(name)})`);
    conditions.push(sql`(${sql.join(found, sql` or `)})`);
  }
  return conditions.length === 0 ? undefined : sql`(${sql.join(conditions, sql` and `)})`;
}

function statusCondition(table: FilteredTable, status: string, now: string): RawBuilder<SqlBool> {
  switch (table) {
    case 'version':
      return sql`${sql.ref('version.status')} = ${status}`;
    case 'revision':
      return sql`${sql.ref('revision.is_current')} = ${Number(status === 'current')}`;
    case 'endpoint':
      return sql`${sql.ref('endpoint.is_active')} = ${Number(status === 'active')}`;
    case 'api_key': {
      const isActive = sql.ref('api_key.is_active');
      const expiresAt = sql.ref('api_key.expires_at');
      if (status === 'revoked') return sql`${isActive} = 0`;
      if (status === 'expired') return sql`(${isActive} = 1 and ${expiresAt} <= ${now})`;
      return sql`(${isActive} = 1 and (${expiresAt} is null or ${expiresAt} > ${now}))`;
    }
    case 'app':
      return sql`${status} = ''`;
  }
}
