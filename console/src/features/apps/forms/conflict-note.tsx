/** Two writes of one record: both values of each field that both have changed, and the choice between them. */
import type { ReactNode } from 'react';
import { appsWords } from '../../../text/apps.ts';
import { Button } from '../../../ui/controls/button.tsx';
import { DataTable, type Column } from '../../../ui/display/data-table.tsx';
import { Note } from '../../../ui/display/notes.tsx';
import styles from './forms.module.css';
import type { FieldConflict, Typed } from './record-draft.ts';
import type { FormState } from './use-record-form.ts';

interface ConflictNoteProps {
  readonly form: FormState;
  readonly conflicts: readonly FieldConflict[];
}

function columnsOf(form: FormState): Column<FieldConflict>[] {
  const nameOf = ({ pointer }: FieldConflict): string => form.words[pointer]?.[0] ?? pointer;
  return [
    { head: appsWords.conflictField, cell: nameOf, isRowHead: true },
    {
      head: appsWords.conflictTheirs,
      cell: (conflict) => (
        <Side
          value={conflict.theirs}
          action={appsWords.keepTheirs(nameOf(conflict))}
          onChoose={() => form.choose(conflict, 'theirs')}
        />
      ),
    },
    {
      head: appsWords.conflictMine,
      cell: (conflict) => (
        <Side
          value={conflict.mine}
          action={appsWords.keepMine(nameOf(conflict))}
          onChoose={() => form.choose(conflict, 'mine')}
        />
      ),
    },
  ];
}

export function ConflictNote({ form, conflicts }: ConflictNoteProps): ReactNode {
  return (
    <Note tone="warn">
      <div role="alert">
        <strong>{appsWords.conflictTitle}</strong>
        <p>{conflicts.length === 0 ? appsWords.conflictNone : appsWords.conflictSome}</p>
      </div>
      {conflicts.length > 0 && (
        <DataTable
          caption={appsWords.conflictTitle}
          rows={conflicts}
          keyOf={({ pointer }) => pointer}
          columns={columnsOf(form)}
        />
      )}
    </Note>
  );
}

interface SideProps {
  readonly value: Typed;
  readonly action: string;
  readonly onChoose: () => void;
}

function Side({ value, action, onChoose }: SideProps): ReactNode {
  const text = typeof value === 'boolean' ? appsWords.yesNo(value) : value;
  return (
    <>
      <div className={styles['side']}>{text === '' ? appsWords.emptyValue : text}</div>
      <Button isSmall onClick={onChoose}>
        {action}
      </Button>
    </>
  );
}
