/**
 * Migrated schemas of one PostgreSQL database for tests that each want a new one. Migrating takes most of the time of a
 * short test, so a schema whose test has ended is made as it was after its migrations, for the next test.
 */
import pg from 'pg';
import type { PostgresServer } from './postgres.ts';

export interface EmptiedSchemas {
  /** The URL of a schema that is as new. */
  take(): Promise<string>;
  /** All that were taken are used no more, and no connection to them is open. */
  giveBack(): Promise<void>;
}

/** @param migrate makes the tables of a new schema */
export async function emptiedSchemas(
  server: PostgresServer,
  database: string,
  migrate: (url: string) => Promise<void>,
): Promise<EmptiedSchemas> {
  const made = async (): Promise<string> => {
    const url = await server.createSchema(database);
    await migrate(url);
    return url;
  };
  const first = await made();
  const emptying = await emptyingText(server, first);
  // One connection for all, which has read the catalogue and planned for a schema before. It ends with the server.
  const client = new pg.Client({ connectionString: database });
  client.on('error', () => undefined);
  await client.connect();
  const schemaOf = (url: string): string => /search_path%3D(\w+)/.exec(url)?.[1] ?? '';
  const free = [first];
  const taken: string[] = [];
  return {
    take: async () => {
      const url = free.pop() ?? (await made());
      taken.push(url);
      return url;
    },
    giveBack: async () => {
      const all = taken.splice(0);
      for (const url of all) await client.query(`set search_path = ${schemaOf(url)};\n${emptying}`);
      free.push(...all);
    },
  };
}

/** Statements that leave in each table what is in it now; in any schema with the same tables. */
async function emptyingText(server: PostgresServer, url: string): Promise<string> {
  const tables = await server.query(
    url,
    'select quote_ident(tablename) as name from pg_tables where schemaname = current_schema()',
  );
  // Foreign keys are not looked at: all rows go.
  const statements = ['set session_replication_role = replica'];
  for (const { name } of tables as { readonly name: string }[]) {
    const [found] = await server.query(url, `select json_agg(row)::text as rows from ${name} as row`);
    statements.push(`delete from ${name}`);
    const rows = found?.['rows'];
    if (typeof rows !== 'string') continue;
    const text = `'${rows.replaceAll("'", "''")}'`;
    statements.push(`insert into ${name} select * from json_populate_recordset(null::${name}, ${text})`);
  }
  return statements.join(';\n');
}
