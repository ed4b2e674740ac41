/** The state of a key at a time, and its rights, in words. Pure. */
import type { RateLimit, Token } from '../../api/schema.ts';
import { keysWords } from '../../text/keys.ts';
import type { Tone } from '../../ui/display/badge.tsx';
import { formatSecs } from '../../ui/display/time.tsx';

export type KeyState = 'active' | 'disabled' | 'expired';

export const KEY_TONES: Readonly<Record<KeyState, Tone>> = {
  active: 'good',
  disabled: 'bad',
  expired: 'warn',
};

/** A disabled key that has expired is shown as disabled: enabling it is what a reader can do first. */
export function stateOf(key: Pick<Token, 'is_active' | 'expires_at'>, nowMs: number): KeyState {
  if (!key.is_active) return 'disabled';
  return key.expires_at !== null && Date.parse(key.expires_at) <= nowMs ? 'expired' : 'active';
}

/** @returns a limit of the key's own as a sentence; fields that it leaves out come from the gateway's settings */
export function limitText(limit: RateLimit | null): string {
  if (limit === null) return keysWords.limits.policy;
  if (limit.enabled === false) return keysWords.limits.none;
  return keysWords.perWindow(
    String(limit.requests ?? '…'),
    limit.window_seconds === undefined || limit.window_seconds === null
      ? '…'
      : formatSecs(limit.window_seconds),
  );
}
