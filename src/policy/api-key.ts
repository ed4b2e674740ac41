/**
 * API keys (contract part 5): `Authorization: Bearer hgk_…`, looked up by SHA-256 in the worker's directory. A key
 * opens its own app only. What a header value resolved to is remembered, bounded and until any key changes; whether
 * the key is active and not expired is asked anew for every request.
 */
import { API_KEY_PREFIX, hasValidChecksum, tokenHash } from '../model/token.ts';
import type { AppName, StoredApiKey } from '../model/resources.ts';
import { tokenStart } from './bearer.ts';
import { BoundedCache } from './bounded-cache.ts';
import { fieldLine, scopesLine } from './caller.ts';
import type { PolicyDependencies } from './dependencies.ts';
import type { Caller, Evaluation } from './stage.ts';

const CACHED_KEYS_MAX = 20_000;
const CACHED_CHARS_MAX = 4 * 1024 * 1024;

/** One value of one key: what requests need of it, and until when it is good. Thousands are remembered. */
interface ResolvedKey {
  readonly appId: string;
  readonly isActive: boolean;
  readonly caller: Caller;
  /** Unix milliseconds from which on the value is refused; Infinity for never. */
  readonly expiresAtMs: number;
}

export type KeyRefusal =
  | 'The API key is malformed: it was mistyped or cut off'
  | 'The API key is not known'
  | 'The API key belongs to another app'
  | 'The API key is disabled'
  | 'The API key has expired';

export interface ApiKeys {
  /**
   * @param authorization the whole field value, whose scheme is `Bearer`
   * @param evaluation learns the id of a key that is known and refused
   * @returns the caller, or why the credential does not hold
   */
  identify(
    authorization: string,
    app: AppName,
    nowMs: number,
    evaluation: Pick<Evaluation, 'refusedKeyId'>,
  ): Caller | KeyRefusal;
}

export function createApiKeys(dependencies: PolicyDependencies): ApiKeys {
  const { keys } = dependencies;
  const cache = new BoundedCache<ResolvedKey>(CACHED_KEYS_MAX, CACHED_CHARS_MAX);
  let generation = keys.generation;

  const resolve = (authorization: string): ResolvedKey | KeyRefusal => {
    if (generation !== keys.generation) {
      cache.clear();
      generation = keys.generation;
    }
    const known = cache.get(authorization);
    if (known !== undefined) return known;
    const token = authorization.slice(tokenStart(authorization));
    if (!isApiKey(token) || !hasValidChecksum(token))
      return 'The API key is malformed: it was mistyped or cut off';
    const hash = tokenHash(token);
    const key = keys.findKeyByHash(hash);
    const resolved = key === undefined ? undefined : resolvedKey(key, hash);
    if (resolved === undefined) return 'The API key is not known';
    cache.set(authorization, resolved);
    return resolved;
  };

  const identify: ApiKeys['identify'] = (authorization, app, nowMs, evaluation) => {
    const resolved = resolve(authorization);
    if (typeof resolved === 'string') return resolved;
    const refusal = refusalOf(resolved, app, nowMs);
    if (refusal === undefined) return resolved.caller;
    evaluation.refusedKeyId = resolved.caller.id;
    return refusal;
  };
  return Object.freeze({ identify });
}

/** True for anything that is meant as an API key of this gateway, valid or not: it must not reach an upstream. */
export function isApiKey(token: string): boolean {
  return token.startsWith(API_KEY_PREFIX);
}

/** The same for a whole `Authorization` value of any scheme. */
export function carriesApiKey(authorization: string): boolean {
  const start = tokenStart(authorization);
  return start > 0 && authorization.startsWith(API_KEY_PREFIX, start);
}

function refusalOf(
  { appId, isActive, expiresAtMs }: ResolvedKey,
  app: AppName,
  nowMs: number,
): KeyRefusal | undefined {
  if (appId !== app.id) return 'The API key belongs to another app';
  if (!isActive) return 'The API key is disabled';
  return nowMs >= expiresAtMs ? 'The API key has expired' : undefined;
}

/** undefined when the hash is neither value of the key: a directory that is wrong must not open anything. */
function resolvedKey(key: StoredApiKey, hash: string): ResolvedKey | undefined {
  let expiresAtMs = key.expires_at === null ? Infinity : timeMs(key.expires_at);
  if (key.token_hash !== hash) {
    if (key.previous_token_hash !== hash || key.previous_expires_at === null) return undefined;
    expiresAtMs = Math.min(expiresAtMs, timeMs(key.previous_expires_at));
  }
  return { appId: key.app_id, isActive: key.is_active, caller: callerOf(key), expiresAtMs };
}

/** Unix milliseconds of an RFC 3339 time; one that cannot be read lies in the past, so that it refuses. */
function timeMs(text: string): number {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? 0 : ms;
}

function callerOf(key: StoredApiKey): Caller {
  return Object.freeze({
    kind: 'api_key',
    id: key.id,
    name: key.name,
    scopes: new Set(key.scopes),
    claims: undefined,
    keyRateLimit: key.rate_limit,
    upstreamHeaderLines:
      fieldLine('X-Headgate-Key-Id', key.id) +
      fieldLine('X-Headgate-Key-Name', key.name) +
      scopesLine(key.scopes),
  });
}
