/**
 * The database that a test's gateway gets when it does not name one: an SQLite file in its folder, or, in runs on
 * PostgreSQL (vitest.postgres.config.ts), a database of its own on the one server of that run. So the same black-box
 * tests speak for both.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { query as queryOnce } from './postgres.ts';

/** Set for the tests that are to run on PostgreSQL. */
const KIND_VARIABLE = 'HEADGATE_TEST_DATABASE';
/** Set by postgres-suite.ts, for all: the URL of a server's database in which others can be made. */
export const SERVER_VARIABLE = 'HEADGATE_TEST_POSTGRES';
/** A database that is migrated and nothing more. */
export const TEMPLATE = 'headgate_template';
/** A gateway with it opens the secrets of policies, as none lies beside a database on a server. */
const SECRET_KEY = '5ec2e7'.repeat(10) + 'abcd';

const SERVER = process.env[KIND_VARIABLE] === 'postgres' ? process.env[SERVER_VARIABLE] : undefined;
export const SUITE_DATABASE = SERVER === undefined ? 'sqlite' : 'postgres';

export interface SuiteDatabase {
  /** Settings that lead a gateway to it. */
  readonly env: Readonly<Record<string, string>>;
  /** Removes it, where removing the folder does not. */
  drop(): Promise<void>;
}

/** By folder: a gateway that starts again in its folder finds what it had. */
const madeFor = new Map<string, string>();
let made = 0;

export async function suiteDatabase(folder: string): Promise<SuiteDatabase> {
  if (SERVER === undefined) {
    const url = `sqlite://${join(folder, 'headgate.db')}`;
    return { env: { GATEWAY_DATABASE_URL: url }, drop: async () => undefined };
  }
  const server = SERVER;
  const known = madeFor.get(folder);
  const name = known ?? `suite_${process.pid}_${(made += 1)}`;
  if (known === undefined) {
    await query(server, `create database ${name} template ${TEMPLATE}`);
    madeFor.set(folder, name);
  }
  return {
    env: {
      GATEWAY_DATABASE_URL: urlOf(server, name),
      GATEWAY_SECRET_KEY: SECRET_KEY,
      // Machines that run tests may stand still for a moment; what a slow database leads to has tests of its own.
      GATEWAY_DATABASE__TIMEOUT_MS: '60000',
      // What lies beside an SQLite database lies in the same folder then.
      GATEWAY_SNAPSHOT_FILE: join(folder, 'headgate.db.snapshot'),
    },
    drop: async () => {
      madeFor.delete(folder);
      await query(server, `drop database if exists ${name} with (force)`);
    },
  };
}

/**
 * All that is stored for the gateway of a folder, as it is on the disk: its files, and the rows on the server.
 * @param prefix of the names of files that count
 */
export async function storedText(folder: string, prefix = ''): Promise<string> {
  const parts = filesIn(folder, prefix);
  const name = madeFor.get(folder);
  if (SERVER !== undefined && name !== undefined) {
    const url = urlOf(SERVER, name);
    const tables = await query(url, "select tablename from pg_tables where schemaname = 'public'");
    for (const { tablename } of tables) {
      for (const row of await query(url, `select * from ${String(tablename)}`)) {
        parts.push(Object.values(row).map(String).join('\n'));
      }
    }
  }
  return parts.join('\n');
}

/** Texts of the files; from the beginning again where one got its final name meanwhile. */
function filesIn(folder: string, prefix: string, triesLeft = 20): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.startsWith(prefix));
  try {
    return files.map(({ name }) => readFileSync(join(folder, name), 'latin1'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || triesLeft === 0) throw error;
    return filesIn(folder, prefix, triesLeft - 1);
  }
}

function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

/** Tests start many gateways at once, and the server is the same for all. */
function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  return queryOnce(url, text, 10_000);
}
