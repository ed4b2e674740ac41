/**
 * A form that makes or changes something with a secret: its fields, what was refused, its buttons, and the same change
 * elsewhere.
 */
import type { ReactNode } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { words } from '../../text/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { SameChange } from '../save/same-change-view.tsx';
import type { Change } from '../save/save-context.ts';
import { Refusal } from './refusal.tsx';
import styles from './keys.module.css';

interface CreationFormProps {
  /** The fields, beside each other; `message` is what was refused of one. */
  readonly children: (message: (pointer: string) => string | undefined) => ReactNode;
  /** What stands below the fields. */
  readonly below?: ReactNode;
  readonly error: Error | null;
  /** Of the fields: what was refused of them is shown there. */
  readonly pointers: readonly string[];
  readonly isBusy: boolean;
  readonly isComplete: boolean;
  /** What is sent once it is complete. */
  readonly write: Pick<Change, 'operation' | 'options'>;
  /** What the button says; default: Create. */
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
      <div className={styles['fields']}>
        {children((pointer) => (error instanceof ApiError ? error.fieldMessage(pointer) : undefined))}
      </div>
      {below}
      <Refusal error={error ?? undefined} pointers={pointers} />
      <div className={styles['buttons']}>
        <Button look="main" type="submit" isBusy={isBusy} disabled={!isComplete}>
          {action}
        </Button>
        <Button onClick={onCancel}>{words.cancel}</Button>
      </div>
      {isComplete && <SameChange {...write} />}
    </form>
  );
}
