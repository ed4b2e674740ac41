/**
 * What a change would do, before it is made: a dry run, the recent requests where they can be tried, and the same
 * change elsewhere. Where another write came first, both sides, and a way on with both.
 */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useEffectEvent, useState, type ReactNode } from 'react';
import { ApiError, isAway, isConflictOfVersions } from '../../api/api-error.ts';
import { callByName, type Answer } from '../../api/call.ts';
import type { DryRunEnvelope } from '../../api/schema.ts';
import { isNameTyped } from '../../ui/controls/typed-name.ts';
import { saveWords } from '../../text/save.ts';
import { words } from '../../text/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { TextField } from '../../ui/controls/field.tsx';
import { ErrorNote, Loading } from '../../ui/display/notes.tsx';
import { Dialog } from '../../ui/overlay/dialog.tsx';
import { Conflict } from './conflict.tsx';
import { useDeclaredChange } from './declared-change.ts';
import { Effects } from './effects.tsx';
import type { Fields } from './merge-patch.ts';
import { byTemplate } from './operations.ts';
import { SameChange } from './same-change-view.tsx';
import type { Change } from './save-context.ts';
import { TrafficOf } from './traffic-of.tsx';

/** Between two tries while the gateway or its database is away. */
const TRY_AGAIN_MS = 2_000;

interface SaveDialogProps {
  readonly change: Change;
  /** @param base of the change that was made: what was stored before it */
  readonly onEnd: (answer: Answer<unknown> | undefined, made?: Made) => void;
}

export interface Made {
  readonly options: Change['options'];
  readonly base: Fields | undefined;
}

export default function SaveDialog({ change, onEnd }: SaveDialogProps): ReactNode {
  const { operation, confirmName } = change;
  const [made, setMade] = useState<Made>({ options: change.options, base: change.base });
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const [message, setMessage] = useState('');
  const [typed, setTyped] = useState('');
  const { options } = made;
  const trial = useDryRun(operation, options, change.hasDryRun ?? true);
  const problem = error ?? trial.error;
  const handOver = useEffectEvent((refusal: Error | null) => {
    const take = takerOf(change, refusal);
    if (take === undefined) return;
    take();
    onEnd(undefined);
  });
  useEffect(() => handOver(problem), [problem]);
  const apply = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const said = message.trim() === '' ? change.title : message;
      onEnd(await callByName(operation, { ...options, message: said }), made);
    } catch (cause) {
      setError(cause as Error);
      setBusy(false);
    }
  };
  const goOn = (next: Change['options'], base: Fields): void => {
    setError(undefined);
    setMade({ options: next, base });
  };
  const isConflict = isConflictOfVersions(problem);
  const isAllowed =
    trial.isSuccess && !isConflict && (confirmName === undefined || isNameTyped(typed, confirmName));
  return (
    <Dialog
      isOpen
      isWide
      isSteady
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
      {isConflict && <Conflict operation={operation} options={options} base={made.base} onGoOn={goOn} />}
      {problem !== null && !isConflict && (
        <ErrorNote error={problem} onRetry={retryOf(error, trial.refetch)} />
      )}
      {trial.isPending && trial.isFetching && <Loading />}
      {!isConflict && (
        <Preview operation={operation} options={options} base={made.base} trial={trial.data?.body} />
      )}
      <TextField
        label={saveWords.why}
        hint={saveWords.whyHint}
        placeholder={change.title}
        value={message}
        onValue={setMessage}
        maxLength={300}
      />
      {confirmName !== undefined && (
        <TextField label={words.typeToConfirm(confirmName)} value={typed} onValue={setTyped} isMono />
      )}
    </Dialog>
  );
}

/** A dry run can be tried again as it is; after a failed write the button below does that. */
function retryOf(error: Error | undefined, refetch: () => unknown): (() => void) | undefined {
  return error === undefined ? () => void refetch() : undefined;
}

interface PreviewProps extends Pick<Change, 'operation' | 'options'> {
  readonly base: Fields | undefined;
  readonly trial: DryRunEnvelope | undefined;
}

function Preview({ base, trial, ...write }: PreviewProps): ReactNode {
  const { operation, options } = byTemplate(write);
  const declared = useDeclaredChange(operation, options, trial !== undefined);
  // A split changes no route, but which backend answers.
  const isTried =
    trial !== undefined &&
    (trial.data.endpoints_total + trial.data.keys_total > 0 || operation.endsWith('/traffic'));
  return (
    <>
      {trial !== undefined && <Effects trial={trial} operation={operation} body={options.body} base={base} />}
      {isTried && <TrafficOf declared={declared} />}
      <SameChange {...write} template={operation} path={options.path} declared={declared.data ?? undefined} />
    </>
  );
}

/** The checks of the write and what it would do; a write without a dry run is ready at once. */
function useDryRun(operation: string, options: Change['options'], hasDryRun: boolean) {
  return useQuery({
    queryKey: ['save', 'dry run', operation, options],
    queryFn: async () =>
      hasDryRun
        ? await callByName<DryRunEnvelope>(operation, {
            ...options,
            query: { ...options.query, dry_run: true },
          })
        : { body: undefined },
    retry: false,
    // The banner is gone with the first answer from the database; another call may still meet it away.
    refetchInterval: ({ state }) => isAway(state.error) && TRY_AGAIN_MS,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
}

/** What the page does with a refusal; undefined: the dialog shows it. */
function takerOf({ onRefused, onConflict, base }: Change, error: Error | null): (() => void) | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (error.status === 412) {
    const take = onConflict ?? (base === undefined ? onRefused : undefined);
    return take && (() => take(error));
  }
  return error.fields.length > 0 ? onRefused && (() => onRefused(error)) : undefined;
}
