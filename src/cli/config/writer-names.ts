/** Names of the admin tokens that have made versions of the configuration, which the history knows by their ids. */
import { listAll } from '../everyday/pages.ts';
import { RefusedCall, type GatewayClient } from '../gateway-client.ts';

const TOKENS_NAMED = 1_000;
/** The other writers, such as `environment`, are words. */
const ID = /^[\da-f]{8}-[\da-f-]{27}$/;

/** @returns a name; undefined: the token was deleted, or this caller may not list tokens */
export async function writerNames(
  client: GatewayClient,
  actors: readonly string[],
): Promise<(actor: string) => string | undefined> {
  if (!actors.some((actor) => ID.test(actor))) return () => undefined;
  try {
    const { rows } = await listAll(client, '/admin/tokens', TOKENS_NAMED);
    const names = new Map<string, string>(rows.map(({ id, name }) => [id, name]));
    return (actor) => names.get(actor);
  } catch (error) {
    // Only an admin may list them.
    if (error instanceof RefusedCall) return () => undefined;
    throw error;
  }
}
