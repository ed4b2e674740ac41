/** Another write came first: both values of each field that both have changed, and the choice. */
import type { ReactNode } from 'react';
import { keysWords } from '../../text/keys.ts';
import { Button } from '../../ui/controls/button.tsx';
import { DataTable } from '../../ui/display/data-table.tsx';
import { Note } from '../../ui/display/notes.tsx';
import type { KeyDraft } from './key-draft.ts';
import styles from './keys.module.css';

interface ConflictProps {
  readonly fields: readonly (keyof KeyDraft)[];
  readonly theirs: KeyDraft;
  readonly mine: KeyDraft;
  readonly onTheirs: () => void;
  readonly onMine: () => void;
}

export function Conflict({ fields, theirs, mine, onTheirs, onMine }: ConflictProps): ReactNode {
  return (
    <Note tone="warn">
      <div role="alert">
        <strong>{keysWords.conflict}</strong>{' '}
        {fields.length === 0 ? keysWords.conflictNone : keysWords.conflictSome}
      </div>
      {fields.length > 0 && (
        <>
          <DataTable
            caption={keysWords.conflict}
            rows={fields}
            keyOf={(field) => field}
            columns={[
              {
                head: keysWords.conflictField,
                isRowHead: true,
                cell: (field) => keysWords.draftFields[field],
              },
              {
                head: keysWords.theirs,
                cell: (field) => sideText(theirs[field]),
              },
              { head: keysWords.mine, cell: (field) => sideText(mine[field]) },
            ]}
          />
          <div className={styles['buttons']}>
            <Button isSmall onClick={onMine}>
              {keysWords.keepMine}
            </Button>
            <Button isSmall onClick={onTheirs}>
              {keysWords.takeTheirs}
            </Button>
          </div>
        </>
      )}
    </Note>
  );
}

function sideText(text: string): ReactNode {
  return <div className={styles['side']}>{text}</div>;
}
