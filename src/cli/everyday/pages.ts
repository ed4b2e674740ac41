/** Reads a list of the management API, which comes in pages, as a whole; bounded. */
import type { GatewayClient } from '../gateway-client.ts';
import type { Json } from './everyday-command.ts';

/** The largest page that the API returns. */
const PAGE_ROWS = 500;

export interface Listed {
  readonly rows: readonly Json[];
  /** The number of all items. */
  readonly total: number;
}

/**
 * @param path may have a query
 * @param rowsOf takes the rows out of the data of an answer
 */
export async function listAll(
  client: GatewayClient,
  path: string,
  rowsMax: number,
  rowsOf: (data: Json) => readonly Json[] = (data) => data,
): Promise<Listed> {
  const rows: Json[] = [];
  const separator = path.includes('?') ? '&' : '?';
  for (let cursor: string | undefined; ;) {
    const limit = Math.max(1, Math.min(PAGE_ROWS, rowsMax - rows.length));
    const query = new URLSearchParams({ limit: String(limit) });
    if (cursor !== undefined) query.set('cursor', cursor);
    const { data, page } = await client.ask('GET', `${path}${separator}${query.toString()}`);
    rows.push(...rowsOf(data).slice(0, rowsMax - rows.length));
    const next = page?.next_cursor ?? undefined;
    if (next === undefined || next === cursor || rows.length >= rowsMax) {
      return { rows, total: page?.total ?? rows.length };
    }
    cursor = next;
  }
}
