/**
 * In a worker: which limits API keys have reached recently. A request that a limit refuses costs one look-up in a
 * map; one message per key, limit and period goes to the main thread. Admitted requests cost nothing. Owns the sent
 * notes, for a bounded number of keys and limits.
 */
import { RecentMap } from './recent-map.ts';
import type { Reason } from '../../model/reason.ts';

/** Limits with shorter windows are reported at most once in this time. */
export const PERIOD_MS_MIN = 3_600_000;
/** Beyond this, the oldest notes are dropped; such a limit is sent again when its key reaches it again. */
const SENT_MAX = 20_000;

export interface LimitReached {
  readonly keyId: string;
  /** Identifies the limit, whatever its numbers are. */
  readonly limitId: string;
  /** For people: the limit, and the level that set it. */
  readonly limit: string;
  /** null: a limit of concurrent requests has no window. */
  readonly windowSeconds: number | null;
}

/** The data that reasons of all limits have. */
interface LimitData {
  readonly limit?: string;
  /** Identifies what is counted together. A rate limit and a concurrency limit may have the same id. */
  readonly id: string;
  readonly windowMs?: number;
}

export class LimitNotes {
  readonly #send: (reached: LimitReached) => void;
  /** The end of the period of each sent note, by key and limit. */
  readonly #sent = new RecentMap<string, number>(SENT_MAX);

  constructor(send: (reached: LimitReached) => void) {
    this.#send = send;
  }

  /** @param denial the denial by a limit */
  note(keyId: string, { kind, data }: Reason, nowMs: number): void {
    const { limit, id, windowMs = null } = data as LimitData;
    // A limit per client address is not a limit of the key.
    if (limit === 'ip') return;
    const limitId = `${kind.code} ${id}`;
    const mark = `${keyId} ${limitId}`;
    const untilMs = this.#sent.get(mark);
    if (untilMs !== undefined && nowMs < untilMs) return;
    const periodMs = periodOf(windowMs);
    this.#sent.set(mark, (Math.floor(nowMs / periodMs) + 1) * periodMs);
    this.#send({
      keyId,
      limitId,
      limit: kind.detail(data),
      windowSeconds: windowMs === null ? null : windowMs / 1000,
    });
  }
}

/** The period that one event stands for, in milliseconds; periods begin at multiples of it since 1970. */
export function periodOf(windowMs: number | null): number {
  return Math.max(PERIOD_MS_MIN, windowMs ?? 0);
}
