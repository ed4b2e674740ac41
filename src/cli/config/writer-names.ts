/** Names of the admin tokens that have made versions of the configuration, which the history knows by their ids. */
import { isUuid } from '../../lib/text/uuid.ts';
import { listAll } from '../everyday/pages.ts';
import { RefusedCall, type GatewayClient } from '../gateway-client.ts';

const TOKENS_NAMED = 1_000;

/** @returns a name; undefined: the token was deleted, or this caller may not list tokens */
export async function writerNames(
  client: GatewayClient,
  actors: readonly string[],
): Promise<(actor: string) => string | undefined> {
  // The other writers, such as `environment`, are words.
  if (!actors.some(isUuid)) return () => undefined;
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
