/**
 * Parses GATEWAY_DATABASE_URL (contract part 1): the common forms of SQLite URLs, and Postgres connection URIs. Does
 * not open the database or check whether it exists.
 */

export type DatabaseUrl =
  | { readonly kind: 'sqlite'; /** A file path, or `:memory:`. */ readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly error: string };

const EXPECTED =
  'expected sqlite://path (three slashes: an absolute path), sqlite:path, file:path, sqlite://:memory: or postgres://user@host/database';

/**
 * `sqlite://data/x.db` and `sqlite:data/x.db` are relative to the working folder; `sqlite:///var/x.db` and
 * `sqlite:/var/x.db` are absolute. `file:` works in the same way. A query (`?mode=rwc`) is ignored, and percent-escapes
 * are decoded. Errors never repeat the value, which may contain a password.
 */
export function parseDatabaseUrl(text: string): DatabaseUrl {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  switch (scheme) {
    case undefined:
      return { error: `it has no scheme; ${EXPECTED}` };
    case 'postgres':
    case 'postgresql':
      return parsePostgres(text);
    case 'sqlite':
    case 'file':
      return parseSqlite(text.slice(scheme.length + 1));
    default:
      return { error: `the scheme "${scheme}" is not supported; ${EXPECTED}` };
  }
}

/**
 * For people: a URL without user, password and parameters, or the path of the file; null for a database in memory, and
 * when the text is not a URL.
 */
export function databaseAddress(text: string): string | null {
  const url = parseDatabaseUrl(text);
  if ('error' in url || (url.kind === 'sqlite' && url.path === ':memory:')) return null;
  if (url.kind === 'sqlite') return url.path;
  // A password that is not percent-encoded may itself have `@`, `/` or `?`: everything up to the last `@` goes.
  return url.url.replace(/\/\/.*@/s, '//').replace(/[?#].*$/s, '');
}

function parseSqlite(rest: string): DatabaseUrl {
  const withoutQuery = rest.replace(/[?#].*$/s, '');
  const encoded = withoutQuery.startsWith('//') ? withoutQuery.slice(2) : withoutQuery;
  let path: string;
  try {
    path = decodeURIComponent(encoded);
  } catch {
    return { error: `the path has an invalid percent-escape; ${EXPECTED}` };
  }
  if (path === '') return { error: `the path is empty; ${EXPECTED}` };
  if (path.includes('\0')) return { error: `the path has a NUL character; ${EXPECTED}` };
  if (path.endsWith('/')) return { error: `the path is a folder; ${EXPECTED}` };
  return { kind: 'sqlite', path };
}

function parsePostgres(text: string): DatabaseUrl {
  // `URL` rejects a URI without a host (a local socket), which libpq accepts.
  const authority = /^[a-z]+:\/\//i.test(text);
  return authority
    ? { kind: 'postgres', url: text }
    : { error: `"//" is missing after the scheme; ${EXPECTED}` };
}
