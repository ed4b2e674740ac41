/**
 * Sources of public keys for JWTs (JWK sets, RFC 7517): part of a policy, or a URL that is fetched, cached and
 * refreshed while it is used. One source per URL and worker.
 *
 * A fetched set is used for `TTL_MS`; after `REFRESH_AHEAD_MS` the next use fetches a new one in the background. A
 * failed fetch keeps the last good set and is not repeated before `RETRY_MS`. Until a fetch succeeds again, requests
 * that can use the last good set do not wait, so that a server that hangs costs one wait and not one per interval. A
 * token that no key of the set has signed fetches once more, at least `RETRY_MS` after the last attempt: however many
 * of them arrive, there is one request per interval, which all of them wait for. No timers: an unused source does
 * nothing. The memory of all sets together is bounded (jwks-memory.ts); a set for which there is no room counts as
 * failed.
 */
import { createHash } from 'node:crypto';
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import type { Egress } from '../../../../egress/egress.ts';
import { connectionText } from '../../../../lib/error-message.ts';
import { shownUri } from '../../../../lib/text/shown-uri.ts';
import { rsaWeakness } from './rsa-weakness.ts';
import type { Clock } from '../../../../lib/clock.ts';
import { keySetFetch } from './jwks-fetch.ts';
import { readKeySet } from './jwks-keys.ts';
import { NO_ROOM, type KeyHolder, type KeySetMemory } from './jwks-memory.ts';

export const TTL_MS = 300_000;
export const REFRESH_AHEAD_MS = 240_000;
export const RETRY_MS = 10_000;
/** Limit for the unused keys of a set in the log. */
const SKIPPED_SHOWN_MAX = 10;
/** Limit for the id of a key in the log. */
const KID_CHARS_MAX = 200;

/** jose's function from a JWS header to a key. */
export type KeySet = ReturnType<typeof createLocalJWKSet>;

export interface KeySource {
  /** Changes with the keys: a token that was verified with earlier keys must be verified again. */
  readonly generation: number;
  /** undefined when there are no keys. */
  readonly keySet: KeySet | undefined;
  /** Why there are no keys: undefined if they are part of a policy, otherwise the seconds until the next fetch. */
  retryAfterSecs(): number | undefined;
  /** Refreshes the keys if necessary; returns a promise if the caller has to wait. Never rejects. */
  freshen(): Promise<void> | undefined;
  /** Fetches for a token that no key has signed; undefined if another fetch is useless now. Never rejects. */
  refetch(): Promise<void> | undefined;
}

/** Keys that are part of a policy. An unreadable set has no keys, and so refuses every token. */
export function inlineKeys(keys: readonly Readonly<Record<string, unknown>>[]): KeySource {
  return Object.freeze({
    generation: 0,
    // Invalid sets are refused when they are written, but older ones may exist.
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
  /** Called for every failed fetch, with the URL without query and user information, and whether a good set stays. */
  readonly onJwksFailure: (uri: string, reason: string, hasKeys: boolean) => void;
  /** Called with that URL for the first good fetch after a failure. */
  readonly onJwksRecovery: (uri: string) => void;
  /** Called with that URL for every unused key of a new set. */
  readonly onJwksKeySkipped: (uri: string, kid: string, reason: string) => void;
}

export class RemoteKeys implements KeySource, KeyHolder {
  readonly #uri: string;
  readonly #memory: KeySetMemory;
  readonly #clock: Clock;
  readonly #fetchText: (uri: string) => Promise<string>;
  readonly #onFailure: RemoteKeysDependencies['onJwksFailure'];
  readonly #onRecovery: RemoteKeysDependencies['onJwksRecovery'];
  readonly #onKeySkipped: RemoteKeysDependencies['onJwksKeySkipped'];
  #generation = 0;
  #keySet: KeySet | undefined;
  /** Identifies the text that the keys came from. */
  #digest = '';
  #usedAtMs = -Infinity;
  #fetchedAtMs = -Infinity;
  #attemptedAtMs = -Infinity;
  #failing = false;
  #pending: Promise<void> | undefined;

  constructor(uri: string, memory: KeySetMemory, dependencies: RemoteKeysDependencies) {
    this.#uri = uri;
    this.#memory = memory;
    this.#clock = dependencies.clock;
    this.#fetchText = keySetFetch(dependencies.egress, memory);
    this.#onFailure = dependencies.onJwksFailure;
    this.#onRecovery = dependencies.onJwksRecovery;
    this.#onKeySkipped = dependencies.onJwksKeySkipped;
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
    this.#usedAtMs = this.#clock.monotonicMs();
    const ageMs = this.#usedAtMs - this.#fetchedAtMs;
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

  isUnused(): boolean {
    return this.#clock.monotonicMs() - this.#usedAtMs >= TTL_MS;
  }

  giveWay(isUnused: boolean): void {
    this.#keySet = undefined;
    this.#digest = '';
    this.#fetchedAtMs = -Infinity;
    this.#generation++;
    if (isUnused) return;
    this.#failing = true;
    this.#onFailure(shownUri(this.#uri), NO_ROOM, false);
  }

  #use(text: string, digest: string): void {
    const read = readKeySet(text);
    const keySet = read && keySetOf({ keys: read.keys });
    if (read === undefined || keySet === undefined) throw new Error('the response is not a JWK set');
    if (!this.#memory.resize(this, read.bytes)) throw new Error(NO_ROOM);
    this.#showSkipped(read.skipped);
    this.#keySet = keySet;
    this.#digest = digest;
    this.#generation++;
  }

  /** A weak key does not affect the others: it is skipped and logged. */
  #showSkipped(skipped: readonly { readonly kid: unknown; readonly reason: string }[]): void {
    const shown = skipped.slice(0, SKIPPED_SHOWN_MAX);
    for (const { kid, reason } of shown) {
      const others = shown.length < skipped.length ? ` (one of ${skipped.length} unused keys)` : '';
      const id = typeof kid === 'string' ? kid.slice(0, KID_CHARS_MAX) : '';
      this.#onKeySkipped(shownUri(this.#uri), id, reason + others);
    }
  }

  async #fetch(): Promise<void> {
    try {
      const text = await this.#fetchText(this.#uri);
      const digest = createHash('sha256').update(text).digest('base64');
      if (digest !== this.#digest) this.#use(text, digest);
      this.#fetchedAtMs = this.#clock.monotonicMs();
      if (this.#failing) this.#onRecovery(shownUri(this.#uri));
      this.#failing = false;
    } catch (error) {
      this.#failing = true;
      this.#onFailure(shownUri(this.#uri), reasonOf(error), this.#keySet !== undefined);
    }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure';
  // undici's fetch says "fetch failed"; the cause has the details.
  return connectionText(error.cause instanceof Error ? error.cause : error, 'NODE_EXTRA_CA_CERTS');
}
