/**
 * Vitest's global set-up for the black-box suite on PostgreSQL: one server for the whole run, with a migrated
 * database that each gateway gets a copy of (suite-database.ts).
 */
import { runToEnd } from '../gateway.ts';
import { startPostgres } from './postgres.ts';
import { SERVER_VARIABLE, TEMPLATE } from './suite-database.ts';

export default async function setup(): Promise<() => Promise<void>> {
  // What is tested is the program over it, and not its durability.
  const server = await startPostgres('fsync=off', 'full_page_writes=off', 'max_connections=300');
  const url = await server.createDatabase();
  try {
    await server.query(url, `create database ${TEMPLATE}`);
    const template = new URL(url);
    template.pathname = `/${TEMPLATE}`;
    const { code, output } = await runToEnd({ GATEWAY_DATABASE_URL: template.href }, ['migrate']);
    if (code !== 0) throw new Error(`The database of the suite could not be made: ${output}`);
  } catch (error) {
    await server.stop();
    throw error;
  }
  process.env[SERVER_VARIABLE] = url;
  return () => server.stop();
}
