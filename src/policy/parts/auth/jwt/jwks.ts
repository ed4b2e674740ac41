/**
 * Where public keys for JWTs come from (JWK sets, RFC 7517): inline in a policy, or a URL that is fetched, kept and
 * refreshed while it is used. One source per URL and worker.
 *
 * A fetched set is used for `TTL_MS`; from `REFRESH_AHEAD_MS` on the next use fetches a new one in the background.
 * A failed fetch keeps the last good set and is not repeated before `RETRY_MS`; until one succeeds again nobody waits
 * for it who could go on with that set, so that a server that hangs costs one wait and not one per interval. A key id that is not in the set
 * fetches once more, no sooner than `RETRY_MS` after the last attempt: however many unknown ids come, there is one
 * request per interval, and they all wait for the same one. Without timers: a source that nobody uses rests.
 */
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import type { Egress } from '../../../../egress/egress.ts';
import { rsaWeakness } from './rsa-weakness.ts';
import type { Clock } from '../../../../lib/clock.ts';
import { keySetFetch } from './jwks-fetch.ts';

export const TTL_MS = 300_000;
export const REFRESH_AHEAD_MS = 240_000;
export const RETRY_MS = 10_000;
const KEYS_MAX = 500;
/** Of the id of a key in the log. */
const KID_CHARS_MAX = 200;

/** jose's function from a JWS header to a key. */
export type KeySet = ReturnType<typeof createLocalJWKSet>;

export interface KeySource {
  /** Changes whenever the keys do: what was verified with the keys before must be verified again. */
  readonly generation: number;
  /** undefined while there are none. */
  readonly keySet: KeySet | undefined;
  /** Why there are none: undefined where they are part of a policy, else the seconds until they are asked for again. */
  retryAfterSecs(): number | undefined;
  /** Sees to it that the keys are fresh; a promise when they have to be waited for. Never rejects. */
  freshen(): Promise<void> | undefined;
  /** For a key id that the set does not have; undefined when asking again is of no use now. Never rejects. */
  refetch(): Promise<void> | undefined;
}

/** Keys that are part of a policy. A set that cannot be read has no keys, and so refuses every token. */
export function inlineKeys(keys: readonly Readonly<Record<string, unknown>>[]): KeySource {
  return Object.freeze({
    generation: 0,
    // Refused when they are written; there may be older ones.
    keySet: keySetOf({ keys: keys.filter((key) => rsaWeakness(key) === undefined) }),
    retryAfterSecs: () => undefined,
    freshen: () => undefined,
    refetch: () => undefined,
  });
}

function keySetOf(value: unknown): KeySet | undefined {
  try {
    return createLocalJWKSet(value as JSONWebKeySet);
  } catch {
    return undefined;
  }
}

export interface RemoteKeysDependencies {
  readonly clock: Clock;
  readonly egress: Egress;
  /** Told of every failed fetch, with the URL without query and user information. */
  readonly onJwksFailure: (uri: string, reason: string) => void;
  /** Told of every key of a new set that is not used, likewise. */
  readonly onJwksKeySkipped: (uri: string, kid: string, reason: string) => void;
}

export class RemoteKeys implements KeySource {
  readonly #uri: string;
  readonly #clock: Clock;
  readonly #fetchText: (uri: string) => Promise<string>;
  readonly #onFailure: (uri: string, reason: string) => void;
  readonly #onKeySkipped: RemoteKeysDependencies['onJwksKeySkipped'];
  #generation = 0;
  #keySet: KeySet | undefined;
  #text = '';
  #fetchedAtMs = -Infinity;
  #attemptedAtMs = -Infinity;
  #failing = false;
  #pending: Promise<void> | undefined;

  constructor(uri: string, { clock, egress, onJwksFailure, onJwksKeySkipped }: RemoteKeysDependencies) {
    this.#uri = uri;
    this.#clock = clock;
    this.#fetchText = keySetFetch(egress);
    this.#onFailure = onJwksFailure;
    this.#onKeySkipped = onJwksKeySkipped;
  }

  get generation(): number {
    return this.#generation;
  }

  get keySet(): KeySet | undefined {
    return this.#keySet;
  }

  retryAfterSecs(): number {
    const waitMs = this.#attemptedAtMs + RETRY_MS - this.#clock.monotonicMs();
    return Math.max(1, Math.ceil(waitMs / 1000));
  }

  freshen(): Promise<void> | undefined {
    const ageMs = this.#clock.monotonicMs() - this.#fetchedAtMs;
    if (ageMs < REFRESH_AHEAD_MS) return undefined;
    const pending = this.refetch();
    const canWait = ageMs >= TTL_MS && !(this.#failing && this.#keySet !== undefined);
    return canWait ? pending : undefined;
  }

  refetch(): Promise<void> | undefined {
    if (this.#pending !== undefined) return this.#pending;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#attemptedAtMs < RETRY_MS) return undefined;
    this.#attemptedAtMs = nowMs;
    this.#pending = this.#fetch().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** One weak key does not spoil the others: it is skipped, and the log says so. */
  #parse(text: string): KeySet | undefined {
    const value = JSON.parse(text) as { readonly keys?: unknown } | null;
    if (!Array.isArray(value?.keys) || value.keys.length > KEYS_MAX) return undefined;
    const keys = value.keys.filter((key: unknown) => {
      if (typeof key !== 'object' || key === null) return true;
      const { kid } = key as { readonly kid?: unknown };
      const weakness = rsaWeakness(key as Readonly<Record<string, unknown>>);
      if (weakness === undefined) return true;
      this.#onKeySkipped(
        shownUri(this.#uri),
        typeof kid === 'string' ? kid.slice(0, KID_CHARS_MAX) : '',
        weakness,
      );
      return false;
    });
    return keySetOf({ keys });
  }

  async #fetch(): Promise<void> {
    try {
      const text = await this.#fetchText(this.#uri);
      if (text !== this.#text) {
        const keySet = this.#parse(text);
        if (keySet === undefined) throw new Error('the response is no JWK set');
        this.#keySet = keySet;
        this.#text = text;
        this.#generation++;
      }
      this.#fetchedAtMs = this.#clock.monotonicMs();
      this.#failing = false;
    } catch (error) {
      this.#failing = true;
      this.#onFailure(shownUri(this.#uri), reasonOf(error));
    }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure';
  // undici's fetch says "fetch failed" and puts what happened into the cause.
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function shownUri(uri: string): string {
  const url = URL.parse(uri);
  return url === null ? 'an invalid URL' : url.origin + url.pathname;
}
