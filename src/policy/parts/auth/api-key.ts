/**
 * API keys (contract part 5): `Authorization: Bearer hgk_…` or another field (`auth.in`), looked up by SHA-256 in the
 * shared table of keys, behind a cache (key-cache.ts). A key is valid for its own app only. Every request checks
 * whether the key is active and not expired.
 */
import { API_KEY_PREFIX } from '../../../model/token.ts';
import type { AppName } from '../../../model/resources.ts';
import type { PolicyDependencies } from '../../dependencies.ts';
import type { CredentialProblem } from './auth-reasons.ts';
import { KeyCache, type ResolvedKey } from './key-cache.ts';
import type { Caller, Evaluation } from '../../stage.ts';

export interface ApiKeys {
  /**
   * @param credential the whole field value: of the scheme `Bearer`, or the token alone
   * @param evaluation receives id and name of a known key that is refused
   * @returns the caller, or why the credential is refused
   */
  identify(
    credential: string,
    app: AppName,
    nowMs: number,
    evaluation: Pick<Evaluation, 'refusedKeyId' | 'refusedKeyName'>,
  ): Caller | CredentialProblem;
}

export function createApiKeys({ keys }: Pick<PolicyDependencies, 'keys'>): ApiKeys {
  const cache = new KeyCache(keys);
  const identify: ApiKeys['identify'] = (credential, app, nowMs, evaluation) => {
    const resolved = cache.resolve(credential);
    if (typeof resolved === 'string') return resolved;
    const refusal = refusalOf(resolved, app, nowMs);
    if (refusal === undefined) return resolved.caller;
    evaluation.refusedKeyId = resolved.caller.id;
    evaluation.refusedKeyName = resolved.caller.name;
    return refusal;
  };
  return Object.freeze({ identify });
}

/**
 * True for anything in the form of the gateway's own API keys, valid or not: it must not reach an upstream. Imported
 * values have any form; only a look-up identifies them.
 */
export function isApiKey(token: string): boolean {
  return token.startsWith(API_KEY_PREFIX);
}

/** What may come before a key: nothing, or the space, tab or comma behind a scheme. */
const BEFORE_KEY: ReadonlySet<string> = new Set(['', ' ', '\t', ',']);

/**
 * The same for a whole `Authorization` value of any scheme, or of none: a key that is sent in a wrong way is a key.
 */
export function carriesApiKey(authorization: string): boolean {
  let at = authorization.indexOf(API_KEY_PREFIX);
  while (at >= 0 && !BEFORE_KEY.has(authorization.charAt(at - 1)))
    at = authorization.indexOf(API_KEY_PREFIX, at + 1);
  return at >= 0;
}

function refusalOf(
  { appId, isActive, expiresAtMs }: ResolvedKey,
  app: AppName,
  nowMs: number,
): CredentialProblem | undefined {
  if (appId !== app.id) return 'key_of_other_app';
  if (!isActive) return 'key_disabled';
  return nowMs >= expiresAtMs ? 'key_expired' : undefined;
}
