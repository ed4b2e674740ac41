/** A value that is shown only once: it goes away when the reader says that it is stored, and not before. */
import type { ReactNode } from 'react';
import { keysWords } from '../../text/keys.ts';
import { Button } from '../../ui/controls/button.tsx';
import { CopyButton } from '../../ui/controls/copy-button.tsx';
import { TextArea } from '../../ui/controls/field.tsx';
import { Note } from '../../ui/display/notes.tsx';
import { Dialog } from '../../ui/overlay/dialog.tsx';
import styles from './keys.module.css';

interface ShownOnceProps {
  /** undefined: there is nothing to show. */
  readonly value: string | undefined;
  readonly name: string;
  /** What it is used for; default: the use of an API key. */
  readonly use?: string;
  /** Further information, such as how long an old value works. */
  readonly children?: ReactNode;
  readonly onStored: () => void;
}

export function ShownOnce({
  value,
  name,
  use = keysWords.sentIn,
  children,
  onStored,
}: ShownOnceProps): ReactNode {
  return (
    <Dialog
      isOpen={value !== undefined}
      keepsOpen
      hasClose={false}
      isWide
      // Escape must not lose it.
      onClose={() => undefined}
      title={keysWords.shownOnceTitle(name)}
      actions={
        <Button look="main" onClick={onStored}>
          {keysWords.stored}
        </Button>
      }
    >
      <Note tone="warn">{keysWords.shownOnce}</Note>
      <div className={styles['once']}>
        <TextArea
          label={keysWords.value}
          value={value ?? ''}
          onValue={() => undefined}
          readOnly
          isMono
          rows={2}
        />
        <CopyButton text={value ?? ''} label={keysWords.copyValue} />
      </div>
      <p>{use}</p>
      {children}
    </Dialog>
  );
}
