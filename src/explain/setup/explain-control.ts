/**
 * What operators have requested from explain, for all workers: sampling and debug tokens. Kept in the memory of the
 * main thread, since both are short-lived; only the SHA-256 of a debug token is kept. A worker that starts later gets
 * the same `setup`.
 */
import { timestamp, type Clock } from '../../lib/clock.ts';
import { secretBytes, uuidv7 } from '../../lib/ids.ts';
import type { DebugToken, SamplingState } from './setup-schema.ts';
import { tokenHash } from '../../model/token.ts';
import type { ExplainSetup } from '../messages.ts';

const DEBUG_TOKENS_MAX = 100;
const SECRET_BYTES = 32;
/** For secret scanners: this prefix and 43 characters of base64url. */
const DEBUG_TOKEN_PREFIX = 'hgd_';

interface KeptToken {
  readonly record: DebugToken;
  readonly hash: string;
  readonly untilMs: number;
  /** False until its creation is in the audit log: no worker may know it before. */
  isAllowed: boolean;
}

export class ExplainControl {
  readonly #clock: Clock;
  #sampling: { readonly state: SamplingState; readonly untilMs: number } | undefined;
  #tokens: KeptToken[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Without the watches of live traffic, which live/live-hub.ts adds. */
  get setup(): Omit<ExplainSetup, 'watches'> {
    this.#forgetOld();
    const sampling = this.#sampling;
    return {
      sampling: sampling && {
        appId: sampling.state.app_id ?? undefined,
        rate: sampling.state.rate,
        untilMs: sampling.untilMs,
      },
      debugTokens: this.#allowed.map(({ record, hash, untilMs }) => ({
        hash,
        appId: record.app_id ?? undefined,
        untilMs,
      })),
    };
  }

  get sampling(): SamplingState | undefined {
    this.#forgetOld();
    return this.#sampling?.state;
  }

  startSampling(appId: string | null, rate: number, seconds: number): SamplingState {
    const untilMs = this.#clock.nowMs() + seconds * 1000;
    const state = { app_id: appId, rate, until: timestamp(untilMs) };
    this.#sampling = { state, untilMs };
    return state;
  }

  stopSampling(): void {
    this.#sampling = undefined;
  }

  listTokens(): DebugToken[] {
    this.#forgetOld();
    return this.#allowed.map(({ record }) => record);
  }

  /**
   * The new token with its value, which is not stored; undefined when there are too many already. It does not work
   * before `allowToken`, even if the setup is published meanwhile.
   */
  createToken(appId: string | null, seconds: number): (DebugToken & { readonly token: string }) | undefined {
    this.#forgetOld();
    if (this.#tokens.length >= DEBUG_TOKENS_MAX) return undefined;
    const nowMs = this.#clock.nowMs();
    const untilMs = nowMs + seconds * 1000;
    const token = DEBUG_TOKEN_PREFIX + secretBytes(SECRET_BYTES).toString('base64url');
    const record = {
      id: uuidv7(nowMs),
      app_id: appId,
      created_at: timestamp(nowMs),
      expires_at: timestamp(untilMs),
    };
    this.#tokens.push({ record, hash: tokenHash(token), untilMs, isAllowed: false });
    return { ...record, token };
  }

  allowToken(id: string): void {
    for (const token of this.#tokens) if (token.record.id === id) token.isAllowed = true;
  }

  /** False when no token has this id. */
  deleteToken(id: string): boolean {
    this.#forgetOld();
    const before = this.#tokens.length;
    this.#tokens = this.#tokens.filter(({ record }) => record.id !== id);
    return this.#tokens.length < before;
  }

  get #allowed(): KeptToken[] {
    return this.#tokens.filter(({ isAllowed }) => isAllowed);
  }

  #forgetOld(): void {
    const nowMs = this.#clock.nowMs();
    this.#tokens = this.#tokens.filter(({ untilMs }) => untilMs > nowMs);
    if (this.#sampling !== undefined && this.#sampling.untilMs <= nowMs) this.#sampling = undefined;
  }
}
