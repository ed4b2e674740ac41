/** Keeps the change that is being looked at, and shows the dialog for it. */
import { useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useState, type ReactNode } from 'react';
import { callByName, type Answer } from '../../api/call.ts';
import { showToast } from '../../ui/overlay/toasts.tsx';
import { SaveContext, type Change, type Save } from './save-context.ts';

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
  const end = (answer: Answer<unknown> | undefined): void => {
    pending?.resolve(answer);
    setPending(undefined);
    if (answer === undefined || pending === undefined) return;
    // The plan of this dialog, which is on its way out, is not asked for again.
    void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'dry run' });
    const { done, undo } = pending.change;
    showToast({ title: done, undo: undo && (() => void takeBack(undo, () => client.invalidateQueries())) });
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
  } catch (error) {
    showToast({ title: (error as Error).message, tone: 'bad' });
  }
}
