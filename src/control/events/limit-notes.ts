/**
 * In a worker: which API keys have reached a limit lately. A request that a limit refuses costs one look into a map; a
 * message to the main thread goes out once for each key, limit and period. Requests that pass cost nothing. Owns what
 * was sent, of a bounded number of keys.
 */
import type { Reason } from '../../model/reason.ts';

/** Limits with shorter windows are reported no more often than this. */
export const PERIOD_MS_MIN = 3_600_000;
const KEYS_MAX = 10_000;

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
  readonly windowMs?: number;
}

export class LimitNotes {
  readonly #send: (reached: LimitReached) => void;
  /** By key: until when what was sent holds. */
  #sent = new Map<string, number>();

  constructor(send: (reached: LimitReached) => void) {
    this.#send = send;
  }

  /** @param denial by a limit */
  note(keyId: string, denial: Reason, nowMs: number): void {
    const untilMs = this.#sent.get(keyId);
    if (untilMs !== undefined && nowMs < untilMs) return;
    const { limit, windowMs = null } = denial.data as LimitData;
    // A limit per client address is not a limit of the key.
    if (limit === 'ip') return;
    if (this.#sent.size >= KEYS_MAX) this.#forget(nowMs);
    const periodMs = periodOf(windowMs);
    this.#sent.set(keyId, (Math.floor(nowMs / periodMs) + 1) * periodMs);
    this.#send({
      keyId,
      limit: denial.kind.detail(denial.data),
      windowSeconds: windowMs === null ? null : windowMs / 1000,
    });
  }

  /** Removes notes that no longer hold. If all still hold, removes all of them: their keys are then sent once more. */
  #forget(nowMs: number): void {
    for (const [keyId, untilMs] of this.#sent) if (untilMs <= nowMs) this.#sent.delete(keyId);
    if (this.#sent.size >= KEYS_MAX) this.#sent.clear();
  }
}

/** How long one event stands for, in milliseconds; periods begin at multiples of it since 1970. */
export function periodOf(windowMs: number | null): number {
  return Math.max(PERIOD_MS_MIN, windowMs ?? 0);
}
