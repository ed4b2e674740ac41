/**
 * A form that creates or changes something with a secret: its fields, the errors, its buttons, and the same change
 * elsewhere.
 */
import type { ReactNode } from 'react';
import { fieldMessage } from '../../api/api-error.ts';
import { words } from '../../text/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { SameChange } from '../save/same-change-view.tsx';
import type { Change } from '../save/save-context.ts';
import { Refusal } from './refusal.tsx';
import styles from './keys.module.css';

interface CreationFormProps {
  /** The fields, side by side; `message` returns the error of a field. */
  readonly children: (message: (pointer: string) => string | undefined) => ReactNode;
  /** What is shown below the fields. */
  readonly below?: ReactNode;
  readonly error: Error | null;
  /** Pointers of the fields that show their own errors. */
  readonly pointers: readonly string[];
  readonly isBusy: boolean;
  readonly isComplete: boolean;
  /** The write, once it is complete. */
  readonly write: Pick<Change, 'operation' | 'options'>;
  /** The text of the button; default: Create. */
  readonly action?: string;
  readonly onCreate: () => void;
  readonly onCancel: () => void;
}

export function CreationForm({
  children,
  below,
  error,
  pointers,
  isBusy,
  isComplete,
  write,
  action = words.create,
  onCreate,
  onCancel,
}: CreationFormProps): ReactNode {
  return (
    <form
      className={styles['form']}
      onSubmit={(event) => {
        event.preventDefault();
        onCreate();
      }}
    >
      <div className={styles['fields']}>{children((pointer) => fieldMessage(error, pointer))}</div>
      {below}
      <Refusal error={error ?? undefined} pointers={pointers} />
      <div className={styles['buttons']}>
        <Button look="main" type="submit" isBusy={isBusy} disabled={!isComplete}>
          {action}
        </Button>
        <Button onClick={onCancel}>{words.cancel}</Button>
      </div>
      {isComplete && <SameChange {...write} isConfiguration={false} />}
    </form>
  );
}
