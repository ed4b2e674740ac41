/** Keeps the change that is being looked at, and shows the dialog for it. */
import { useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useState, type ReactNode } from 'react';
import { callByName, type Answer } from '../../api/call.ts';
import { saveWords } from '../../text/save.ts';
import { showToast } from '../../ui/overlay/toasts.tsx';
import { SaveContext, type Change, type Save } from './save-context.ts';
import type { Made } from './save-dialog.tsx';
import { undoOf } from './undo.ts';

const SaveDialog = lazy(() => import('./save-dialog.tsx'));

interface Pending {
  readonly change: Change;
  readonly resolve: (answer: Answer<unknown> | undefined) => void;
}

export function SaveProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [pending, setPending] = useState<Pending>();
  const client = useQueryClient();
  const save = useCallback(
    (change: Change) =>
      new Promise<Answer<unknown> | undefined>((resolve) => setPending({ change, resolve })),
    [],
  );
  const end = (answer: Answer<unknown> | undefined, made?: Made): void => {
    pending?.resolve(answer);
    setPending(undefined);
    if (answer === undefined || pending === undefined) return;
    // What this dialog, which is on its way out, has asked is not asked again.
    void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'save' });
    const { change } = pending;
    const undo = change.undo ?? undoOf(change.operation, made, answer.etag);
    showToast({
      title: change.done,
      undo: undo && (() => void takeBack(undo, () => client.invalidateQueries())),
    });
  };
  return (
    <SaveContext value={save as Save}>
      {children}
      {pending !== undefined && (
        <Suspense>
          <SaveDialog change={pending.change} onEnd={end} />
        </Suspense>
      )}
    </SaveContext>
  );
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
