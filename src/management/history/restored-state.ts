/**
 * The state that a rollback restores. Everything except keys becomes what it was. For keys the following applies, so
 * that a rollback revives no credential and gives none a scope or a later end than it has now:
 *
 * - A key that was deleted or has expired since does not come back, and a key created since stays with its app.
 * - A key keeps its current value, even if it was rotated since, and an inactive key stays inactive.
 * - A key gets only those of its former scopes that it still has, and the earlier of the two expiries.
 * - A key gets its former name and its former rate limit.
 *
 * Pure.
 */
import type { AppState } from '../../model/history/config-history.ts';
import type { App, StoredApiKey } from '../../model/resources.ts';
import { isLive } from '../declaration/declared-app.ts';

/** Why a key is not restored exactly. */
type KeptBack = 'deleted' | 'expired' | 'value' | 'inactive' | 'scopes' | 'expires_at';

export interface NotRestored {
  readonly app: string;
  readonly key: StoredApiKey;
  readonly reasons: readonly KeptBack[];
}

export interface RestoredState {
  readonly states: readonly AppState[];
  /** Keys that are not restored exactly. */
  readonly notRestored: readonly NotRestored[];
  /**
   * Keys that work or could work again, created since in apps that would be deleted. Empty when such keys may be
   * deleted.
   */
  readonly orphans: readonly { readonly app: App; readonly key: StoredApiKey }[];
}

/** @param now the present state of the same apps @param deletesKeys whether keys created since are deleted */
export function restoredState(
  now: readonly AppState[],
  then: readonly AppState[],
  deletesKeys: boolean,
  nowMs: number,
): RestoredState {
  const present = new Map(now.map((state) => [state.tree.app.id, state]));
  const past = new Set(then.map(({ tree }) => tree.app.id));
  const notRestored: NotRestored[] = [];
  const states = then.map((state): AppState => {
    const { app } = state.tree;
    const keys = present.get(app.id)?.keys ?? [];
    const restored = restoredKeys(keys, state.keys, deletesKeys, nowMs);
    notRestored.push(...restored.notRestored.map((entry) => ({ ...entry, app: app.slug })));
    return { tree: state.tree, keys: restored.keys };
  });
  const going = deletesKeys ? [] : now.filter(({ tree }) => !past.has(tree.app.id));
  const orphans = going.flatMap(({ tree: { app }, keys }) =>
    keys.filter((key) => isLive(key, nowMs)).map((key) => ({ app, key })),
  );
  return { states, notRestored, orphans };
}

function restoredKeys(
  now: readonly StoredApiKey[],
  then: readonly StoredApiKey[],
  deletesKeys: boolean,
  nowMs: number,
): { readonly keys: StoredApiKey[]; readonly notRestored: Omit<NotRestored, 'app'>[] } {
  const past = new Map(then.map((key) => [key.id, key]));
  const present = new Set(now.map(({ id }) => id));
  const notRestored: Omit<NotRestored, 'app'>[] = [];
  const keys: StoredApiKey[] = [];
  for (const key of now) {
    const old = past.get(key.id);
    if (old === undefined) {
      if (!deletesKeys) keys.push(key);
      continue;
    }
    const restored = restoredKey(key, old, nowMs);
    keys.push(restored.key);
    if (restored.reasons.length > 0) notRestored.push(restored);
  }
  for (const key of then) if (!present.has(key.id)) notRestored.push({ key, reasons: ['deleted'] });
  return { keys, notRestored };
}

/** One key that exists in both states, with no more rights than it has now. */
function restoredKey(
  now: StoredApiKey,
  then: StoredApiKey,
  nowMs: number,
): { readonly key: StoredApiKey; readonly reasons: readonly KeptBack[] } {
  if (!isLive(now, nowMs)) return { key: now, reasons: ['expired'] };
  const key: StoredApiKey = {
    ...now,
    name: then.name,
    rate_limit: then.rate_limit,
    scopes: then.scopes.filter((scope) => now.scopes.includes(scope)),
    is_active: then.is_active && now.is_active,
    expires_at: earlierEnd(now.expires_at, then.expires_at, nowMs),
  };
  const reasons: KeptBack[] = [];
  if (now.token_hash !== then.token_hash) reasons.push('value');
  if (then.is_active && !key.is_active) reasons.push('inactive');
  if (key.scopes.length < then.scopes.length) reasons.push('scopes');
  if (key.expires_at !== then.expires_at) reasons.push('expires_at');
  return { key, reasons };
}

/** An expiry that has passed meanwhile is not restored: the key was renewed, and would stop working at once. */
function earlierEnd(now: string | null, then: string | null, nowMs: number): string | null {
  if (then === null || Date.parse(then) <= nowMs) return now;
  return now === null || Date.parse(then) < Date.parse(now) ? then : now;
}
