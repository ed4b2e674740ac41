/**
 * API keys (contract part 5): `Authorization: Bearer hgk_…`, looked up by SHA-256 in the worker's directory. A key
 * opens its own app only. What a key resolved to is remembered for 20,000 of them and until any key changes; of others
 * only what SHA-256 gave for their tokens (token-memory.ts). Whether the key is active and not expired is asked anew for
 * every request.
 */
import { ownText } from '../http/latin1.ts';
import { API_KEY_PREFIX, TOKEN_LENGTH, hasValidChecksum, tokenHash } from '../model/token.ts';
import type { AppName } from '../model/resources.ts';
import { WordBuffer, readHash } from '../snapshot/key-text.ts';
import type { PresentedKey } from '../snapshot/presented-key.ts';
import { tokenStart } from './bearer.ts';
import { fieldLine, scopesLine } from './caller.ts';
import type { PolicyDependencies } from './dependencies.ts';
import { RecentTable } from './recent-table.ts';
import type { Caller, Evaluation } from './stage.ts';
import { TokenMemory } from './token-memory.ts';

const KEYS_REMEMBERED_MAX = 20_000;
/** Look-ups of keys that are not remembered before some that are make room. */
const MISSES_MIN = 20_000;
/** A longer field value, with spaces before the token, is read anew each time. */
const FIELD_CHARS_MAX = 256;

/** One value of one key: what requests need of it, and until when it is good. Thousands are remembered. */
interface ResolvedKey {
  /** The field value that brought it, where it is remembered. */
  key: string;
  readonly appId: string;
  readonly isActive: boolean;
  readonly caller: Caller;
  /** Unix milliseconds from which on the value is refused; Infinity for never. */
  readonly expiresAtMs: number;
}

const HASH_WORDS = 8;
const MALFORMED = 'The API key is malformed: it was mistyped or cut off';

export type KeyRefusal =
  | typeof MALFORMED
  | 'The API key is not known'
  | 'The API key belongs to another app'
  | 'The API key is disabled'
  | 'The API key has expired';

export interface ApiKeys {
  /**
   * @param authorization the whole field value, whose scheme is `Bearer`
   * @param evaluation learns id and name of a key that is known and refused
   * @returns the caller, or why the credential does not hold
   */
  identify(
    authorization: string,
    app: AppName,
    nowMs: number,
    evaluation: Pick<Evaluation, 'refusedKeyId' | 'refusedKeyName'>,
  ): Caller | KeyRefusal;
  /** Bytes in which tokens are remembered, beside what is kept of their keys. */
  readonly tokenMemoryBytes: number;
}

export function createApiKeys(dependencies: PolicyDependencies): ApiKeys {
  const { keys } = dependencies;
  const recent = new RecentTable<ResolvedKey>();
  const limits = { valuesMax: KEYS_REMEMBERED_MAX, missesMin: MISSES_MIN };
  const tokens = new TokenMemory<ResolvedKey>(limits, {
    isKnown: (hash) => keys.hasKey(hash),
    onDropped: ({ key }) => recent.delete(key),
  });
  const formsOf = scopeForms();
  const hash = new WordBuffer(HASH_WORDS);
  let generation = keys.generation;

  /** What the table of keys has for `hash`. */
  const lookUp = (authorization: string, token: string, known: number): ResolvedKey | KeyRefusal => {
    const found = keys.findPresentedKey(hash);
    if (found === undefined) return 'The API key is not known';
    const resolved = resolvedKey(found, formsOf);
    const place = known >= 0 ? known : tokens.add(token, hash);
    if (authorization.length <= FIELD_CHARS_MAX && tokens.keep(place, resolved)) {
      // A copy: the field is a slice of a whole request head, which must not be kept alive by it.
      resolved.key = ownText(authorization);
    }
    return resolved;
  };

  const resolve = (authorization: string): ResolvedKey | KeyRefusal => {
    if (generation !== keys.generation) {
      recent.clear();
      tokens.dropValues();
      generation = keys.generation;
    }
    const known = recent.get(authorization);
    if (known !== undefined) return known;
    const token = authorization.slice(tokenStart(authorization));
    if (token.length !== TOKEN_LENGTH || !isApiKey(token)) return MALFORMED;
    const place = tokens.find(token);
    if (place < 0) {
      if (!hasValidChecksum(token)) return MALFORMED;
      readHash(tokenHash(token), hash);
      return lookUp(authorization, token, place);
    }
    const kept = tokens.valueAt(place);
    if (kept === undefined) {
      tokens.copyHash(place, hash);
      return lookUp(authorization, token, place);
    }
    recent.set(kept);
    return kept;
  };

  const identify: ApiKeys['identify'] = (authorization, app, nowMs, evaluation) => {
    const resolved = resolve(authorization);
    if (typeof resolved === 'string') return resolved;
    const refusal = refusalOf(resolved, app, nowMs);
    if (refusal === undefined) return resolved.caller;
    evaluation.refusedKeyId = resolved.caller.id;
    evaluation.refusedKeyName = resolved.caller.name;
    return refusal;
  };
  return Object.freeze({
    identify,
    get tokenMemoryBytes(): number {
      return tokens.bytes;
    },
  });
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

type FormsOf = (scopes: readonly string[]) => ScopeForms;

/** A list of scopes as stages ask for it, and as the upstream is told. */
interface ScopeForms {
  readonly held: ReadonlySet<string>;
  readonly line: string;
}

const SCOPE_FORMS_MAX = 1024;

/** Forms of lists that the directory has given lately: it has equal ones once. */
function scopeForms(): FormsOf {
  const known = new Map<readonly string[], ScopeForms>();
  return (scopes) => {
    let forms = known.get(scopes);
    if (forms === undefined) {
      forms = { held: new Set(scopes), line: scopesLine(scopes) };
      if (known.size >= SCOPE_FORMS_MAX) known.clear();
      known.set(scopes, forms);
    }
    return forms;
  };
}

function resolvedKey(key: PresentedKey, formsOf: FormsOf): ResolvedKey {
  const { appId, isActive, expiresAtMs } = key;
  return { key: '', appId, isActive, caller: callerOf(key, formsOf(key.scopes)), expiresAtMs };
}

/** Not frozen, which costs as much as the rest: where many keys are in use it is made for one request. */
function callerOf({ id, name, rateLimit }: PresentedKey, { held, line }: ScopeForms): Caller {
  return {
    kind: 'api_key',
    id,
    name,
    scopes: held,
    claims: undefined,
    keyRateLimit: rateLimit,
    upstreamHeaderLines: fieldLine('X-Headgate-Key-Id', id) + fieldLine('X-Headgate-Key-Name', name) + line,
  };
}
