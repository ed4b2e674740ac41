/** What a change would do, before it is made. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState, type ReactNode } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { callByName, type Answer } from '../../api/call.ts';
import type { DryRunEnvelope } from '../../api/schema.ts';
import { saveWords } from '../../text/save.ts';
import { words } from '../../text/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { CopyButton } from '../../ui/controls/copy-button.tsx';
import { TextField } from '../../ui/controls/field.tsx';
import { ErrorNote, Loaded, Note } from '../../ui/display/notes.tsx';
import { Dialog } from '../../ui/overlay/dialog.tsx';
import { curlOf } from './same-change.ts';
import type { Change } from './save-context.ts';
import styles from './save.module.css';

interface SaveDialogProps {
  readonly change: Change;
  readonly onEnd: (answer: Answer<unknown> | undefined) => void;
}

export default function SaveDialog({ change, onEnd }: SaveDialogProps): ReactNode {
  const { operation, options, confirmName } = change;
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const [message, setMessage] = useState('');
  const [typed, setTyped] = useState('');
  const trial = useQuery({
    queryKey: ['dry run', operation, options],
    queryFn: () =>
      callByName<DryRunEnvelope>(operation, { ...options, query: { ...options.query, dry_run: true } }),
    retry: false,
    gcTime: 0,
  });
  const refusal = error ?? trial.error;
  useEffect(() => {
    const take = takerOf(change, refusal);
    if (take === undefined) return;
    take();
    onEnd(undefined);
  }, [refusal, change, onEnd]);
  const apply = async (): Promise<void> => {
    setBusy(true);
    try {
      onEnd(await callByName(operation, { ...options, message }));
    } catch (cause) {
      setError(cause as Error);
    } finally {
      setBusy(false);
    }
  };
  const isAllowed = !trial.isError && (confirmName === undefined || typed === confirmName);
  return (
    <Dialog
      isOpen
      isWide
      keepsOpen
      onClose={() => onEnd(undefined)}
      title={change.title}
      actions={
        <>
          <Button onClick={() => onEnd(undefined)}>{words.cancel}</Button>
          <Button
            look={confirmName === undefined ? 'main' : 'danger'}
            isBusy={isBusy}
            disabled={!isAllowed}
            onClick={() => void apply()}
          >
            {change.action ?? words.save}
          </Button>
        </>
      }
    >
      <Loaded query={trial}>{({ body }) => <Effects trial={body} />}</Loaded>
      <details className={styles['same']}>
        <summary>{saveWords.sameAsCurl}</summary>
        <pre>{curlOf(operation, options)}</pre>
        <CopyButton text={curlOf(operation, options)} />
      </details>
      <TextField
        label={saveWords.why}
        hint={saveWords.whyHint}
        value={message}
        onValue={setMessage}
        maxLength={300}
      />
      {confirmName !== undefined && (
        <TextField label={words.typeToConfirm(confirmName)} value={typed} onValue={setTyped} isMono />
      )}
      {error !== undefined && <ErrorNote error={error} />}
    </Dialog>
  );
}

function Effects({ trial }: { readonly trial: DryRunEnvelope }): ReactNode {
  const { endpoints_total: endpoints, keys_total: keys } = trial.data;
  return (
    <>
      <Note tone={endpoints + keys === 0 ? 'neutral' : 'info'}>{saveWords.effects(endpoints, keys)}</Note>
      {trial.warnings?.map((warning) => (
        <Note key={warning.code + warning.pointer} tone="warn">
          {warning.detail}
        </Note>
      ))}
    </>
  );
}

/** What the page does with a refusal; undefined: the dialog shows it. */
function takerOf({ onRefused, onConflict }: Change, error: Error | null): (() => void) | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (error.status === 422 && error.fields.length > 0) return onRefused && (() => onRefused(error));
  return error.status === 412 ? onConflict && (() => onConflict(error)) : undefined;
}
