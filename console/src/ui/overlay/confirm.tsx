/** Asks before a write that cannot be undone easily; where a name is given, it has to be typed. */
import { useState, type ReactNode } from 'react';
import { isNameTyped } from '../controls/typed-name.ts';
import { words } from '../../text/words.ts';
import { Button, type ButtonLook } from '../controls/button.tsx';
import { TextField } from '../controls/field.tsx';
import { ErrorNote } from '../display/notes.tsx';
import { Dialog } from './dialog.tsx';

interface ConfirmProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** What will be gone. */
  readonly children: ReactNode;
  /** What else is to be seen before it is done. */
  readonly below?: ReactNode;
  /** Must be typed; absent: a press is enough. */
  readonly name?: string;
  readonly action: string;
  /** The look of the button that confirms; default: danger. */
  readonly look?: ButtonLook;
  readonly onConfirm: () => Promise<unknown>;
}

export function ConfirmDialog({
  isOpen,
  onClose,
  title,
  children,
  below,
  name,
  action,
  look = 'danger',
  onConfirm,
}: ConfirmProps): ReactNode {
  const [typed, setTyped] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const close = (): void => {
    setTyped('');
    setError(undefined);
    onClose();
  };
  const confirm = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await onConfirm();
      close();
    } catch (cause) {
      setError(cause as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      isOpen={isOpen}
      onClose={close}
      title={title}
      actions={
        <>
          <Button onClick={close}>{words.cancel}</Button>
          <Button
            look={look}
            isBusy={isBusy}
            disabled={name !== undefined && !isNameTyped(typed, name)}
            onClick={() => void confirm()}
          >
            {action}
          </Button>
        </>
      }
    >
      <div>{children}</div>
      {name !== undefined && (
        <TextField label={words.typeToConfirm(name)} value={typed} onValue={setTyped} isMono />
      )}
      {below}
      {error !== undefined && <ErrorNote error={error} />}
    </Dialog>
  );
}
