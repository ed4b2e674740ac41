/**
 * In a worker: which limits API keys have reached lately. A request that a limit refuses costs one look into a map; a
 * message to the main thread goes out once for each key, limit and period. Requests that pass cost nothing. Owns what
 * was sent, of a bounded number of keys, and of a bounded number of limits of each.
 */
import type { Reason } from '../../model/reason.ts';

/** Limits with shorter windows are reported no more often than this. */
export const PERIOD_MS_MIN = 3_600_000;
const KEYS_MAX = 10_000;
/** Limits of one key that are remembered; more are sent again when they are reached again. */
const LIMITS_OF_KEY_MAX = 16;

export interface LimitReached {
  readonly keyId: string;
  /** For people: the limit and who set it. */
  readonly limit: string;
  /** null: a limit of concurrent requests has no window. */
  readonly windowSeconds: number | null;
}

/** What the reasons of limits have in common. */
interface LimitData {
  readonly limit?: string;
  /** Who set it; undefined: a cap of concurrent requests. */
  readonly level?: string;
  readonly windowMs?: number;
}

/** A limit that was sent, and until when that holds. */
interface Sent {
  readonly code: string;
  readonly level: string | undefined;
  readonly windowMs: number | null;
  untilMs: number;
}

export class LimitNotes {
  readonly #send: (reached: LimitReached) => void;
  /** By key. */
  readonly #sent = new Map<string, Sent[]>();

  constructor(send: (reached: LimitReached) => void) {
    this.#send = send;
  }

  /** @param denial by a limit */
  note(keyId: string, denial: Reason, nowMs: number): void {
    const { limit, level, windowMs = null } = denial.data as LimitData;
    // A limit per client address is not a limit of the key.
    if (limit === 'ip') return;
    const { code } = denial.kind;
    const ofKey = this.#sent.get(keyId) ?? this.#add(keyId, nowMs);
    const known = ofKey.find(
      (each) => each.level === level && each.windowMs === windowMs && each.code === code,
    );
    if (known !== undefined && nowMs < known.untilMs) return;
    const periodMs = periodOf(windowMs);
    const untilMs = (Math.floor(nowMs / periodMs) + 1) * periodMs;
    if (known !== undefined) known.untilMs = untilMs;
    else {
      if (ofKey.length >= LIMITS_OF_KEY_MAX) ofKey.shift();
      ofKey.push({ code, level, windowMs, untilMs });
    }
    this.#send({
      keyId,
      limit: denial.kind.detail(denial.data),
      windowSeconds: windowMs === null ? null : windowMs / 1000,
    });
  }

  #add(keyId: string, nowMs: number): Sent[] {
    if (this.#sent.size >= KEYS_MAX) this.#forget(nowMs);
    const ofKey: Sent[] = [];
    this.#sent.set(keyId, ofKey);
    return ofKey;
  }

  /** Removes keys whose notes no longer hold. If all hold, removes all of them: their limits are then sent once more. */
  #forget(nowMs: number): void {
    for (const [keyId, ofKey] of this.#sent)
      if (ofKey.every(({ untilMs }) => untilMs <= nowMs)) this.#sent.delete(keyId);
    if (this.#sent.size >= KEYS_MAX) this.#sent.clear();
  }
}

/** How long one event stands for, in milliseconds; periods begin at multiples of it since 1970. */
export function periodOf(windowMs: number | null): number {
  return Math.max(PERIOD_MS_MIN, windowMs ?? 0);
}
