/** The draft of a page in React: follows the record until something is typed, and outlives a reload of the page. */
import { useCallback, useEffect, useState } from 'react';
import { draftOf, hasTypedSecret, isDirty, withText, withValue, type Draft } from './draft.ts';
import { isFields, isSame } from '../save/merge-patch.ts';

export interface Drafting {
  readonly draft: Draft;
  readonly change: (change: (draft: Draft) => Draft) => void;
  /** Begins again with what is stored. */
  readonly reset: (policy: unknown, etag: string | undefined) => void;
  /** It was found in the browser's storage. */
  readonly isRestored: boolean;
}

/** @param key identifies the record @param policy the record's current policy */
export function useDraft(key: string, policy: unknown, etag: string | undefined): Drafting {
  const [kept] = useState(() => keptDraft(key));
  const [draft, setDraft] = useState(() => kept ?? draftOf(policy, etag));
  // Without unsaved edits, the page shows what others save.
  if (!isDirty(draft) && draft.etag !== etag) setDraft(draftOf(policy, etag));
  useEffect(() => keepDraft(key, draft), [key, draft]);
  const change = useCallback((next: (draft: Draft) => Draft) => setDraft(next), []);
  const reset = useCallback(
    (fresh: unknown, freshTag: string | undefined) => setDraft(draftOf(fresh, freshTag)),
    [],
  );
  return { draft, change, reset, isRestored: kept !== undefined && isSame(kept.base, draft.base) };
}

const storageKey = (key: string): string => `headgate.policy:${key}`;

function keepDraft(key: string, draft: Draft): void {
  try {
    if (!isDirty(draft) || hasTypedSecret(draft)) sessionStorage.removeItem(storageKey(key));
    else sessionStorage.setItem(storageKey(key), JSON.stringify(draft));
  } catch {
    // A full or forbidden storage: the page has the draft.
  }
}

function keptDraft(key: string): Draft | undefined {
  try {
    const { base, etag, value, text } = JSON.parse(
      sessionStorage.getItem(storageKey(key)) ?? 'null',
    ) as Draft;
    if (!isFields(base) || !isFields(value) || typeof text !== 'string') return undefined;
    return withText(withValue({ ...draftOf(base, etag) }, value), text);
  } catch {
    return undefined;
  }
}
