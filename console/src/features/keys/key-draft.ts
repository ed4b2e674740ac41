/** The content of the form of a key, as text, and the writes that it leads to. Pure. */
import type { Token, TokenCreation, TokenPatch } from '../../api/schema.ts';
import { apiTime, localMinute } from '../../ui/controls/local-time.ts';

export type ExpiryChoice = 'never' | '30' | '90' | '365' | 'at';
export type LimitChoice = 'policy' | 'own' | 'none';

export interface KeyDraft {
  readonly name: string;
  /** One per line: a scope may contain spaces and commas. */
  readonly scopes: string;
  readonly expiry: ExpiryChoice;
  /** Local time as of `<input type="datetime-local">`, where `expiry` is `at`. */
  readonly expiresAt: string;
  readonly limit: LimitChoice;
  readonly requests: string;
  readonly windowSecs: string;
}

const DAY_MS = 86_400_000;

export const NEW_KEY: KeyDraft = {
  name: '',
  scopes: '',
  expiry: 'never',
  expiresAt: '',
  limit: 'policy',
  requests: '',
  windowSecs: '60',
};

export function draftOf(key: Token): KeyDraft {
  const limit = key.rate_limit;
  return {
    name: key.name,
    scopes: key.scopes.join('\n'),
    expiry: key.expires_at === null ? 'never' : 'at',
    expiresAt: key.expires_at === null ? '' : localMinute(new Date(key.expires_at)),
    limit: limit === null ? 'policy' : limit.enabled === false ? 'none' : 'own',
    requests: String(limit?.requests ?? ''),
    windowSecs: String(limit?.window_seconds ?? (limit === null ? NEW_KEY.windowSecs : '')),
  };
}

export function creationOf(draft: KeyDraft, nowMs: number): TokenCreation {
  const scopes = scopesOf(draft.scopes);
  return {
    name: draft.name.trim(),
    ...(scopes.length > 0 && { scopes }),
    ...(draft.expiry !== 'never' && { expires_at: expiryOf(draft, nowMs) }),
    ...(draft.limit === 'none' && { rate_limit: { enabled: false } }),
    ...(draft.limit === 'own' && { rate_limit: ownLimit(draft) }),
  };
}

/** Only what differs from the key that was read; empty when nothing does. */
export function patchOf(draft: KeyDraft, key: Token, nowMs: number): TokenPatch {
  const before = draftOf(key);
  const isLimitChanged =
    draft.limit !== before.limit ||
    (draft.limit === 'own' && (draft.requests !== before.requests || draft.windowSecs !== before.windowSecs));
  return {
    ...(draft.name.trim() !== key.name && { name: draft.name.trim() }),
    ...(draft.scopes !== before.scopes && { scopes: scopesOf(draft.scopes) }),
    ...((draft.expiry !== before.expiry || draft.expiresAt !== before.expiresAt) && {
      expires_at: expiryOf(draft, nowMs),
    }),
    ...(isLimitChanged && { rate_limit: changedLimit(draft, before) }),
  };
}

export function scopesOf(text: string): string[] {
  return [
    ...new Set(
      text
        .split('\n')
        .map((scope) => scope.trim())
        .filter((scope) => scope !== ''),
    ),
  ];
}

/** RFC 3339. An incomplete time is sent unchanged: the API says what it must be. */
function expiryOf({ expiry, expiresAt }: KeyDraft, nowMs: number): string | null {
  if (expiry === 'never') return null;
  if (expiry !== 'at') return new Date(nowMs + Number(expiry) * DAY_MS).toISOString();
  return apiTime(expiresAt) ?? expiresAt;
}

function ownLimit({ requests, windowSecs }: KeyDraft): NonNullable<TokenCreation['rate_limit']> {
  return { enabled: true, ...numberOf('requests', requests), ...numberOf('window_seconds', windowSecs) };
}

function changedLimit(draft: KeyDraft, before: KeyDraft): TokenPatch['rate_limit'] {
  if (draft.limit === 'policy') return null;
  if (draft.limit === 'none') return { enabled: false };
  // An emptied field goes back to what the gateway's settings say.
  return {
    ...(before.limit !== 'own' && { enabled: true }),
    requests: null,
    window_seconds: null,
    ...numberOf('requests', draft.requests),
    ...numberOf('window_seconds', draft.windowSecs),
  };
}

/** Text in place of a number is sent unchanged, so that the API names the field. */
function numberOf(name: string, text: string): Readonly<Record<string, number>> {
  const trimmed = text.trim();
  if (trimmed === '') return {};
  return { [name]: /^-?[0-9]+(?:\.[0-9]+)?$/.test(trimmed) ? Number(trimmed) : (trimmed as never) };
}
