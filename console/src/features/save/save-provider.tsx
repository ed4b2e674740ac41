/** Keeps the change that is being looked at, and shows the dialog for it. */
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useState, type ReactNode } from 'react';
import { callByName, type Answer } from '../../api/call.ts';
import { saveWords } from '../../text/save.ts';
import { words } from '../../text/words.ts';
import { showToast } from '../../ui/overlay/toasts.tsx';
import { SaveContext, type Change, type Save } from './save-context.ts';
import type SaveDialogType from './save-dialog.tsx';
import type { Made } from './save-dialog.tsx';
import { undoOf } from './undo.ts';

type SaveDialog = typeof SaveDialogType;

interface Pending {
  readonly change: Change;
  readonly Dialog: SaveDialog;
  readonly resolve: (answer: Answer<unknown> | undefined) => void;
}

export function SaveProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [pending, setPending] = useState<Pending>();
  const client = useQueryClient();
  useEarlyDialog();
  const save = useCallback(async (change: Change) => {
    const Dialog = await loadDialog();
    if (Dialog === undefined) return undefined;
    return new Promise<Answer<unknown> | undefined>((resolve) => setPending({ change, Dialog, resolve }));
  }, []);
  const end = (answer: Answer<unknown> | undefined, made?: Made): void => {
    pending?.resolve(answer);
    setPending(undefined);
    if (answer === undefined || pending === undefined) return;
    const { change } = pending;
    // What this dialog, which is on its way out, has asked is not asked again.
    const refresh = (): Promise<void> =>
      client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'save' });
    if (change.leave === undefined) void refresh();
    else void change.leave().finally(() => void refresh());
    const undo = change.undo ?? undoOf(change.operation, made, answer.etag);
    showToast({
      title: change.done,
      undo: undo && (() => void takeBack(undo, () => client.invalidateQueries())),
    });
  };
  return (
    <SaveContext value={save as Save}>
      {children}
      {pending !== undefined && <pending.Dialog change={pending.change} onEnd={end} />}
    </SaveContext>
  );
}

/** undefined when the gateway does not answer: the page stays as it is, with what was typed. */
async function loadDialog(): Promise<SaveDialog | undefined> {
  try {
    return (await import('./save-dialog.tsx')).default;
  } catch {
    showToast({ title: words.unreachable, tone: 'bad' });
    return undefined;
  }
}

/** With the first press or key the dialog is fetched, so that it is there when the gateway is not. */
function useEarlyDialog(): void {
  useEffect(() => {
    const ended = new AbortController();
    const fetchDialog = (): void => {
      ended.abort();
      void import('./save-dialog.tsx').catch(() => undefined);
    };
    for (const event of ['pointerdown', 'keydown'])
      window.addEventListener(event, fetchDialog, { signal: ended.signal });
    return () => ended.abort();
  }, []);
}

async function takeBack(
  { operation, options }: Pick<Change, 'operation' | 'options'>,
  refresh: () => Promise<void>,
): Promise<void> {
  try {
    await callByName(operation, options);
    await refresh();
    showToast({ title: saveWords.undone });
  } catch (error) {
    showToast({ title: saveWords.undoFailed, detail: (error as Error).message, tone: 'bad' });
  }
}
