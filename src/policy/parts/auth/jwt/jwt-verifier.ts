/**
 * Verifies JWTs: jose checks the signature, everything else is here. Each worker caches a bounded number of verified
 * tokens; a cached token is answered synchronously, but never after its `exp` or after the key set has changed.
 *
 * Equal settings share a verifier; all verifiers of a worker share key sets by URL.
 */
import { createHash, createSecretKey, type KeyObject } from 'node:crypto';
import { compactVerify, errors, type CompactVerifyResult } from 'jose';
import { tokenStart } from '../bearer.ts';
import { BoundedCache } from '../bounded-cache.ts';
import { addressSubject } from '../../../per/limit-subject.ts';
import type { PolicyDependencies } from '../../../dependencies.ts';
import type { CredentialProblem } from '../auth-reasons.ts';
import { inlineKeys, RemoteKeys, type KeySource } from './jwks.ts';
import { KeySetMemory } from './jwks-memory.ts';
import { callerOf, checkClaims, timeRefusal, type Validity } from './jwt-claims.ts';
import { FairTurns, type Turn } from './fair-turns.ts';
import type { JwtVerification } from './jwt-settings.ts';
import { readClaims, readHeader } from './jwt-token.ts';
import type { Caller, RequestFacts } from '../../../stage.ts';

const TOKENS_MAX = 10_000;
const TOKEN_CHARS_TOTAL_MAX = 8 * 1024 * 1024;
/** A token is cached for this many different settings. */
const VERIFIERS_PER_TOKEN_MAX = 4;
const VERIFIERS_MAX = 1000;
const SOURCES_MAX = 1000;
/** Keys that are tried for a token without a key id. */
const CANDIDATES_MAX = 8;
/**
 * Signatures that a worker verifies at once: the second is ready when the first ends. Threads of the process do it, of
 * which there are far more than processors, since most of them look up names.
 */
const SIGNATURES_AT_ONCE = 2;

/** No key set was ever fetched, so the token cannot be checked. */
export interface KeysUnavailable {
  readonly kind: 'keys_unavailable';
  readonly retryAfterSecs: number;
}

/** The request ended before the signature was verified. */
export interface RequestOver {
  readonly kind: 'request_over';
}

/** The caller, why the credential is refused, or that it cannot be checked. */
export type Identity = Caller | CredentialProblem | KeysUnavailable | RequestOver;

export type JwtFacts = Pick<RequestFacts, 'nowMs' | 'ended' | 'clientIp'>;

interface JwtVerifier {
  /**
   * @param authorization a field value: of the scheme `Bearer`, or the token alone
   * @param appId the app on whose behalf a signature is verified; its clients take turns
   */
  identify(authorization: string, facts: JwtFacts, appId: string): Identity | Promise<Identity>;
}

export interface JwtVerifiers {
  verifierFor(verification: JwtVerification): JwtVerifier;
}

/** What a token without a verified signature leads to. */
type Unsigned = CredentialProblem | KeysUnavailable | RequestOver;
const REQUEST_OVER: RequestOver = { kind: 'request_over' };

interface RememberedToken extends Validity {
  readonly verifier: JwtVerifier;
  readonly generation: number;
  readonly caller: Caller;
}

type TokenCache = BoundedCache<readonly RememberedToken[]>;
type TurnOf = (facts: JwtFacts, appId: string) => Turn;

/** What all verifiers of a worker share. */
interface Shares {
  readonly tokens: TokenCache;
  readonly turns: FairTurns;
  readonly turnOf: TurnOf;
}

export function createJwtVerifiers(dependencies: PolicyDependencies): JwtVerifiers {
  const tokens: TokenCache = new BoundedCache(TOKENS_MAX, TOKEN_CHARS_TOTAL_MAX);
  const turns = new FairTurns(SIGNATURES_AT_ONCE);
  // Clients take turns by the addresses by which limits count them.
  const clientOf = addressSubject(dependencies.ipv6PrefixBits);
  const turnOf: TurnOf = (facts, appId) => ({
    appId,
    client: () => clientOf(facts),
    isOver: () => facts.ended,
  });
  const shares = { tokens, turns, turnOf };
  const sources = new Map<string, KeySource>();
  const memory = new KeySetMemory();
  const verifiers = new Map<string, WeakRef<JwtVerifier>>();
  const sourceFor = (uri: string): KeySource =>
    shared(sources, uri, SOURCES_MAX, () => new RemoteKeys(uri, memory, dependencies));
  return Object.freeze({
    verifierFor: (verification: JwtVerification): JwtVerifier =>
      sharedWhileUsed(verifiers, digestOf(verification), () => {
        const { keys } = verification;
        if (keys === undefined || verification.algorithms.length === 0) return { identify: () => 'no_keys' };
        if (keys.kind === 'secret') {
          const secret = createSecretKey(Buffer.from(keys.secret, 'utf8'));
          return new SettingsVerifier(verification, secret, shares);
        }
        const source = keys.kind === 'jwks' ? inlineKeys(keys.keys) : sourceFor(keys.uri);
        return new SettingsVerifier(verification, source, shares);
      }),
  });
}

/** Gets or creates a value; beyond the limit the oldest is no longer shared, but its users keep it. */
function shared<V>(map: Map<string, V>, key: string, entriesMax: number, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  if (map.size > entriesMax) {
    const oldest = map.keys().next();
    if (oldest.done !== true) map.delete(oldest.value);
  }
  return made;
}

/** Settings may contain a megabyte of keys. */
function digestOf(verification: JwtVerification): string {
  return createHash('sha256').update(JSON.stringify(verification)).digest('base64');
}

/**
 * Gets or creates a value that is kept by its users alone: otherwise each change of a policy would leave its key set
 * behind.
 */
function sharedWhileUsed<V extends object>(map: Map<string, WeakRef<V>>, key: string, make: () => V): V {
  const known = map.get(key)?.deref();
  if (known !== undefined) return known;
  map.delete(key);
  if (map.size >= VERIFIERS_MAX) {
    for (const [each, reference] of map) if (reference.deref() === undefined) map.delete(each);
  }
  const made = make();
  shared(map, key, VERIFIERS_MAX, () => new WeakRef(made));
  return made;
}

class SettingsVerifier implements JwtVerifier {
  readonly #verification: JwtVerification;
  readonly #keys: KeyObject | KeySource;
  readonly #tokens: TokenCache;
  readonly #turns: FairTurns;
  readonly #turnOf: TurnOf;

  constructor(verification: JwtVerification, keys: KeyObject | KeySource, { tokens, turns, turnOf }: Shares) {
    this.#verification = verification;
    this.#keys = keys;
    this.#tokens = tokens;
    this.#turns = turns;
    this.#turnOf = turnOf;
  }

  identify(authorization: string, facts: JwtFacts, appId: string): Identity | Promise<Identity> {
    const { nowMs } = facts;
    const waiting = 'freshen' in this.#keys ? this.#keys.freshen() : undefined;
    const remembered = this.#remembered(authorization);
    if (remembered === undefined)
      return this.#verify(authorization, nowMs, this.#turnOf(facts, appId), waiting);
    if (waiting !== undefined) {
      return waiting.then(() => this.#identifyAgain(authorization, nowMs, this.#turnOf(facts, appId)));
    }
    return timeRefusal(remembered, nowMs) ?? remembered.caller;
  }

  /** After a fetch replaced old keys: a cached token may have lost its key. */
  async #identifyAgain(authorization: string, nowMs: number, turn: Turn): Promise<Identity> {
    const remembered = this.#remembered(authorization);
    if (remembered === undefined) return this.#verify(authorization, nowMs, turn, undefined);
    return timeRefusal(remembered, nowMs) ?? remembered.caller;
  }

  #remembered(authorization: string): RememberedToken | undefined {
    const entries = this.#tokens.get(authorization);
    if (entries === undefined) return undefined;
    for (const entry of entries) {
      if (entry.verifier === this && entry.generation === this.#generation()) return entry;
    }
    return undefined;
  }

  #generation(): number {
    return 'generation' in this.#keys ? this.#keys.generation : 0;
  }

  async #verify(
    authorization: string,
    nowMs: number,
    turn: Turn,
    waiting: Promise<void> | undefined,
  ): Promise<Identity> {
    const token = authorization.slice(tokenStart(authorization));
    const header = readHeader(token, this.#verification.algorithms);
    if (typeof header === 'string') return header;
    if (waiting !== undefined) await waiting;
    const signed = await this.#signed(token, turn);
    if (!('payload' in signed)) return signed.refusal;
    const { payload, generation } = signed;
    const claims = readClaims(payload);
    if (claims === undefined) return 'token_payload';
    const validity = checkClaims(claims, this.#verification);
    if (typeof validity === 'string') return validity;
    const refused = timeRefusal(validity, nowMs);
    if (refused !== undefined) return refused;
    const caller = callerOf(claims, this.#verification);
    this.#remember(authorization, { ...validity, verifier: this, generation, caller });
    return caller;
  }

  #remember(authorization: string, token: RememberedToken): void {
    const others = (this.#tokens.get(authorization) ?? []).filter((entry) => entry.verifier !== this);
    this.#tokens.set(authorization, [...others.slice(1 - VERIFIERS_PER_TOKEN_MAX), token]);
  }

  /** The signed payload, and the generation of the keys that verified it. */
  async #signed(
    token: string,
    turn: Turn,
  ): Promise<{ readonly payload: Uint8Array; readonly generation: number } | { readonly refusal: Unsigned }> {
    let generation = this.#generation();
    let result = await this.#tryKeys(token, turn);
    // The provider may have added a key, or have another key under a known id or without one.
    const isOfOtherKey = result === 'token_key_unknown' || result === 'token_signature';
    if (isOfOtherKey && 'refetch' in this.#keys) {
      const waiting = this.#keys.refetch();
      if (waiting !== undefined) await waiting;
      if (this.#generation() !== generation) {
        generation = this.#generation();
        result = await this.#tryKeys(token, turn);
      }
    }
    return result instanceof Uint8Array ? { payload: result, generation } : { refusal: result };
  }

  async #tryKeys(token: string, turn: Turn): Promise<Uint8Array | Unsigned> {
    const options = { algorithms: [...this.#verification.algorithms] };
    const key = 'keySet' in this.#keys ? this.#keys.keySet : this.#keys;
    if (key === undefined) {
      const retryAfterSecs = 'retryAfterSecs' in this.#keys ? this.#keys.retryAfterSecs() : undefined;
      return retryAfterSecs === undefined ? 'no_keys' : { kind: 'keys_unavailable', retryAfterSecs };
    }
    try {
      const result = await this.#turns.run<CompactVerifyResult>(turn, () =>
        typeof key === 'function' ? compactVerify(token, key, options) : compactVerify(token, key, options),
      );
      return result?.payload ?? REQUEST_OVER;
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return 'token_key_unknown';
      if (error instanceof errors.JWKSMultipleMatchingKeys) return this.#tryEach(token, error, options, turn);
      // Includes a key that cannot be imported or is too weak: the token is not verified, so it is refused.
      return 'token_signature';
    }
  }

  /** Several keys match a token without a key id: a few of them are tried, each in a turn of its own. */
  async #tryEach(
    token: string,
    candidates: errors.JWKSMultipleMatchingKeys,
    options: { algorithms: string[] },
    turn: Turn,
  ): Promise<Uint8Array | Unsigned> {
    let tried = 0;
    for await (const key of candidates) {
      if (++tried > CANDIDATES_MAX) break;
      try {
        const result = await this.#turns.run(turn, () => compactVerify(token, key, options));
        return result?.payload ?? REQUEST_OVER;
      } catch {
        // The next key may match.
      }
    }
    return 'token_signature';
  }
}
