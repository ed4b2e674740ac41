/** Reads a list of the management API, which comes in pages, as a whole; bounded. */
import type { GatewayClient } from '../gateway-client.ts';
import type { Json } from './everyday-command.ts';

const PAGE_ROWS = 500;

export interface Listed {
  readonly rows: readonly Json[];
  /** The number of all items. */
  readonly total: number;
}

/** @param path may have a query */
export async function listAll(client: GatewayClient, path: string, rowsMax: number): Promise<Listed> {
  const rows: Json[] = [];
  const separator = path.includes('?') ? '&' : '?';
  for (let cursor: string | undefined; ;) {
    const query = new URLSearchParams({ limit: String(Math.min(PAGE_ROWS, rowsMax - rows.length)) });
    if (cursor !== undefined) query.set('cursor', cursor);
    const { data, page } = await client.ask('GET', `${path}${separator}${query.toString()}`);
    rows.push(...(data as Json[]));
    const next = page?.next_cursor ?? undefined;
    if (next === undefined || next === cursor || rows.length >= rowsMax) {
      return { rows, total: page?.total ?? rows.length };
    }
    cursor = next;
  }
}
