/**
 * In a worker: which limits API keys have reached lately. A request that a limit refuses costs one look into a map; a
 * message to the main thread goes out once for each key, limit and period. Requests that pass cost nothing. Owns what
 * was sent, of a bounded number of keys with their limits.
 */
import { RecentMap } from './recent-map.ts';
import type { Reason } from '../../model/reason.ts';

/** Limits with shorter windows are reported no more often than this. */
export const PERIOD_MS_MIN = 3_600_000;
/** Beyond it, what was sent first is forgotten: such a limit is sent again when its key reaches it again. */
const SENT_MAX = 20_000;

export interface LimitReached {
  readonly keyId: string;
  /** Names the limit among all, whatever its numbers are. */
  readonly limitId: string;
  /** For people: the limit and who set it. */
  readonly limit: string;
  /** null: a limit of concurrent requests has no window. */
  readonly windowSeconds: number | null;
}

/** What the reasons of limits have in common. */
interface LimitData {
  readonly limit?: string;
  /** Names what is counted together. A rate limit and a cap of requests under way may have the same one. */
  readonly id: string;
  readonly windowMs?: number;
}

export class LimitNotes {
  readonly #send: (reached: LimitReached) => void;
  /** Until when what was sent holds, by key and limit. */
  readonly #sent = new RecentMap<string, number>(SENT_MAX);

  constructor(send: (reached: LimitReached) => void) {
    this.#send = send;
  }

  /** @param denial by a limit */
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

/** How long one event stands for, in milliseconds; periods begin at multiples of it since 1970. */
export function periodOf(windowMs: number | null): number {
  return Math.max(PERIOD_MS_MIN, windowMs ?? 0);
}
