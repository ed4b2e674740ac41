/**
 * Fetches a key set: a GET of a small text from an address that egress allows. Owns the connections to one key server.
 * Does not know what a key is.
 */
import type { Dispatcher } from 'undici';
import type { Egress } from '../../../../egress/egress.ts';
import { systemLookup } from '../../../../egress/name-queries.ts';
import { NO_ROOM, type KeyHolder, type KeySetMemory } from './jwks-memory.ts';

const FETCH_TIMEOUT_MS = 5_000;
const RESPONSE_BYTES_MAX = 1024 * 1024;
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** For one URL. No redirects, through which the key server would pass its trust to another server. */
export function keySetFetch(egress: Egress, memory: KeySetMemory): (uri: string) => Promise<string> {
  let dispatcher: Dispatcher | undefined;
  // Before the first request needs it: a spare worker may serve only after an upgrade has removed the file.
  void import('undici').catch(() => undefined);
  return async (uri) => {
    const url = URL.parse(uri);
    // Refused here, because the error of fetch itself would quote the URL with its password.
    if (url === null || url.username !== '' || url.password !== '') throw new Error('the URL cannot be used');
    const port = Number(url.port) || (DEFAULT_PORTS[url.protocol] ?? 0);
    const denial = egress.hostDenial(url.hostname, port);
    if (denial !== undefined) throw new Error(denial);
    // Not loaded with this file, because most workers never fetch keys.
    const { Agent, fetch } = await import('undici');
    dispatcher ??= new Agent({ connect: { lookup: egress.lookup(systemLookup, port) } });
    const displaced = new AbortController();
    const response = await fetch(uri, {
      dispatcher,
      redirect: 'error',
      signal: AbortSignal.any([AbortSignal.timeout(FETCH_TIMEOUT_MS), displaced.signal]),
      headers: { accept: 'application/jwk-set+json, application/json' },
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`the response has status ${response.status}`);
    }
    const holder: KeyHolder = {
      isUnused: () => false,
      giveWay: () => displaced.abort(new Error(NO_ROOM)),
    };
    try {
      return await textOf(response.body ?? [], (bytes) => memory.resize(holder, bytes));
    } finally {
      memory.release(holder);
    }
  };
}

/** @param hasRoom whether there is room for this number of bytes */
async function textOf(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  hasRoom: (bytes: number) => boolean,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > RESPONSE_BYTES_MAX)
      throw new Error(`the response is larger than ${RESPONSE_BYTES_MAX} bytes`);
    if (!hasRoom(bytes)) throw new Error(NO_ROOM);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
